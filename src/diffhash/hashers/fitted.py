"""The fitted half of a hasher: the model that was learned, and what it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from ..errors import NotFittedError
from ..featurizers.base import Featurizer
from ..learning.stream import Stream
from ..maps import FeatureMap
from ..model import FusedCodes, HashModel
from ..types import CodeArray, FloatArray

__all__ = ["FittedHasher", "HasherNotFittedError"]


class HasherNotFittedError(NotFittedError, SklearnNotFittedError):
    """The hasher was used before ``fit``; also an error of scikit-learn, so that its tools know it."""


class FittedHasher(BaseEstimator):
    """What a hasher does after ``fit``. Its model does all of it; see :class:`BaseHasher` for the attributes."""

    model_: HashModel
    #: What partial_fit has accumulated.
    _stream: Stream | None

    @property
    def modalities_(self) -> tuple[str, ...]:
        """Names of the modalities, in the order of ``fit``."""
        return self._fitted("modalities_").modalities

    @property
    def n_features_in_(self) -> dict[str, int]:
        """Number of features of each modality."""
        return self._fitted("n_features_in_").n_features

    @property
    def maps_(self) -> dict[str, FeatureMap]:
        """Fitted feature maps by modality."""
        return self._fitted("maps_").maps

    @property
    def projections_(self) -> dict[str, FloatArray]:
        """Projection matrices by modality."""
        return self._fitted("projections_").projections

    @property
    def thresholds_(self) -> dict[str, FloatArray]:
        """Thresholds by modality."""
        return self._fitted("thresholds_").thresholds

    @property
    def featurizers_(self) -> dict[str, Featurizer]:
        """Featurizers by modality; a modality may have none."""
        return self._fitted("featurizers_").featurizers

    def project(self, X: Any, modality: str | None = None) -> FloatArray:
        """Real values whose signs are the bits; see :meth:`HashModel.project`."""
        return self._fitted("project").project(X, modality)

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of objects of one modality; see :meth:`HashModel.encode`."""
        return self._fitted("encode").encode(X, modality)

    def encode_fused(self, views: Mapping[str, Any], ids: Mapping[str, Any] | None = None) -> FusedCodes:
        """One code per object from all modalities that it has; see :meth:`HashModel.encode_fused`."""
        return self._fitted("encode_fused").encode_fused(views, ids)

    def featurize(self, raw: Any, modality: str | None = None) -> Any:
        """Features of raw objects; see :meth:`HashModel.featurize`."""
        return self._fitted("featurize").featurize(raw, modality)

    def encode_raw(self, raw: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of raw objects; see :meth:`HashModel.encode_raw`."""
        return self._fitted("encode_raw").encode_raw(raw, modality)

    def set_featurizers(self, featurizers: Mapping[str, Featurizer]) -> Self:
        """Keep featurizers with the fitted model, in memory and in its file.

        Parameters
        ----------
        featurizers : dict by modality
            The ones that made the features of ``fit``; a modality may be left out. They replace
            all that were set before, and a new ``fit`` removes them.

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
        self.model_ = self._fitted("set_featurizers").with_featurizers(featurizers)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file (``.dhm``) that :func:`diffhash.load` reads.

        The file appears whole or not at all. An old model of that name is replaced, a file of another kind never.
        """
        self._fitted("save").save(path)

    def _fitted(self, name: str) -> HashModel:
        """The model, or an error that names the attribute or method that was used."""
        model: HashModel | None = getattr(self, "model_", None)
        if model is None:
            who = type(self).__name__
            raise HasherNotFittedError(f"{who}.{name}: this {who} is not fitted yet. Call fit first.")
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__ or self.__dict__.get("_stream") is not None

    def __getattr__(self, name: str) -> Any:
        # After partial_fit the model is made when somebody asks for it, not after every batch.
        if name == "model_" and self.__dict__.get("_stream") is not None:
            self.model_ = self._model_of_stream(self._stream)
            return self.model_
        # Python also comes here after a property raised HasherNotFittedError, which is an AttributeError.
        if isinstance(getattr(type(self), name, None), property):
            self._fitted(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _model_of_stream(self, stream: Any) -> HashModel:
        """The model of what partial_fit has accumulated."""
        raise NotImplementedError
