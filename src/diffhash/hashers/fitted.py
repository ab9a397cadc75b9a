"""The fitted half of a hasher: the model that was learned, and what it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from ..codes import unpack
from ..errors import NotFittedError
from ..featurizers.base import Featurizer
from ..learning.stream import Stream
from ..maps import FeatureMap
from ..model import FusedCodes, HashModel
from ..types import CodeArray, FloatArray
from ..validation import known_modality

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

    @property
    def feature_names_in_(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns of the modalities that were fitted to tables with names; absent if none was."""
        names = self._fitted("feature_names_in_").feature_names
        if not names:
            raise AttributeError(f"{type(self).__name__} was fitted to arrays, whose columns have no names.")
        return dict(names)

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

    def transform(self, views: Any) -> Any:
        """The bits of objects as zeros and ones, for estimators of scikit-learn. Packed codes: :meth:`encode`.

        Parameters
        ----------
        views : dict of arrays by modality
            Features of some or all of the modalities. If the hasher has only one, an array will do.

        Returns
        -------
        dict of uint8 arrays of shape (n, n_bits) by modality, or one array
            In the form in which the views were given. ``metric="hamming"`` of scikit-learn is then the Hamming
            distance divided by ``n_bits``.

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
        >>> bits = hasher.transform(data.test.views)
        >>> bits["x"].shape, bits["y"].shape
        ((10, 4), (10, 4))
        """
        model, caller = self._fitted("transform"), f"{type(self).__name__}.transform"
        if not isinstance(views, Mapping):
            modality = known_modality(None, model.modalities, caller=caller)
            return unpack(model.encode(views, modality), model.n_bits).astype(np.uint8)
        return {
            m: unpack(
                model.encode(X, known_modality(m, model.modalities, caller=caller)), model.n_bits
            ).astype(np.uint8)
            for m, X in views.items()
        }

    def fit_transform(self, views: Any, pairs: Any) -> Any:
        """``fit(views, pairs)``, then ``transform(views)``."""
        return self.fit(views, pairs).transform(views)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 - scikit-learn's signature
        """Names of the bits of :meth:`transform`."""
        n_bits = self._fitted("get_feature_names_out").n_bits
        return np.array([f"{type(self).__name__.lower()}{bit}" for bit in range(n_bits)], dtype=object)

    def score(self, views: Any, pairs: Any, *, metric: str = "auto") -> float:
        """How well objects find what belongs to them: the mean over all couples of modalities and both directions.

        Use views and pairs that the hasher has not learned from, or :func:`diffhash.cross_validate`.

        Parameters
        ----------
        views, pairs
            As for ``fit``.
        metric : {"auto", "map", "recall@10", "auc"}
            "map" is the tie-aware mean average precision. "recall@10" is the share of what belongs to a query
            that is among the first 10 (or another number). "auc" is the chance that a positive pair is nearer than
            a negative one. "auto" is "map" with labels, "auc" if positive and negative pairs are listed,
            otherwise "recall@10".

        Returns
        -------
        float
            Between 0 and 1; higher is better.

        Examples
        --------
        >>> import diffhash as dh
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=100, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
        >>> hasher.score(data.test.views, dh.Pairs.from_labels(data.test.labels)) > 0.8
        True
        """
        from .scoring import score_model

        model = self._fitted("score")
        return score_model(model, views, pairs, metric, caller=f"{type(self).__name__}.score")

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

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn should know: views are a dict, pairs are required."""
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "transformer"
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

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
