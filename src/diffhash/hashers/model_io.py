"""A fitted hasher as a header and arrays, and back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from ..maps import map_from_state
from ..storage.model_file import read_model, write_model
from .base import BaseHasher, Learned
from .boosted import BoostedHash
from .diff import DiffHash
from .kernel_diff import KernelDiffHash
from .refined import RefinedHash

__all__ = ["load", "save_hasher"]

#: The only classes that a file can name.
_CLASSES: dict[str, type[BaseHasher]] = {
    c.__name__: c for c in (DiffHash, KernelDiffHash, BoostedHash, RefinedHash)
}


def save_hasher(hasher: BaseHasher, path: str | os.PathLike[str]) -> None:
    """Write a fitted hasher to a model file."""
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
    }
    write_model(path, header, arrays)


def load(
    path: str | os.PathLike[str],
    *,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
) -> BaseHasher:
    """Read a hasher that :meth:`save` wrote.

    Parameters
    ----------
    path : path of the file
    kernel : function, or dict of functions by modality, optional
        The kernel of a model that was fitted with one of your own.

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
    header, arrays = read_model(path)
    try:
        return _from_file(header, arrays, kernel)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelFileError(
            f"load: {path} has an incomplete header ({error!r}). Save the model again."
        ) from error


def _from_file(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kernel: Any) -> BaseHasher:
    name = header["class"]
    if name not in _CLASSES:
        raise ModelFileError(
            f"load: unknown method {name!r}. Known: {', '.join(_CLASSES)}. Upgrade diffhash?"
        )
    modalities = tuple(header["modalities"])
    parameters = {key: _from_json(value, arrays) for key, value in header["parameters"].items()}
    if kernel is not None:
        parameters["kernel"] = kernel
    hasher = _CLASSES[name](**parameters)
    maps, projections, thresholds = {}, {}, {}
    for number, (modality, described) in enumerate(zip(modalities, header["maps"], strict=True)):
        prefix = f"map/{number}/"
        state = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
        own = kernel.get(modality) if isinstance(kernel, Mapping) else kernel
        maps[modality] = map_from_state(described["kind"], {**described["parameters"], "kernel": own}, state)
        projections[modality] = arrays[f"projection/{number}"]
        thresholds[modality] = arrays[f"threshold/{number}"]
        if projections[modality].shape != (len(thresholds[modality]), maps[modality].n_features_out):
            raise ModelFileError(f"load: the arrays of modality {modality!r} do not fit together.")
    hasher.modalities_ = modalities
    hasher.n_features_in_ = dict(zip(modalities, header["n_features"], strict=True))
    extra = {key: arrays[f"extra/{key}"] for key in hasher.extra_attributes}
    hasher._set_learned(Learned(maps, projections, thresholds, extra))
    return hasher


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
        return {"function": getattr(value, "__qualname__", "kernel")}
    arrays[name] = np.asarray(value)
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
    return tuple(content) if kind == "tuple" else "gaussian"
