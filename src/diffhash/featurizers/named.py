"""Featurizers by name: entry points of installed packages, ``package:Name``, and files of settings."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ..errors import DiffhashError, InputFileError, ParameterError
from ..input_files import open_input
from .base import Featurizer, missing_names
from .registry import is_built_in

__all__ = ["GROUP", "load_featurizer", "make_featurizer", "named_featurizer"]

#: Packages register their featurizers in this group of entry points.
GROUP = "diffhash.featurizers"
#: Ours that need settings, and those that need none.
_OURS = {
    "hog": "diffhash.featurizers.hog_features:HogFeatures",
    "onnx-pictures": "diffhash.featurizers.onnx_pictures:OnnxPictures",
    "onnx-texts": "diffhash.featurizers.onnx_texts:OnnxTexts",
    "picture": "diffhash.featurizers.picture_features:PictureFeatures",
}
#: Parameters that name files. In a file of settings they are relative to its folder.
_FILES = ("model", "tokenizer")
#: A file of settings is a few lines.
_LONGEST = 1 << 20


def load_featurizer(name: str | os.PathLike[str]) -> Featurizer:
    """Make a featurizer from its name.

    Nothing is downloaded. A model file never names code: only the caller does.

    Parameters
    ----------
    name : str
        One of

        - ``package.module:Name``: a class that needs no arguments. Modules in the current folder are found too.
        - The name of an entry point of an installed package, in the group ``diffhash.featurizers``; or one of
          diffhash: ``picture`` and ``hog``.
        - A file of settings (.json): ``{"featurizer": NAME, ...}``, where NAME is as above, ``onnx-pictures`` or
          ``onnx-texts``, and the rest are arguments of the class. Paths are relative to the folder of the file.

    Raises
    ------
    ParameterError
        If there is no such class, it is not a featurizer, or it cannot be made.

    Examples
    --------
    >>> load_featurizer("diffhash.featurizers:PictureFeatures").n_features
    2212
    """
    found, settings = named_featurizer(name)
    if not isinstance(found, type):
        return found
    return make_featurizer(found, settings or {})


def named_featurizer(
    name: str | os.PathLike[str],
) -> tuple[type[Featurizer] | Featurizer, dict[str, Any] | None]:
    """The class (or object) of a name, and its settings; None if there is no file of settings."""
    text = os.fspath(name)
    if Path(text).suffix.lower() == ".json":
        settings = _read_settings(Path(text))
        return _find(settings.pop("featurizer"), text), settings
    return _find(text, text), None


def _find(name: Any, given: str) -> type[Featurizer] | Featurizer:
    if not isinstance(name, str) or not name:
        raise ParameterError(f"featurizer {given}: the name of a featurizer must be text, got {name!r:.60}.")
    found = _import(_OURS.get(name, name)) if ":" in name or name in _OURS else _entry_point(name)
    missing = missing_names(found)
    if missing:
        raise ParameterError(
            f"featurizer {name!r}: {type(found).__name__ if not isinstance(found, type) else found.__name__} is not a "
            f"featurizer, it has no {', '.join(missing)}. See diffhash.featurizers.Featurizer."
        )
    checked: type[Featurizer] | Featurizer = found
    return checked


def _entry_point(name: str) -> Any:
    registered = {point.name: point for point in entry_points(group=GROUP)}
    if name not in registered:
        known = ", ".join(sorted({*registered, *_OURS}))
        raise ParameterError(
            f"featurizer {name!r}: no installed package has one of this name. Known are {known}. "
            "Or write package.module:Name, or the name of a file of settings (.json)."
        )
    try:
        return registered[name].load()
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"featurizer {name!r} cannot be imported: {error}.") from error


def _import(name: str) -> Any:
    """The object ``Name`` of ``package.module:Name``. The current folder counts after all others."""
    module, _, path = name.partition(":")
    folder = os.getcwd()  # noqa: PTH109 - sys.path has strings
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"featurizer {name!r} cannot be imported: {error}. Write package.module:Name of something that is "
            "installed, or that is in the current folder."
        ) from error
    finally:
        if added:
            sys.path.remove(folder)
    return found


def make_featurizer(found: type[Featurizer], settings: dict[str, Any]) -> Featurizer:
    """An object of a class, with the arguments of a file of settings."""
    try:
        made = found(**settings)
        if is_built_in(made):
            # Ours store their parameters untouched; from_state checks them.
            found.from_state(*made.state())
        return made
    except ParameterError:
        raise
    except (DiffhashError, TypeError, ValueError, ArithmeticError) as error:
        raise ParameterError(
            f"featurizer: {found.__name__} cannot be made with {', '.join(settings) or 'no arguments'} "
            f'({error}). Give arguments in a file of settings: {{"featurizer": ..., "name": value}}.'
        ) from error


def _read_settings(path: Path) -> dict[str, Any]:
    with open_input(path, InputFileError) as file:
        data = file.read(_LONGEST)
    try:
        settings = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputFileError(f"{path} is not JSON ({error}).") from error
    if not isinstance(settings, dict) or "featurizer" not in settings:
        raise InputFileError(
            f'{path}: settings of a featurizer look like {{"featurizer": "onnx-texts", "model": "minilm.onnx"}}.'
        )
    for name in _FILES:
        if isinstance(settings.get(name), str):
            settings[name] = path.parent / settings[name]
    return settings
