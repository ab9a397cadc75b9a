"""Raw objects straight to codes: the part of a hasher that keeps featurizers beside the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from ..errors import FeatureCountError, InputError, ParameterError
from ..featurizers.base import Featurizer, check_featurizer
from ..featurizers.registry import BUILT_IN, is_built_in
from ..types import CodeArray
from ..validation import check_features, known_modality

__all__ = ["AbsentFeaturizer", "FeaturizerMixin"]


class AbsentFeaturizer(NamedTuple):
    """What a file says about a featurizer of the user's own that nobody has given again."""

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class FeaturizerMixin(ABC):
    """What a fitted hasher can do with raw objects; see :class:`BaseHasher`."""

    modalities_: tuple[str, ...]
    n_features_in_: dict[str, int]
    featurizers_: dict[str, Featurizer]
    # Kept, so that saving the model again does not lose them.
    _absent_featurizers: dict[str, AbsentFeaturizer]

    def set_featurizers(self, featurizers: Mapping[str, Featurizer]) -> Self:
        """Keep featurizers with the fitted model, in memory and in its file.

        Parameters
        ----------
        featurizers : dict by modality
            Those the features of ``fit`` were made with; a modality may be left out. They replace
            all that were set before, and a new ``fit`` forgets them.

        Returns
        -------
        self

        Raises
        ------
        FeatureCountError
            If a featurizer gives another number of features than the model was fitted on.

        Examples
        --------
        >>> import diffhash as dh
        >>> texts = ["white star", "black star", "white king", "black king"]
        >>> words = dh.featurizers.TfidfFeatures().fit(texts)
        >>> views = {"text": words.transform(texts), "colour": [[1, 0], [0, 0], [1, 1], [0, 1]]}
        >>> hasher = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(4))
        >>> hasher = hasher.set_featurizers({"text": words})
        >>> hasher.encode_raw(["a white queen"], modality="text").shape
        (1, 1)
        """
        caller = f"{type(self).__name__}.set_featurizers"
        self._check_fitted(caller)
        if not isinstance(featurizers, Mapping):
            raise ParameterError(
                f"{caller}: expected a dict of featurizers by modality, got {type(featurizers).__name__}."
            )
        for modality, featurizer in featurizers.items():
            known_modality(modality, self.modalities_, caller=caller)
            check_featurizer(featurizer, modality, caller=caller)
            if featurizer.kind in BUILT_IN and not is_built_in(featurizer):
                raise ParameterError(
                    f"{caller}: {featurizer.kind!r} is the kind of diffhash's own featurizer; "
                    f"give {type(featurizer).__name__} another one."
                )
            given, expected = featurizer.n_features, self.n_features_in_[modality]
            if given != expected:
                raise FeatureCountError(
                    f"{caller}: the model was fitted on {expected} features of modality {modality!r}, this "
                    f"{featurizer.kind!r} featurizer gives {given}. Set the one that made them, or refit."
                )
        self.featurizers_ = dict(featurizers)
        self._absent_featurizers = {}
        return self

    def featurize(self, raw: Any, modality: str | None = None) -> Any:
        """Features of raw objects, by the featurizer of their modality.

        Parameters
        ----------
        raw : what the featurizer takes
            A list of str for text; a list of paths, Pillow images or uint8 arrays for pictures.
        modality : str
            Which one; may be left out when the model has only one.

        Returns
        -------
        float array or scipy sparse array of shape (n, n_features)
        """
        return self._featurize(raw, modality, "featurize")[1]

    def encode_raw(self, raw: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of raw objects: ``encode(featurize(raw))``.

        Parameters
        ----------
        raw : as for :meth:`featurize`
        modality : str
            Which one; may be left out when the model has only one.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8))
        """
        modality, features = self._featurize(raw, modality, "encode_raw")
        return self.encode(features, modality=modality)

    def _featurize(self, raw: Any, modality: str | None, method: str) -> tuple[str, Any]:
        caller = f"{type(self).__name__}.{method}"
        self._check_fitted(caller)
        modality = known_modality(modality, self.modalities_, caller=caller)
        if modality in self._absent_featurizers:
            raise InputError(
                f"{caller}: this model was saved with a featurizer of your own for modality {modality!r}, of kind "
                f"{self._absent_featurizers[modality].kind!r}. Give it: load(path, featurizers={{{modality!r}: ...}})."
            )
        if modality not in self.featurizers_:
            raise InputError(
                f"{caller}: the model has no featurizer for modality {modality!r}. Pass features to encode, or call "
                f"set_featurizers({{{modality!r}: ...}}) first."
            )
        features = self.featurizers_[modality].transform(raw)
        n_features = self.n_features_in_[modality]
        return modality, check_features(features, n_features, caller=caller, modality=modality)

    @abstractmethod
    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of features: of BaseHasher, which derives from this class."""

    @abstractmethod
    def _check_fitted(self, caller: str) -> None:
        """Raise unless ``fit`` or ``load`` was called."""
