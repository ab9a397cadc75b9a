"""``HashModel``: the hash functions that a hasher has learned, as a plain value.

It encodes, saves and loads. It knows nothing about learning, so a program that only encodes and
searches does not import scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_modules import array_module
from ..errors import FeatureCountError, InputError, NotFittedError, ParameterError
from ..featurizers.base import Featurizer, check_featurizer
from ..featurizers.registry import BUILT_IN, is_built_in
from ..maps import FeatureMap, PreparedEncoder
from ..types import CodeArray, FloatArray
from ..validation import check_features, known_modality, values_are_usual
from .calibration import Calibration
from .fit_report import FitReport
from .fused_codes import FusedCodes, fuse

__all__ = ["FUSION_SLOPES", "AbsentFeaturizer", "HashModel", "model_of"]

#: Name of the array (n_modalities, n_bits) in ``extra`` that fused codes need.
FUSION_SLOPES = "fusion_slopes"


class AbsentFeaturizer(NamedTuple):
    """State of a user's own featurizer that was found in a file and not given again."""

    kind: str
    parameters: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class HashModel:
    r"""One hash function per modality: :math:`\mathrm{sign}(P\,\phi(x) + a)` with a feature map :math:`\phi`.

    ``hasher.model_`` is one after ``fit``. A model can also be read from a file without the
    estimator: ``HashModel.load(path)``.

    Parameters
    ----------
    method : str
        Class name of the estimator that learned the model.
    parameters : dict
        Parameters of that estimator.
    n_bits : int
    modalities : tuple of str
    n_features : dict of int by modality
        Number of features before the map.
    maps : dict by modality
        Fitted feature maps.
    projections : dict by modality
        Arrays of shape (n_bits, n_features after the map).
    thresholds : dict by modality
        Arrays of shape (n_bits,), added to the projections.
    extra : dict of arrays
        What else the method learned, such as ``singular_values``.
    featurizers : dict by modality
        They turn raw objects into features; a modality may have none.
    absent_featurizers : dict by modality
        Kept so that saving a model again does not lose them.
    opened_by : str
        Function that takes ``featurizers=``, for error messages.
    encodes_as : dict of str by modality
        For a modality that joined by ``extend``: the older modality whose stored codes its codes join.
    learned_with : dict
        The libraries that computed the model, as plain JSON: ``"blas"`` lists the BLAS libraries with
        their versions, the kinds of CPU that they were used for, and their numbers of threads. Empty
        for models of older versions.
    feature_names : dict of tuples of str by modality
        Names of the columns, for modalities that were fitted to a table with names.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> hasher.model_
    <HashModel of DiffHash: 4 bits, x (128 features), y (64 features)>
    >>> hasher.model_.encode(data.test.views["y"], modality="y").shape
    (10, 1)
    """

    method: str
    parameters: Mapping[str, Any]
    n_bits: int
    modalities: tuple[str, ...]
    n_features: dict[str, int]
    maps: dict[str, FeatureMap]
    projections: dict[str, FloatArray]
    thresholds: dict[str, FloatArray]
    extra: dict[str, NDArray[Any]] = field(default_factory=dict)
    featurizers: dict[str, Featurizer] = field(default_factory=dict)
    absent_featurizers: dict[str, AbsentFeaturizer] = field(default_factory=dict)
    opened_by: str = "load"
    encodes_as: Mapping[str, str] = field(default_factory=dict)
    learned_with: Mapping[str, Any] = field(default_factory=dict)
    feature_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def report(self) -> FitReport | None:
        """What the fit tried and chose; None for methods that choose nothing."""
        return FitReport.from_array(self.extra["report"]) if "report" in self.extra else None

    @cached_property
    def calibration(self) -> Calibration | None:
        """Distance counts of held-out pairs, for chances and promises of searches; None without calibration."""
        return Calibration.from_arrays(self.extra, self.modalities, self.n_bits)

    @property
    def fusion_slopes(self) -> dict[str, FloatArray] | None:
        """For each modality, the reliability of its projection for each bit; None without calibration."""
        slopes = self.extra.get(FUSION_SLOPES)
        return None if slopes is None else dict(zip(self.modalities, slopes, strict=True))

    def __repr__(self) -> str:
        views = ", ".join(f"{m} ({n} features)" for m, n in self.n_features.items())
        return f"<HashModel of {self.method}: {self.n_bits} bits, {views}>"

    def project(self, X: Any, modality: str | None = None) -> FloatArray:
        """Real values whose signs are the bits.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Objects of one modality.
        modality : str
            May be left out when the model has only one.

        Returns
        -------
        float array of shape (n, n_bits)
            Thresholds are included: a bit is one where the value is >= 0. Of a Dask array, a Dask array.
        """
        if (lazy := array_module(X)) is not None:
            found: FloatArray = lazy.project_array(self, X, modality)
            return found
        modality, X = self._check_rows(X, modality, "project")
        return self._encoder(modality, X.dtype).project(X)

    def encode(self, X: Any, modality: str | None = None) -> CodeArray:
        """Binary codes of objects of one modality.

        Parameters
        ----------
        X : array of shape (n, n_features)
        modality : str
            May be left out when the model has only one.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8))
            Little bit order, padding bits 0; equal to the packed signs of :meth:`project`. Of a Dask array, a Dask
            array.
        """
        if (lazy := array_module(X)) is not None:
            found: CodeArray = lazy.encode_array(self, X, modality)
            return found
        # The values of dense rows are checked block by block, while they are in the cache.
        modality, rows = self._check_rows(X, modality, "encode", values=False)
        codes = None
        if isinstance(rows, np.ndarray):
            codes = self._encoder(modality, rows.dtype).encode_usual(rows, values_are_usual)
        if codes is None:
            _, rows = self._check_rows(X, modality, "encode")
            codes = self._encoder(modality, rows.dtype).encode(rows)
        return codes

    def encode_fused(self, views: Mapping[str, Any], ids: Mapping[str, Any] | None = None) -> FusedCodes:
        """One code per object from all modalities that it has.

        A bit is the sign of the sum of the projections, weighted by how reliable each modality is for this
        bit. An object with one modality gets the code of :meth:`encode`.

        Parameters
        ----------
        views : dict of arrays by modality
            Features of shape (n, n_features), of one or more modalities of the model.
        ids : dict of arrays by modality, optional
            Id of each row. Rows with the same id are one object. An object may lack modalities, and may have
            several rows in one, whose projections are averaged. Without ids, row r of every view is one
            object.

        Returns
        -------
        FusedCodes
            ``codes``, one for each object, and ``ids``, in the order in which they first occur.

        Raises
        ------
        NotFittedError
            If the model was not calibrated, see :meth:`BaseHasher.calibrate`.
        """
        return fuse(self, views, ids, caller=f"{self.method}.encode_fused")

    def featurize(self, raw: Any, modality: str | None = None) -> Any:
        """Features of raw objects, made by the featurizer of their modality.

        Parameters
        ----------
        raw : what the featurizer takes
            A list of str for text; a list of paths, Pillow images or uint8 arrays for pictures.
        modality : str
            May be left out when the model has only one.

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
            May be left out when the model has only one.

        Returns
        -------
        uint8 array of shape (n, ceil(n_bits / 8))
        """
        modality, features = self._featurize(raw, modality, "encode_raw")
        return self.encode(features, modality=modality)

    def with_featurizers(
        self, featurizers: Mapping[str, Featurizer], *, caller: str | None = None
    ) -> HashModel:
        """The same model with these featurizers, which replace all that it had.

        Parameters
        ----------
        featurizers : dict by modality
            The ones that made the features of ``fit``; a modality may be left out.
        caller : str, optional
            Prefix of error messages, by default the ``set_featurizers`` of the estimator.

        Raises
        ------
        FeatureCountError
            If a featurizer gives another number of features than the model was fitted on.
        """
        caller = caller or f"{self.method}.set_featurizers"
        if not isinstance(featurizers, Mapping):
            raise ParameterError(
                f"{caller}: expected a dict of featurizers by modality, got {type(featurizers).__name__}."
            )
        for modality, featurizer in featurizers.items():
            self._check_featurizer(
                known_modality(modality, self.modalities, caller=caller), featurizer, caller
            )
        return replace(self, featurizers=dict(featurizers), absent_featurizers={})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`diffhash.load` and :meth:`load` read.

        The file appears whole or not at all. An old model of that name is replaced, a file of another kind never.
        """
        from .serialization import save_model

        save_model(self, path)

    def to_bytes(self) -> bytes:
        """Content of the file that :meth:`save` writes."""
        from .serialization import model_to_bytes

        return model_to_bytes(self)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
        featurizers: Mapping[str, Any] | None = None,
    ) -> HashModel:
        """Read a model file; :func:`diffhash.load` explains the parameters."""
        from .serialization import load_model

        return load_model(path, kernel=kernel, featurizers=featurizers)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        *,
        name: str = "the model",
        kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
        featurizers: Mapping[str, Any] | None = None,
        opened_by: str = "load",
    ) -> HashModel:
        """Read a model from what :meth:`to_bytes` gave.

        Parameters
        ----------
        data : bytes
        name : str
            Where the bytes come from, for error messages: "load: {name} is damaged".
        kernel, featurizers : as for :func:`diffhash.load`
        opened_by : str
            Function that takes ``featurizers=``, for error messages.
        """
        from .serialization import model_from_bytes

        return model_from_bytes(data, name=name, kernel=kernel, featurizers=featurizers, opened_by=opened_by)

    def __getstate__(self) -> dict[str, Any]:
        # Prepared encoders are made again where they are needed.
        return {name: value for name, value in self.__dict__.items() if name != "_encoders"}

    @cached_property
    def _encoders(self) -> dict[tuple[str, np.dtype[Any]], PreparedEncoder]:
        return {}

    def _encoder(self, modality: str, dtype: np.dtype[Any]) -> PreparedEncoder:
        """The hash function of a modality, prepared for rows of one dtype."""
        found = self._encoders.get((modality, dtype))
        if found is None:
            function = self.maps[modality], self.projections[modality], self.thresholds[modality]
            found = self._encoders[modality, dtype] = PreparedEncoder(*function, dtype)
        return found

    def _check_rows(
        self, X: Any, modality: str | None, function: str, *, values: bool = True
    ) -> tuple[str, Any]:
        caller = f"{self.method}.{function}"
        modality = known_modality(modality, self.modalities, caller=caller)
        return modality, self.check_features(X, modality, caller=caller, values=values)

    def check_features(self, X: Any, modality: str, *, caller: str, values: bool = True) -> Any:
        """Check features of a modality: their number, and of a table the names and order of its columns.

        Without ``values``, the values of dense rows are not looked at.

        Returns
        -------
        float array or CSR array of shape (n, n_features)
        """
        return check_features(
            X,
            self.n_features[modality],
            caller=caller,
            modality=modality,
            names=self.feature_names.get(modality),
            values=values,
        )

    def _featurize(self, raw: Any, modality: str | None, function: str) -> tuple[str, Any]:
        caller = f"{self.method}.{function}"
        modality = known_modality(modality, self.modalities, caller=caller)
        if modality in self.absent_featurizers:
            kind = self.absent_featurizers[modality].kind
            raise InputError(
                f"{caller}: this model was saved with your own featurizer of kind {kind!r} for modality "
                f"{modality!r}. Give it again: {self.opened_by}(path, featurizers={{{modality!r}: ...}})."
            )
        if modality not in self.featurizers:
            raise InputError(
                f"{caller}: the model has no featurizer for modality {modality!r}. "
                f"Pass features instead, or {self._how_to_add_a_featurizer(modality)}."
            )
        if isinstance(raw, str | bytes):
            raise InputError(
                f"{caller}: expected a list of objects, got one {type(raw).__name__}. Write [x]."
            )
        features = self.featurizers[modality].transform(raw)
        checked = check_features(features, self.n_features[modality], caller=caller, modality=modality)
        if hasattr(raw, "__len__") and len(raw) != checked.shape[0]:
            raise InputError(
                f"{caller}: the {self.featurizers[modality].kind!r} featurizer gave {checked.shape[0]} rows for "
                f"{len(raw)} objects. Its transform must give one row for each."
            )
        return modality, checked

    def _how_to_add_a_featurizer(self, modality: str) -> str:
        given = f"{{{modality!r}: ...}}"
        if self.opened_by == "load":
            return (
                f"call set_featurizers({given}) of the hasher or with_featurizers({given}) of the model first"
            )
        return f"give one to {self.opened_by}(path, featurizers={given})"

    def _check_featurizer(self, modality: str, featurizer: Any, caller: str) -> None:
        check_featurizer(featurizer, modality, caller=caller)
        if featurizer.kind in BUILT_IN and not is_built_in(featurizer):
            raise ParameterError(
                f"{caller}: {featurizer.kind!r} is the kind of a featurizer of diffhash; "
                f"give {type(featurizer).__name__} another one."
            )
        given, expected = featurizer.n_features, self.n_features[modality]
        if given != expected:
            raise FeatureCountError(
                f"{caller}: the model was fitted on {expected} features of modality {modality!r}, this "
                f"{featurizer.kind!r} featurizer gives {given}. Set the one that made them, or refit."
            )


def model_of(hasher: Any, *, caller: str) -> HashModel:
    """The model of a fitted hasher, or the model itself."""
    model = hasher if isinstance(hasher, HashModel) else getattr(hasher, "model_", None)
    if isinstance(model, HashModel):
        return model
    if hasattr(hasher, "fit") and hasattr(type(hasher), "encode"):
        raise NotFittedError(f"{caller}: this {type(hasher).__name__} is not fitted yet. Call fit first.")
    raise InputError(
        f"{caller}: hasher must be a fitted hasher or a HashModel of diffhash, got {type(hasher).__name__}."
    )
