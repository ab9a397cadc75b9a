"""A fitted hasher as a header and arrays, and back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import DiffhashError, ModelFileError, ParameterError
from ..maps import map_from_state
from ..model.file import model_from_bytes, model_to_bytes, read_model, write_model
from .base import BaseHasher, Learned
from .boosted import BoostedHash
from .diff import DiffHash
from .featurizer_io import read_featurizers, write_featurizers
from .kernel_diff import KernelDiffHash
from .refined import RefinedHash

__all__ = ["hasher_from_bytes", "hasher_to_bytes", "load", "save_hasher"]

#: The only classes that a file can name.
_CLASSES: dict[str, type[BaseHasher]] = {
    c.__name__: c for c in (DiffHash, KernelDiffHash, BoostedHash, RefinedHash)
}


def save_hasher(hasher: BaseHasher, path: str | os.PathLike[str]) -> None:
    """Write a fitted hasher to a model file."""
    write_model(path, *_to_file(hasher))


def hasher_to_bytes(hasher: BaseHasher) -> bytes:
    """Content of the file that ``hasher.save`` writes.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> hasher_from_bytes(hasher_to_bytes(hasher), name="an example")
    DiffHash(n_bits=4)
    """
    hasher._check_fitted(f"{type(hasher).__name__}.save")
    return model_to_bytes(*_to_file(hasher))


def _to_file(hasher: BaseHasher) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a fitted hasher."""
    arrays: dict[str, NDArray[Any]] = {}
    maps: dict[str, dict[str, Any]] = {}
    for number, modality in enumerate(hasher.modalities_):
        parameters, state = hasher.maps_[modality].state()
        maps[modality] = {"kind": hasher.maps_[modality].kind, "parameters": parameters}
        arrays |= {f"map/{number}/{name}": array for name, array in state.items()}
        arrays[f"projection/{number}"] = hasher.projections_[modality]
        arrays[f"threshold/{number}"] = hasher.thresholds_[modality]
    for name in hasher.extra_attributes:
        arrays[f"extra/{name}"] = getattr(hasher, f"{name}_")
    parameters = hasher.get_params(deep=False)
    header = {
        "class": type(hasher).__name__,
        "parameters": {
            name: _to_json(value, f"parameter/{name}", arrays) for name, value in parameters.items()
        },
        "modalities": list(hasher.modalities_),
        "n_features": [hasher.n_features_in_[m] for m in hasher.modalities_],
        "maps": [maps[m] for m in hasher.modalities_],
        **write_featurizers(hasher, arrays),
    }
    return header, arrays


def load(
    path: str | os.PathLike[str],
    *,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    featurizers: Mapping[str, Any] | None = None,
) -> BaseHasher:
    """Read a hasher that :meth:`save` wrote.

    Parameters
    ----------
    path : path of the file
    kernel : function, or dict of functions by modality, optional
        The kernel of a model that was fitted with one of your own.
    featurizers : dict by modality, optional
        Featurizers of your own, as objects, or as classes whose ``from_state`` is then called with
        what the file holds. Those of diffhash come from the file by themselves, and without yours the model
        still encodes features.

    Returns
    -------
    a fitted hasher of the class that was saved

    Raises
    ------
    ModelFileError
        If the file is none of ours, damaged, changed, or newer than this diffhash. Nothing from
        the file is ever run.

    Examples
    --------
    >>> import diffhash as dh, tempfile, pathlib
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.dh"
    >>> hasher.save(path)
    >>> dh.load(path)
    DiffHash(n_bits=4)
    """
    return _checked(str(path), *read_model(path), kernel, featurizers)


def hasher_from_bytes(
    data: bytes,
    *,
    name: str,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    featurizers: Mapping[str, Any] | None = None,
) -> BaseHasher:
    """Read a hasher from what :func:`hasher_to_bytes` gave.

    Parameters
    ----------
    data : bytes
    name : str
        Where they come from, for error messages: "load: {name} is damaged".
    kernel, featurizers : as for :func:`load`
    """
    return _checked(name, *model_from_bytes(data, name=name), kernel, featurizers)


def _checked(
    name: str, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kernel: Any, featurizers: Any
) -> BaseHasher:
    try:
        hasher = _from_file(header, arrays, kernel)
        read_featurizers(hasher, header, arrays, featurizers)
        return hasher
    except DiffhashError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ModelFileError(
            f"load: {name} does not hold together ({error!r}). Save the model again."
        ) from error


def _from_file(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kernel: Any) -> BaseHasher:
    name = header["class"]
    if name not in _CLASSES:
        raise ModelFileError(
            f"load: unknown method {name!r}. Known: {', '.join(_CLASSES)}. Upgrade diffhash?"
        )
    modalities = tuple(header["modalities"])
    own = _own_kernels(modalities, header["maps"], kernel)
    parameters = {key: _from_json(value, arrays) for key, value in header["parameters"].items()}
    if own:
        parameters["kernel"] = {m: own.get(m, "gaussian") for m in modalities}
    hasher = _CLASSES[name](**parameters)
    maps, projections, thresholds = {}, {}, {}
    for number, (modality, described) in enumerate(zip(modalities, header["maps"], strict=True)):
        prefix = f"map/{number}/"
        state = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        described = {**described["parameters"], "kernel": own.get(modality)} | {"kind": described["kind"]}
        maps[modality] = map_from_state(described["kind"], described, state)
        projections[modality] = arrays[f"projection/{number}"]
        thresholds[modality] = arrays[f"threshold/{number}"]
    learned = Learned(
        maps, projections, thresholds, {key: arrays[f"extra/{key}"] for key in hasher.extra_attributes}
    )
    n_features = dict(zip(modalities, header["n_features"], strict=True))
    _check_fit_together(modalities, n_features, learned, parameters["n_bits"])
    hasher.modalities_ = modalities
    hasher.n_features_in_ = n_features
    hasher._set_learned(learned)
    return hasher


def _own_kernels(modalities: tuple[str, ...], maps: list[Any], kernel: Any) -> dict[str, Any]:
    """The user's kernel of each modality that was fitted with one, and of no other."""
    wanting = [m for m, d in zip(modalities, maps, strict=True) if d["parameters"].get("own_kernel")]
    if kernel is not None and not wanting:
        raise ParameterError(
            "load: this model was fitted without a kernel function of your own. Leave kernel out."
        )
    given = kernel if isinstance(kernel, Mapping) else dict.fromkeys(wanting, kernel)
    return {m: given[m] for m in wanting if given.get(m) is not None}


def _check_fit_together(
    modalities: tuple[str, ...], n_features: Mapping[str, Any], learned: Learned, n_bits: Any
) -> None:
    """Refuse a file whose parts contradict each other, however well its checksum matches."""
    ok = 1 <= len(modalities) <= 2 and len(set(modalities)) == len(modalities) and type(n_bits) is int
    for m in modalities:
        P, threshold, fitted = learned.projections[m], learned.thresholds[m], learned.maps[m]
        ok = ok and isinstance(m, str) and bool(m) and n_features[m] == fitted.n_features_in
        ok = ok and P.shape == (n_bits, fitted.n_features_out) and threshold.shape == (n_bits,)
        for array in (P, threshold, *fitted.state()[1].values()):
            ok = ok and array.dtype.kind == "f" and bool(np.isfinite(array).all())
    if not ok:
        raise ModelFileError(
            "load: the arrays and the header of this file do not fit together. Save the model again."
        )


def _to_json(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A parameter as plain JSON; arrays go beside it, a function leaves only its place."""
    if isinstance(value, Mapping):
        return {"dict": {key: _to_json(item, f"{name}/{key}", arrays) for key, item in value.items()}}
    if isinstance(value, tuple | list) and all(isinstance(item, int | float | str) for item in value):
        return {"tuple": list(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return {"function": getattr(value, "__qualname__", "function")}
    array = np.asarray(value.toarray() if scipy.sparse.issparse(value) else value)
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"save: {name} cannot be kept in a file, got {type(value).__name__}.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    arrays[name] = array.astype(array.dtype.newbyteorder("="))
    return {"array": name}


def _from_json(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {key: _from_json(item, arrays) for key, item in content.items()}
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(content)
    if kind == "function":
        return None  # no file can hold one: load passes a kernel on, and a callback is gone
    raise ModelFileError(f"load: unknown kind of parameter {kind!r}. Upgrade diffhash?")
