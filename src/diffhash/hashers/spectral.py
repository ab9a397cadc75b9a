"""Base class of CM-DIF and MM-kDIF, which apply the same steps to different features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..errors import ParameterError, RankWarning, TooManyBitsError
from ..learning.batch_source import checked_batch, first_form
from ..learning.batches import CoupleForm, OneBatch, Source, SourceForm
from ..learning.block_difference import block_difference, block_directions, largest_rank
from ..learning.cross_fit import N_DIRECTIONS
from ..learning.joint_thresholds import couple_thresholds, thresholds_of
from ..learning.one_batch import one_batch
from ..learning.passes import DataSums, FirstPass
from ..learning.projections import numerical_rank, row_signs
from ..learning.sample_keys import sample_limit, stream_limit
from ..learning.source_sums import SourceSums, sum_features
from ..learning.stream import NoSource, Stream, extended_stream
from ..learning.subspace import mean_partners, rotated_directions
from ..learning.threshold_passes import SourceProjections
from ..learning.thresholds import ThresholdSettings
from ..learning.view_difference import DifferenceSettings
from ..learning.whitened_spaces import whiten_spaces
from ..maps import FeatureMap
from ..maps.learning_space import LearningSpace, learning_space
from ..model import HashModel
from ..native.argument_checks import MAX_BITS
from ..pairs import Pairs
from ..pairs.couples import ResolvedCouples, couples_to_learn
from ..types import FloatArray, Views
from ..validation import (
    check_choice,
    check_count,
    check_flag,
    check_learnable_range,
    check_number,
    check_seed,
)
from .base import BaseHasher
from .map_parameters import MapSettings
from .training_data import Learned, TrainingData

__all__ = ["SpectralHasher"]


class SpectralHasher(BaseHasher):
    """Learns projections from a covariance difference, then a threshold for each bit."""

    extra_attributes = ("singular_values",)

    gamma: float
    thresholds: str
    miss_weight: float
    min_share: float
    n_bins: int
    statistic: str
    rotate: bool
    random_state: int | None

    #: End of the error message about too many bits: how to get more bits.
    _more_bits_hint = ""

    @abstractmethod
    def _map_settings(self, form: SourceForm) -> Mapping[str, MapSettings]:
        """Settings of the feature map of each modality."""

    def _check_parameters(self) -> None:
        caller = self._caller
        check_count(self.n_bits, "n_bits", caller=caller)
        if not (isinstance(self.gamma, float) and np.isinf(self.gamma) and self.gamma > 0):
            check_number(self.gamma, "gamma", caller=caller, high=1e12)
        check_choice(self.statistic, "statistic", ("product", "difference"), caller=caller)
        check_flag(self.rotate, "rotate", caller=caller)
        check_seed(self.random_state, caller=caller)
        check_choice(self.thresholds, "thresholds", ("joint", "zero", "median"), caller=caller)
        check_number(self.miss_weight, "miss_weight", caller=caller, high=1e12, open_low=True)
        check_number(self.min_share, "min_share", caller=caller, high=0.5)
        if check_count(self.n_bins, "n_bins", caller=caller, minimum=4) > 256:
            raise ParameterError(f"{caller}: n_bins must be at most 256, got {self.n_bins!r}.")

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values of the covariance difference, the largest first."""
        return self._fitted("singular_values_").extra["singular_values"]

    def _needs_negatives(self) -> bool:
        return not (np.isinf(self.gamma) and self.thresholds != "joint")

    def _n_numbers(self, data: TrainingData) -> int:
        settings = self._map_settings(
            one_batch(data.modalities, list(data.views.values()), data.couples).form
        )
        numbers = 0
        for modality, X in data.views.items():
            n, d = X.shape
            # With more features than rows, products are computed in the space of the rows.
            numbers = max(numbers, n * min(settings[modality].n_features_out(d), n))
        return numbers

    def _learn(self, data: TrainingData) -> Learned:
        return self._learn_from(one_batch(data.modalities, list(data.views.values()), data.couples))

    def partial_fit(
        self, views: Views, pairs: Pairs | Mapping[tuple[str, ...], Pairs], *, forget: float = 0.0
    ) -> Self:
        """Learn from data that pass only once: add a batch to what the batches before have told.

        Sums over rows and pairs accumulate, so the projections are those of :meth:`fit` with all batches together.
        Thresholds, and what ``rotate`` and ``shrinkage="auto"`` choose, come from a sample of at most 128 MB
        (and 1,048,576 rows) of each view. Memory does not grow with the number of batches. The model is made when it is
        first used after a call.

        Parameters
        ----------
        views, pairs
            As in a batch of :meth:`fit_batches`. Rows with the same id are found only within a batch.
        forget : float in [0, 1)
            For data that drift: what was seen before counts only ``1 - forget`` times as much from now on. With
            0.01, what came 100 batches ago still counts a third.

        Returns
        -------
        self

        Notes
        -----
        The first call begins anew after :meth:`fit` and :meth:`fit_batches`. What has accumulated is not saved with
        the model.
        :class:`KernelDiffHash` learns its landmarks and distances from the first batch and keeps them.
        ``statistic="difference"`` needs several passes and is refused.

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=500, n_test=100, random_state=0)
        >>> x, y = data.train.views["x"], data.train.views["y"]
        >>> hasher = dh.DiffHash(n_bits=4)
        >>> for rows in (slice(0, 250), slice(250, 500)):
        ...     hasher = hasher.partial_fit({"x": x[rows], "y": y[rows]}, dh.Pairs.aligned(250))
        >>> hasher.encode(data.test.views["x"], modality="x").shape
        (100, 1)
        """
        caller = f"{type(self).__name__}.partial_fit"
        hasher = self._seeded(caller)
        hasher._check_parameters()
        check_count(self.n_bits, "n_bits", caller=caller, maximum=MAX_BITS)
        check_number(forget, "forget", caller=caller, high=1.0 - 1e-9)
        if self.statistic == "difference":
            raise ParameterError(
                f'{caller}: statistic="difference" needs several passes over the data. Use fit or fit_batches.'
            )
        known: Stream | None = self.__dict__.get("_stream")
        form = (
            known.form if known is not None else first_form(views, pairs, self.couple_weights, caller=caller)
        )
        starts = (0,) * len(form.modalities) if known is None else known.n_rows
        number = 0 if known is None else known.n_batches
        batch = checked_batch(
            views, pairs, form, self.couple_weights, number=number, starts=starts, caller=caller
        )
        settings = [hasher._map_settings(form)[m] for m in form.modalities]
        job = replace(
            hasher._first_pass(NoSource(form), settings), limit=stream_limit(form.n_features, form.sparse)
        )
        stream = extended_stream(known, batch, form, job, settings, forget)
        self._stream = stream
        self.__dict__.pop("model_", None)
        return self

    def _model_of_stream(self, stream: Stream) -> HashModel:
        form, hasher = stream.form, self._seeded(self._caller)
        settings = [hasher._map_settings(form)[m] for m in form.modalities]
        learned = hasher._learn_after(stream.sums, NoSource(form), settings, stream)
        return hasher._new_model(learned, form)

    def _learn_from(self, source: Source) -> Learned:
        """Learn in passes over a source; in memory it has one batch."""
        form = source.form
        self._check_form(form)
        settings = [self._map_settings(form)[m] for m in form.modalities]
        first = source.reduce(self._first_pass(source, settings))
        for m, moments in zip(form.modalities, first.views, strict=True):
            check_learnable_range(moments.low, moments.high, caller=self._caller, modality=m)
        return self._learn_after(first, source, settings)

    def count_passes(self, form: SourceForm) -> int:
        """Number of times that a source is read: once if all rows are known to fit into the sample.

        There are more if labels make very many groups, or if a bit would be nearly constant and its median is needed.
        """
        if form.n_rows is not None and max(form.n_rows) <= sample_limit(form.n_features, form.sparse):
            return 1
        kernel = not all(each.affine for each in self._map_settings(form).values())
        thresholds = {
            "zero": 0,
            "median": 2 * len(form.modalities),
            "joint": 2 if len(form.couples) == 1 else 4,
        }
        return 1 + kernel + thresholds[self.thresholds] + (self.statistic == "difference")

    def _check_form(self, form: SourceForm) -> None:
        if self.statistic == "difference" and len(form.modalities) > 1:
            raise ParameterError(
                f'{self._caller}: statistic="difference" is for one view only; with more views use "product".'
            )

    def _first_pass(self, source: Source, settings: Sequence[MapSettings]) -> FirstPass:
        form = source.form
        limit = sample_limit(form.n_features, form.sparse)
        small = form.n_rows is not None and max(form.n_rows) <= limit
        affine = all(each.affine for each in settings)
        # In the space of few rows, sums over the many features would take much time and are not used.
        wide = zip(settings, form.n_features, form.n_rows or (), strict=False)
        by_rows = small and any(d > n for each, d, n in wide if each.affine)
        return FirstPass(
            form.couples,
            limit,
            tuple(each.needs_covariance or (each.affine and each.whiten and not small) for each in settings),
            tuple(each.standardizes for each in settings) if affine and not by_rows else None,
            self.gamma if source.n_batches == 1 else None,
        )

    def _learn_after(
        self, first: DataSums, source: Source, settings: Sequence[MapSettings], stream: Stream | None = None
    ) -> Learned:
        """Learn after the first pass.

        Parameters
        ----------
        first : DataSums
        source : Source
        settings : list of MapSettings
        stream : Stream, optional
            Given if the rows cannot be read again: thresholds are then chosen on the sample.
        """
        form, sample = source.form, first.sample
        modalities = range(len(form.modalities))
        views, couples = sample.data()
        fixed = stream is not None and (stream.forgotten or stream.maps is not None)
        if sample.whole is None and not fixed and all(map(sample.complete, modalities)):
            return self._learn_from(self._sample_in_memory(form, views, couples))
        if stream is not None and stream.maps is not None:
            maps = list(stream.maps)
        else:
            maps = [each.map_of(m, X) for each, m, X in zip(settings, first.views, views, strict=True)]
        if not self.rotate:
            self._check_bits(dict(zip(form.modalities, maps, strict=True)), form.couples)
        spaces = [
            learning_space(
                sample.mapped(u, maps[u]),
                by_rows=not fixed and sample.complete(u),
                min_rank=0 if self.rotate else self.n_bits,
            )
            for u in modalities
        ]
        sums = None
        if all(space.basis is None for space in spaces):
            sums = sum_features(
                first,
                source,
                maps,
                full=[settings[u].whiten and (fixed or not sample.complete(u)) for u in modalities],
                statistic=self.statistic,
                gamma=self.gamma,
                need_negatives=self._needs_negatives(),
                caller=self._caller,
                known=None if stream is None else stream.features,
            )
            couples = replace(couples, couples=tuple(couples.couples[number] for number in sums.numbers))
        projections, values = self._projections(form, spaces, couples, settings, sums)
        if sums is not None:
            maps = [
                fitted if sample.complete(u) else sums.centred_map(u, fitted) for u, fitted in enumerate(maps)
            ]
        chosen = ThresholdSettings(self.thresholds, self.miss_weight, self.min_share, self.n_bins)
        sampled = [sample.mapped(u, maps[u]) for u in modalities]
        if sums is None or stream is not None:
            in_memory = [view.project(P) for view, P in zip(sampled, projections, strict=True)]
            thresholds = couple_thresholds(in_memory, couples, chosen)
        else:
            projected = SourceProjections.of(source, sums, first, maps, projections, chosen)
            thresholds = thresholds_of(projected, len(maps), [at.sides for at in sums.forms], chosen)
        return Learned(
            dict(zip(form.modalities, maps, strict=True)),
            dict(zip(form.modalities, projections, strict=True)),
            dict(zip(form.modalities, thresholds, strict=True)),
            {"singular_values": values},
        )

    def _sample_in_memory(self, form: SourceForm, views: Sequence[Any], couples: ResolvedCouples) -> OneBatch:
        """All rows as one batch, after the first pass has put them into the sample."""
        if form.named is not None:
            negative = [c.pairs.n_negative for c in couples] if self._needs_negatives() else None
            positive = [c.pairs.n_positive for c in couples]
            kept = couples_to_learn(form.named, positive, negative, caller=self._caller)
            couples = replace(couples, couples=tuple(couples.couples[number] for number in kept))
        return one_batch(form.modalities, views, couples)

    def _projections(
        self,
        form: SourceForm,
        spaces: Sequence[LearningSpace],
        couples: ResolvedCouples,
        settings: Sequence[MapSettings],
        sums: SourceSums | None,
    ) -> tuple[list[FloatArray], FloatArray]:
        """Projections of the mapped features of each modality, and singular values.

        ``spaces`` and ``couples`` are the sampled rows. The sums are of all rows; they are None if the spaces are those
        of the rows, which then are all rows.
        """
        # Strengths on held-out pairs compare directions around the mean, so `rotate` centres all sums.
        center = tuple(self.rotate or each.whiten or each.center for each in settings)
        difference = DifferenceSettings(self.gamma, self.statistic, center)
        rng = np.random.default_rng(self.random_state)
        whitened, useful = whiten_spaces(
            spaces,
            [each.shrinkage if each.whiten else None for each in settings],
            couples,
            difference,
            rng,
            n_strengths=max(self.n_bits, N_DIRECTIONS) if self.rotate else 0,
            who=[each.who for each in settings],
            moments=None if sums is None else sums.moments,
        )
        views = [space.view for space in whitened]
        if sums is None:
            matrix = block_difference(views, couples, difference)
            n_partners, dtype = mean_partners(couples), views[0].dtype
        else:
            matrix = sums.difference([view.whitening for view in views], difference)
            n_partners, dtype = sums.mean_partners(), sums.dtype
        if self.rotate:
            parts, values = rotated_directions(matrix, views, n_partners, useful, self.n_bits, rng)
        else:
            found = block_directions(matrix, self.n_bits, exact=True)
            parts, values = list(found.parts), found.strengths
            self._warn_about_rank(values, dtype, form)
        folded = [space.folded(part) for space, part in zip(whitened, parts, strict=True)]
        if not (self.rotate or len(form.couples) > 1 or any(each.whiten for each in settings)):
            # Signs are arbitrary in the space of the rows. Those of features do not depend on the space.
            signs = row_signs(folded[0])
            folded = [part * signs for part in folded]
        return folded, values

    def _check_bits(self, maps: Mapping[str, FeatureMap], couples: Sequence[CoupleForm]) -> None:
        sizes = {m: fitted.n_features_out for m, fitted in maps.items()}
        limit = largest_rank(list(sizes.values()), [couple.sides for couple in couples])
        if self.n_bits > limit:
            raise TooManyBitsError(
                f"{self._caller}: n_bits={self.n_bits} is more than the limit of {limit} with "
                f"{' and '.join(f'{n} features of {m!r}' for m, n in sizes.items())}. "
                f"Ask for at most {limit} bits, {self._more_bits_hint}"
            )

    def _warn_about_rank(self, values: FloatArray, dtype: Any, form: SourceForm) -> None:
        rank = numerical_rank(values, len(values), dtype)
        if self.n_bits > rank:
            warnings.warn(
                f"{self._caller}: the pairs of {', '.join(map(repr, form.modalities))} determine only {rank} "
                f"of the {self.n_bits} bits; the others are arbitrary. Ask for at most {rank} bits, "
                "set rotate=True, or give more objects.",
                RankWarning,
                stacklevel=5,
            )
