"""A ``HashModel`` as a header and arrays, and back."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import DiffhashError, ModelFileError, ParameterError
from ..maps import KernelMap, map_from_state
from ..validation import as_array
from .featurizer_state import read_featurizers, write_featurizers
from .file import pack_model, read_model, unpack_model, write_model
from .hash_model import FUSION_SLOPES, HashModel

__all__ = ["load_model", "model_from_bytes", "model_to_bytes", "save_model"]

#: Parameters that methods got after format version 1 and their defaults. A file leaves out a default, so
#: that releases without the parameter can read it.
_LATER_PARAMETERS: dict[str, dict[str, Any]] = {
    "DiffHash": {"random_state": 0, "couple_weights": None},
    "KernelDiffHash": {"couple_weights": None, "width": None},
    "BoostedHash": {"couple_weights": None},
    "RefinedHash": {"couple_weights": None},
}
#: The only methods that a file can name.
METHODS = ("DiffHash", "KernelDiffHash", "BoostedHash", "RefinedHash")


def save_model(model: HashModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file; see :meth:`HashModel.save`."""
    write_model(path, *_to_file(model))


def model_to_bytes(model: HashModel) -> bytes:
    """Content of the file that :func:`save_model` writes."""
    return pack_model(*_to_file(model))


def _to_file(model: HashModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model."""
    arrays: dict[str, NDArray[Any]] = {}
    maps: list[dict[str, Any]] = []
    for number, modality in enumerate(model.modalities):
        parameters, state = model.maps[modality].state()
        maps.append({"kind": model.maps[modality].kind, "parameters": parameters})
        arrays |= {f"map/{number}/{name}": array for name, array in state.items()}
        arrays[f"projection/{number}"] = model.projections[modality]
        arrays[f"threshold/{number}"] = model.thresholds[modality]
    for name, array in model.extra.items():
        arrays[f"extra/{name}"] = array
    header = {
        "format_version": _format_version(model),
        "class": model.method,
        "parameters": {
            name: _to_json(value, f"parameter/{name}", arrays)
            for name, value in model.parameters.items()
            if not _is_later_default(model.method, name, value)
        },
        "modalities": list(model.modalities),
        "n_features": [model.n_features[m] for m in model.modalities],
        "maps": maps,
        **write_featurizers(model, arrays),
        # Releases that do not know these read past them.
        **({"encodes_as": dict(model.encodes_as)} if model.encodes_as else {}),
        **({"learned_with": dict(model.learned_with)} if model.learned_with else {}),
        **(
            {"feature_names": {m: list(names) for m, names in model.feature_names.items()}}
            if model.feature_names
            else {}
        ),
    }
    return header, arrays


def _format_version(model: HashModel) -> int:
    """The oldest format version that can hold a model."""
    if any(isinstance(fitted, KernelMap) and fitted.distance is not None for fitted in model.maps.values()):
        return 3
    return 1 if len(model.modalities) <= 2 and model.parameters.get("couple_weights") is None else 2


def _is_later_default(method: str, name: str, value: Any) -> bool:
    later = _LATER_PARAMETERS.get(method, {})
    return name in later and type(value) is type(later[name]) and bool(value == later[name])


def load_model(
    path: str | os.PathLike[str],
    *,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    featurizers: Mapping[str, Any] | None = None,
) -> HashModel:
    """Read a model file without making an estimator; :func:`diffhash.load` explains the parameters.

    Examples
    --------
    >>> import diffhash as dh, tempfile, pathlib
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.dhm"
    >>> hasher.save(path)
    >>> load_model(path)
    <HashModel of DiffHash: 4 bits, x (128 features), y (64 features)>
    """
    return _checked(str(path), *read_model(path), kernel, featurizers)


def model_from_bytes(
    data: bytes,
    *,
    name: str,
    kernel: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    featurizers: Mapping[str, Any] | None = None,
    opened_by: str = "load",
) -> HashModel:
    """Read a model from what :func:`model_to_bytes` gave; see :meth:`HashModel.from_bytes`."""
    model = _checked(name, *unpack_model(data, name=name), kernel, featurizers)
    return replace(model, opened_by=opened_by)


def _checked(
    name: str, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kernel: Any, featurizers: Any
) -> HashModel:
    try:
        model = _from_file(header, arrays, kernel)
        return read_featurizers(model, header, arrays, featurizers)
    except DiffhashError:
        raise
    except Exception as error:  # a file with a right checksum can still contradict itself in any way
        raise ModelFileError(
            f"load: the content of {name} is inconsistent ({error!r:.200}). Save the model again."
        ) from error


def _from_file(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]], kernel: Any) -> HashModel:
    method = header["class"]
    if method not in METHODS:
        raise ModelFileError(
            f"load: unknown method {method!r}. Known: {', '.join(METHODS)}. Upgrade diffhash?"
        )
    modalities = tuple(header["modalities"])
    own = _own_functions(modalities, header["maps"], kernel)
    parameters = {key: _from_json(value, arrays) for key, value in header["parameters"].items()}
    if own:
        parameters |= {
            name: _with_functions(parameters.get(name), own, modalities) for name in ("kernel", "metric")
        }
    maps, projections, thresholds = {}, {}, {}
    for number, (modality, described) in enumerate(zip(modalities, header["maps"], strict=True)):
        state = _arrays_under(f"map/{number}/", arrays)
        parameters_of_map = {**described["parameters"], "kernel": own.get(modality)}
        maps[modality] = map_from_state(described["kind"], parameters_of_map, state)
        projections[modality] = arrays[f"projection/{number}"]
        thresholds[modality] = arrays[f"threshold/{number}"]
    model = HashModel(
        method=method,
        parameters=parameters,
        n_bits=parameters["n_bits"],
        modalities=modalities,
        n_features=dict(zip(modalities, header["n_features"], strict=True)),
        maps=maps,
        projections=projections,
        thresholds=thresholds,
        extra=_arrays_under("extra/", arrays),
        encodes_as=dict(header.get("encodes_as", {})),
        learned_with=_plain_json(header.get("learned_with", {})),
        feature_names={m: tuple(names) for m, names in header.get("feature_names", {}).items()},
    )
    _check_consistent(model)
    return model


def _plain_json(value: dict[str, Any]) -> dict[str, Any]:
    """The value, if it can be saved again: Python reads NaN in JSON, and does not write it."""
    json.dumps(value, allow_nan=False)
    return dict(value)


def _arrays_under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}


def _own_functions(modalities: tuple[str, ...], maps: list[Any], kernel: Any) -> dict[str, Any]:
    """The user's kernel or distance function for each modality that was fitted with one."""
    wanting = [m for m, d in zip(modalities, maps, strict=True) if d["parameters"].get("own_kernel")]
    if kernel is not None and not wanting:
        raise ParameterError(
            "load: this model was fitted without a kernel function of your own. Leave kernel out."
        )
    given = kernel if isinstance(kernel, Mapping) else dict.fromkeys(wanting, kernel)
    return {m: given[m] for m in wanting if given.get(m) is not None}


def _with_functions(value: Any, own: Mapping[str, Any], modalities: tuple[str, ...]) -> Any:
    """A parameter, with the user's functions where the file has only their names."""
    by_name = value if isinstance(value, Mapping) else dict.fromkeys(modalities, value)
    if all(by_name.get(m) is not None for m in modalities):
        return value
    return {m: own.get(m) if by_name.get(m) is None else by_name[m] for m in modalities}


def _check_consistent(model: HashModel) -> None:
    """Refuse a file whose parts contradict each other, even if its checksum matches."""
    n_bits, modalities = model.n_bits, model.modalities
    ok = len(modalities) >= 1 and len(set(modalities)) == len(modalities)
    ok = ok and type(n_bits) is int and n_bits >= 1
    for m in modalities:
        P, threshold, fitted = model.projections[m], model.thresholds[m], model.maps[m]
        ok = ok and isinstance(m, str) and bool(m.encode()) and type(model.n_features[m]) is int
        ok = ok and model.n_features[m] == fitted.n_features_in >= 1
        ok = ok and P.shape == (n_bits, fitted.n_features_out) and threshold.shape == (n_bits,)
        for array in (P, threshold, *fitted.state()[1].values()):
            ok = ok and array.dtype.kind == "f" and bool(np.isfinite(array).all())
    slopes = model.extra.get(FUSION_SLOPES)
    if slopes is not None:
        ok = ok and slopes.shape == (len(modalities), n_bits) and slopes.dtype.kind == "f"
        ok = ok and bool((np.isfinite(slopes) & (slopes > 0)).all())
    # Contradictions in the counts raise ValueError.
    _ = model.calibration
    ok = ok and all(m in modalities and n in modalities and m != n for m, n in model.encodes_as.items())
    for m, names in model.feature_names.items():
        ok = ok and m in modalities and len(names) == model.n_features[m]
        ok = ok and all(isinstance(name, str) for name in names)
    if not ok:
        raise ModelFileError("load: the arrays of this file contradict its header. Save the model again.")


def _to_json(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A parameter as plain JSON. An array is kept among ``arrays``; of a function only the name is kept."""
    if isinstance(value, Mapping) and any(isinstance(key, tuple) for key in value):
        couples = [
            [[key] if isinstance(key, str) else list(key), _to_json(item, name, arrays)]
            for key, item in value.items()
        ]
        return {"couples": couples}
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
    array = as_array(value.toarray() if scipy.sparse.issparse(value) else value, f"save: {name}")
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
    if kind == "couples":
        if not all(
            isinstance(names, list) and all(isinstance(m, str) for m in names) for names, _ in content
        ):
            raise ModelFileError(
                "load: a couple of modalities in this file has no names. Save the model again."
            )
        return {tuple(names): _from_json(item, arrays) for names, item in content}
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(content)
    if kind == "function":
        return None  # a file cannot hold a function: load takes kernels as an argument, callbacks are dropped
    raise ModelFileError(f"load: unknown kind of parameter {kind!r}. Upgrade diffhash?")
