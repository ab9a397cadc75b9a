"""What all hashers share: the ways to learn a model.

A hasher is a scikit-learn estimator: ``__init__`` stores the parameters untouched, ``fit`` checks
them and learns a :class:`~diffhash.model.HashModel`, which does the rest.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from ..errors import ParameterError, SampleWarning, UnknownModalityError
from ..frames import check_names
from ..learning.batches import Source, SourceForm
from ..learning.passes import CollectPass
from ..learning.sample_keys import sample_limit
from ..learning.source_registry import open_batches, open_views
from ..model import HashModel
from ..native.argument_checks import MAX_BITS
from ..pairs import Pairs
from ..pairs.couples import couples_to_learn
from ..threads import blas_libraries
from ..types import Views
from ..validation import check_count, check_flag, check_seed
from .calibration import held_out_values, unseen_values, with_judgement
from .fitted import FittedHasher
from .training_data import Learned, TrainingData, check_training_data, few_threads

__all__ = ["BaseHasher"]


class BaseHasher(FittedHasher, ABC):
    """Base of all hashers; see a subclass for the parameters.

    Attributes
    ----------
    model_ : HashModel
        What was learned; the attributes below are parts of it.
    modalities_ : tuple of str
    n_features_in_ : dict by modality
    feature_names_in_ : dict by modality
        Names of the columns of the views that were tables with names; absent if none was.
    maps_ : dict by modality
        Fitted feature maps.
    projections_ : dict by modality
        Arrays of shape (n_bits, n_features after the map).
    thresholds_ : dict by modality
        Arrays of shape (n_bits,), added to the projections.
    featurizers_ : dict by modality
        Set by :meth:`set_featurizers`; empty after ``fit``.
    """

    #: Names of the arrays that a method learns beside projections and thresholds, without underscore.
    extra_attributes: ClassVar[tuple[str, ...]] = ()

    #: Parameters that are functions called during ``fit``; a model does not keep them.
    callbacks: ClassVar[tuple[str, ...]] = ()

    #: Whether ``fit_batches`` collects all rows in memory, if it collects rows at all.
    learns_from_all_rows: ClassVar[bool] = False

    n_bits: int
    #: Weights of couples of modalities; methods that learn from one couple only do not have the parameter.
    couple_weights: Mapping[tuple[str, str], float] | None = None

    def fit(
        self, views: Views, pairs: Pairs | Mapping[tuple[str, ...], Pairs], *, calibrate: bool = False
    ) -> Self:
        """Learn a hash function for each modality.

        Parameters
        ----------
        views : dict of arrays by modality
            Feature arrays of shape (n, n_features), dense or scipy sparse, or tables of pandas, polars, pyarrow or
            Hugging Face datasets, or torch tensors on the CPU. With one view, pairs are within it.
            With two, pairs without names run from the first to the second. With more, pairs are aligned or
            name the modalities, see :meth:`Pairs.from_ids` and :meth:`Pairs.from_labels`.
            Dask arrays are learned from on their cluster, see the page about clusters.
        pairs : Pairs, or {(modality, modality): Pairs}
            The second form gives the pairs of each couple of modalities, from the first name to the second;
            a couple that names one modality twice has pairs within it. Views that no couple names are ignored.
        calibrate : bool
            Whether to call :meth:`calibrate`, too, which about doubles the time. Fused codes, and chances and
            promises of searches, need it.

        Returns
        -------
        self
        """
        check_flag(calibrate, "calibrate", caller=self._caller)
        hasher = self._seeded(self._caller)
        hasher._check_parameters()
        source = open_views(
            views,
            pairs,
            self.couple_weights,
            need_negatives=self._needs_negatives(),
            caller=self._caller,
        )
        if source is not None:
            if calibrate:
                raise ParameterError(
                    f"{self._caller}: calibrate=True needs the rows in memory. Fit without it, then call calibrate "
                    "with a part of the rows."
                )
            return self.fit_batches(source)
        data = hasher._checked(views, pairs, self._caller)
        model = hasher._fit_model(data)
        self.model_ = hasher._calibrated(data, model, self._caller) if calibrate else model
        self._stream = None
        return self

    def fit_batches(self, batches: Any) -> Self:
        """Learn from data that need not fit into memory: several passes over batches of rows.

        The model is that of :meth:`fit` with all batches together, up to rounding (at least 99.99 % of the bits).

        Parameters
        ----------
        batches : iterable of (views, pairs), or function that returns an iterator over them
            The views and pairs of each batch, as for :meth:`fit`. Row numbers of pairs count the rows of the batch.
            Rows with the same label belong together in different batches, too, and the negatives that aligned rows, ids
            or labels imply run over all batches. All rows with the same id are in one batch. A view may have no rows
            in a batch. Everything is read several times, so an iterator that can be read only once is refused.

        Returns
        -------
        self

        Notes
        -----
        :class:`DiffHash`, :class:`KernelDiffHash` and :class:`RefinedHash` have one batch, sums and a sample of at
        most 20,000 rows of each view in memory. Only with more than 4,096 features :class:`RefinedHash` collects all
        rows, and if most labels have only one row (or a few, with more than 4,096 labels), it learns from a sample and
        warns. :class:`BoostedHash` learns from a sample of at most 20,000 rows of each view; only with fewer rows it is
        the model of :meth:`fit`.

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=500, n_test=100, random_state=0)
        >>> x, y = data.train.views["x"], data.train.views["y"]
        >>> batches = [
        ...     ({"x": x[start : start + 100], "y": y[start : start + 100]}, dh.Pairs.aligned(100))
        ...     for start in range(0, 500, 100)
        ... ]
        >>> hasher = dh.DiffHash(n_bits=4).fit_batches(batches)
        >>> hasher.encode(data.test.views["x"], modality="x").shape
        (100, 1)
        """
        caller = f"{type(self).__name__}.fit_batches"
        hasher = self._seeded(caller)
        hasher._check_parameters()
        check_count(self.n_bits, "n_bits", caller=caller, maximum=MAX_BITS)
        source = open_batches(batches, self.couple_weights, caller=caller)
        source.announce(hasher.count_passes(source.form))
        self.model_ = hasher._new_model(hasher._learn_from(source), source.form)
        self._stream = None
        return self

    def calibrate(
        self, views: Views, pairs: Pairs | Mapping[tuple[str, ...], Pairs], *, unseen: bool = False
    ) -> Self:
        """Learn how reliable modalities and distances are.

        A second model is fitted with the same parameters to 80 % of the objects, and judged on the others: how
        reliable each modality is for each bit, which :meth:`encode_fused` needs, and how often similar and dissimilar
        objects are at each distance, from which searches give chances and promises. The hash functions do not
        change, so stored codes stay valid. This takes about as long as ``fit``, or less: RefinedHash uses the
        representations and ridges that ``fit`` chose, and does not search again.

        Parameters
        ----------
        views, pairs
            What the hasher was fitted to; or, with ``unseen``, other objects.
        unseen : bool
            The objects are others than those of ``fit``, and at least some hundred. The model is judged on them
            directly, and nothing is fitted. A model of :meth:`extend` can be calibrated in this way, too.

        Returns
        -------
        self

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
        >>> hasher = hasher.calibrate(data.train.views, dh.Pairs.aligned(200))
        >>> hasher.encode_fused({m: X[:10] for m, X in data.test.views.items()}).codes.shape
        (10, 1)
        """
        model, caller = self._fitted("calibrate"), f"{type(self).__name__}.calibrate"
        hasher = self._seeded(caller)
        data = hasher._checked(views, pairs, caller)
        if set(data.modalities) != set(model.modalities):
            raise UnknownModalityError(
                f"{caller}: the model has the modalities {', '.join(map(repr, model.modalities))}, the pairs are "
                f"between {', '.join(map(repr, data.modalities))}. Give the views and pairs of fit."
            )
        for m, X in data.views.items():
            check_names(views[m], model.feature_names.get(m), caller=caller, modality=m)
            model.check_features(X, m, caller=caller)
        self.model_ = hasher._judged(data, model) if unseen else hasher._calibrated(data, model, caller)
        return self

    def extend(
        self,
        views: Views,
        pairs: Pairs | Mapping[tuple[str, ...], Pairs],
        *,
        modality: str,
        encodes_as: str | None = None,
    ) -> Self:
        """Learn a hash function for a new modality, into the codes that exist already.

        The hash functions of the known modalities do not change, so nothing that is stored has to be encoded
        again. A new encoder of an old modality is a new modality, too.

        Parameters
        ----------
        views : dict of arrays by modality
            The new modality and at least one known one. They may be other objects than those of ``fit``.
        pairs : Pairs, or {(modality, modality): Pairs}
            As for ``fit``. Only pairs of the new modality with known ones are used.
        modality : str
            Name of the new modality.
        encodes_as : str, optional
            A known modality whose stored codes the new codes join, such as "image" for a new encoder of
            pictures. It is kept in the model.

        Returns
        -------
        a new hasher of the same class; this one does not change

        Notes
        -----
        The new view is regressed to the mean codes of its partners, or to their projections if that is better
        on held-out pairs; representation (linear or kernel) and ridge have the smallest error on left-out
        objects. The result is refined with the old codes frozen if that finds held-out objects better.
        If the model was calibrated, so is the new modality.

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
        >>> views = {"x": data.train.views["x"], "new x": data.train.views["x"] ** 3}
        >>> extended = hasher.extend(views, dh.Pairs.aligned(200), modality="new x", encodes_as="x")
        >>> extended.modalities_, hasher.modalities_
        (('x', 'y', 'new x'), ('x', 'y'))
        """
        # Extension chooses among the representations of RefinedHash, whose base is this class.
        from .extended_model import extended_model

        model, caller = self._fitted("extend"), f"{type(self).__name__}.extend"
        extended = copy(self)
        extended._stream = None
        extended.model_ = extended_model(
            model,
            views,
            pairs,
            modality=modality,
            encodes_as=encodes_as,
            random_state=getattr(self._seeded(caller), "random_state", 0),
            caller=caller,
        )
        return extended

    def _checked(self, views: Any, pairs: Any, caller: str) -> TrainingData:
        """Check parameters and input before anything is computed."""
        self._check_parameters()
        check_count(self.n_bits, "n_bits", caller=self._caller, maximum=MAX_BITS)
        return check_training_data(
            views,
            pairs,
            caller=caller,
            need_negatives=self._needs_negatives(),
            couple_weights=self.couple_weights,
        )

    def _seeded(self, caller: str) -> Self:
        """The hasher itself; if its random_state is a generator, a copy with a seed drawn from it.

        Learning uses a seed several times, and a model file can keep a number only.
        """
        given = getattr(self, "random_state", None)
        if not isinstance(given, np.random.Generator | np.random.RandomState):
            return self
        hasher = copy(self)
        hasher.set_params(random_state=check_seed(given, caller=caller))
        return hasher

    def _fit_model(self, data: TrainingData) -> HashModel:
        with few_threads(data, self._n_numbers(data)):
            # The model says how many threads BLAS had.
            return self._new_model(self._learn(data), data)

    def _new_model(self, learned: Learned, data: TrainingData | SourceForm) -> HashModel:
        if isinstance(data, SourceForm):
            n_features = dict(zip(data.modalities, data.n_features, strict=True))
        else:
            n_features = {m: int(X.shape[1]) for m, X in data.views.items()}
        return HashModel(
            method=type(self).__name__,
            parameters=self.get_params(deep=False) | dict.fromkeys(self.callbacks),
            n_bits=int(self.n_bits),
            modalities=data.modalities,
            n_features=n_features,
            maps=learned.maps,
            projections=learned.projections,
            thresholds=learned.thresholds,
            extra=learned.extra,
            learned_with={"blas": blas_libraries()},
            feature_names=dict(data.feature_names),
        )

    def _calibrated(self, data: TrainingData, model: HashModel, caller: str) -> HashModel:
        """The model with what a second fit says about it."""
        second = self._second_hasher(model)
        with few_threads(data):
            held_out = held_out_values(
                data, model, second._learn, getattr(self, "random_state", 0), caller=caller
            )
            return with_judgement(model, data.modalities, held_out)

    def _judged(self, data: TrainingData, model: HashModel) -> HashModel:
        """The model with what objects say that it has not seen."""
        with few_threads(data):
            return with_judgement(model, data.modalities, unseen_values(data, model))

    def _second_hasher(self, model: HashModel) -> Self:  # noqa: ARG002 - subclasses use the model
        """An unfitted hasher for the second fit of the calibration."""
        second: Self = clone(self)
        second.set_params(**dict.fromkeys(self.callbacks))
        return second

    def _n_numbers(self, data: TrainingData) -> int:  # noqa: ARG002 - subclasses use the data
        """Size of the features of a view of which products are computed at once; see :func:`few_threads`."""
        return 0

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ParameterError if a parameter is wrong for any data."""

    @abstractmethod
    def _learn(self, data: TrainingData) -> Learned:
        """Learn from checked input; changes nothing in self."""

    def _learn_from(self, source: Source) -> Learned:
        """Learn from a source: from rows that are collected in memory, all or a sample of bounded size."""
        form = source.form
        limit = self._collected_rows(source)
        views, couples = source.reduce(CollectPass(form.couples, limit)).sample().data()
        if form.named is not None:
            negative = [c.pairs.n_negative for c in couples] if self._needs_negatives() else None
            positive = [c.pairs.n_positive for c in couples]
            kept = couples_to_learn(form.named, positive, negative, caller=self._caller)
            couples = replace(couples, couples=tuple(couples.couples[number] for number in kept))
        return self._learn(
            TrainingData(form.modalities, dict(zip(form.modalities, views, strict=True)), couples)
        )

    def _collected_rows(self, source: Source) -> int | None:
        """Largest number of rows of each modality to collect in memory; None for all."""
        form, limit = source.form, source.max_collected_rows
        if not self.learns_from_all_rows:
            return sample_limit(form.n_features, form.sparse)
        if limit is not None and form.n_rows is not None and max(form.n_rows) > limit:
            warnings.warn(
                f"{self._caller}: {type(self).__name__} needs its rows in memory. It learns from a sample of {limit:,} "
                f"of the {max(form.n_rows):,} rows.",
                SampleWarning,
                stacklevel=5,
            )
        return limit

    def count_passes(self, form: SourceForm) -> int:  # noqa: ARG002 - subclasses use the form
        """Number of times that a source is read; unusual data may need more."""
        return 1

    def _needs_negatives(self) -> bool:
        """Whether ``fit`` needs at least one negative pair."""
        return True

    @property
    def _caller(self) -> str:
        return f"{type(self).__name__}.fit"
