"""What all hashers share: checking input, encoding, saving.

A hasher is a scikit-learn estimator: parameters are stored untouched by ``__init__`` and checked
by ``fit``, and what was learned ends in an underscore. The steps of learning live in the modules
before this one; a hasher wires them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from ..errors import NotFittedError, PairsError, UnknownModalityError
from ..maps import FeatureMap
from ..pairs import Pairs
from ..pairs.resolved import ResolvedPairs
from ..threads import one_blas_thread
from ..types import CodeArray, FloatArray, Views
from ..validation import check_features, check_view, known_modality
from .raw_input import FeaturizerMixin

__all__ = ["BaseHasher", "Couple", "Learned"]


@dataclass(frozen=True)
class Couple:
    """Checked input of ``fit``: one or two views and the pairs between them.

    Attributes
    ----------
    modalities : tuple of one or two names
    views : dict by modality, float arrays or CSR
    pairs : ResolvedPairs
    """

    modalities: tuple[str, ...]
    views: dict[str, Any]
    pairs: ResolvedPairs


@dataclass(frozen=True)
class Learned:
    """Result of ``fit``: for every modality a map, a projection matrix and thresholds.

    Attributes
    ----------
    maps, projections, thresholds : dicts by modality
        Projections of shape (n_bits, n_features_out), thresholds of shape (n_bits,).
    extra : dict
        Further fitted attributes by name, without their underscore.
    """

    maps: dict[str, FeatureMap]
    projections: dict[str, FloatArray]
    thresholds: dict[str, FloatArray]
    extra: dict[str, FloatArray]


#: Up to so many objects learning keeps to one thread.
_FEW_OBJECTS = 20_000


class BaseHasher(FeaturizerMixin, BaseEstimator, ABC):
    """Base of all hashers; see a subclass for the parameters.

    Attributes
    ----------
    modalities_ : tuple of str
    n_features_in_ : dict by modality
    maps_ : dict by modality
        Fitted feature maps.
    projections_ : dict by modality
        Arrays of shape (n_bits, n_features after the map).
    thresholds_ : dict by modality
        Arrays of shape (n_bits,), added to the projections.
    featurizers_ : dict by modality
        What :meth:`set_featurizers` was given; empty after ``fit``.
    """

    #: Fitted arrays beyond those of every hasher, kept in the model file.
    extra_attributes: ClassVar[tuple[str, ...]] = ()

    n_bits: int

    def fit(self, views: Views, pairs: Pairs | Mapping[tuple[str, ...], Pairs]) -> Self:
        """Learn a hash function for each modality.

        Parameters
        ----------
        views : dict of arrays by modality
            One or two feature arrays of shape (n, n_features), dense or scipy sparse. With two,
            pairs run from the first to the second; with one, they are pairs within it.
        pairs : Pairs, or {(modality, modality): Pairs}
            The second form names the couple of modalities, in the order in which pairs run, and
            may leave out others among the views.

        Returns
        -------
        self
        """
        self._check_parameters()
        couple = self._check_input(views, pairs)
        n_objects = max(couple.views[m].shape[0] for m in couple.modalities)
        # With small matrices threads within BLAS gain nothing, and crawl where others use the cores.
        with one_blas_thread() if n_objects <= _FEW_OBJECTS else nullcontext():
            learned = self._learn(couple)
        self.modalities_ = couple.modalities
        self.n_features_in_ = {m: int(couple.views[m].shape[1]) for m in couple.modalities}
        self._set_learned(learned)
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ParameterError if a parameter makes no sense, whatever the data."""

    @abstractmethod
    def _learn(self, couple: Couple) -> Learned:
        """Learn from checked input; changes nothing in self."""

    def _needs_negatives(self) -> bool:
        """Whether ``fit`` must find at least one negative pair."""
        return True

    def _set_learned(self, learned: Learned) -> None:
        self.featurizers_, self._absent_featurizers = {}, {}
        self.maps_ = learned.maps
        self.projections_ = learned.projections
        self.thresholds_ = learned.thresholds
        for name in self.extra_attributes:
            setattr(self, f"{name}_", learned.extra[name])

    @property
    def _caller(self) -> str:
        return f"{type(self).__name__}.fit"

    def _check_input(self, views: Any, pairs: Any) -> Couple:
        caller = self._caller
        if not isinstance(views, Mapping) or not views:
            raise UnknownModalityError(
                f"{caller}: views must be a dict of arrays by modality, such as "
                f'{{"image": X, "text": Y}}, got {type(views).__name__}.'
            )
        modalities, chosen = _choose_couple(views, pairs, caller)
        arrays = {m: check_view(views[m], caller=caller, modality=m) for m in modalities}
        resolved = chosen.resolve(*(arrays[m].shape[0] for m in modalities), caller=caller)
        if resolved.n_positive == 0:
            raise PairsError(f"{caller}: there is no positive pair to learn from.")
        if self._needs_negatives() and resolved.n_negative == 0:
            raise PairsError(
                f"{caller}: there is no negative pair: all objects are similar. "
                "Add dissimilar objects, or objects of a second class."
            )
        return Couple(modalities, arrays, resolved)

    def project(self, X: Any, modality: str | None = None) -> FloatArray:
        """Real values of which the bits are the signs.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Objects of one modality.
        modality : str
            Which one; may be left out when the model has only one.

        Returns
        -------
        float array of shape (n, n_bits)
            Thresholds included: a bit is one where the value is >= 0.
        """
        modality, X = self._check_rows(X, modality, "project")
        return self.maps_[modality].project(X, self.projections_[modality], self.thresholds_[modality])

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of objects of one modality.

        Parameters
        ----------
        X : array of shape (n, n_features)
        modality : str
            Which one; may be left out when the model has only one.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8))
            Little bit order, padding bits 0; equal to the packed signs of :meth:`project`.
        """
        modality, X = self._check_rows(X, modality, "encode")
        return self.maps_[modality].encode(X, self.projections_[modality], self.thresholds_[modality])

    def _check_rows(self, X: Any, modality: str | None, method: str) -> tuple[str, Any]:
        caller = f"{type(self).__name__}.{method}"
        self._check_fitted(caller)
        modality = known_modality(modality, self.modalities_, caller=caller)
        return modality, check_features(X, self.n_features_in_[modality], caller=caller, modality=modality)

    def _check_fitted(self, caller: str) -> None:
        if not hasattr(self, "projections_"):
            raise NotFittedError(f"{caller}: this {type(self).__name__} is not fitted yet. Call fit first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "projections_")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`diffhash.load` reads.

        The file appears whole or not at all; one that was there before is replaced.
        """
        from .model_io import save_hasher

        self._check_fitted(f"{type(self).__name__}.save")
        save_hasher(self, path)


def _choose_couple(views: Mapping[str, Any], pairs: Any, caller: str) -> tuple[tuple[str, ...], Pairs]:
    known = list(views)
    for name in known:
        if not isinstance(name, str) or not name:
            raise UnknownModalityError(f"{caller}: modalities are named by strings, got {name!r}.")
    if isinstance(pairs, Pairs):
        if len(known) > 2:
            raise UnknownModalityError(
                f"{caller}: there are {len(known)} views ({', '.join(known)}); say between which two the pairs run: "
                f"fit(views, {{({known[0]!r}, {known[1]!r}): pairs}})."
            )
        return tuple(known), pairs
    if not isinstance(pairs, Mapping) or not all(isinstance(p, Pairs) for p in pairs.values()):
        raise PairsError(
            f"{caller}: pairs must be a Pairs, or a dict of one by couple of modalities, got {type(pairs).__name__}."
        )
    if len(pairs) != 1:
        raise PairsError(f"{caller}: pairs of exactly one couple of modalities are needed, got {len(pairs)}.")
    couple, chosen = next(iter(pairs.items()))
    couple = (couple,) if isinstance(couple, str) else tuple(couple)
    if len(couple) not in (1, 2):
        raise PairsError(f"{caller}: a couple names two modalities (or one), got {couple!r}.")
    couple = tuple(known_modality(name, known, caller=caller) for name in dict.fromkeys(couple))
    return couple, chosen
