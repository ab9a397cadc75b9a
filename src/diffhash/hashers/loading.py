"""From a model back to the estimator that learned it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ModelFileError
from ..model import HashModel, load_model
from .base import BaseHasher
from .boosted import BoostedHash
from .diff import DiffHash
from .kernel_diff import KernelDiffHash
from .refined import RefinedHash

__all__ = ["hasher_from_model", "load"]

_CLASSES: dict[str, type[BaseHasher]] = {
    c.__name__: c for c in (DiffHash, KernelDiffHash, BoostedHash, RefinedHash)
}


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
        Your own kernel or distance function, if the model was fitted with one.
    featurizers : dict by modality, optional
        Your own featurizers, as objects, or as classes with a ``from_state`` that makes them from
        the state in the file. The featurizers of diffhash are read from the file. Without your
        own the model still encodes features.

    Returns
    -------
    a fitted hasher of the class that was saved

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged or changed, or is newer than this diffhash. Nothing
        from the file is ever run.

    See Also
    --------
    diffhash.model.HashModel.load : the same without the estimator, and without scikit-learn

    Examples
    --------
    >>> import diffhash as dh, tempfile, pathlib
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.dhm"
    >>> hasher.save(path)
    >>> dh.load(path)
    DiffHash(n_bits=4)
    """
    return hasher_from_model(load_model(path, kernel=kernel, featurizers=featurizers), name=str(path))


def hasher_from_model(model: HashModel, *, name: str = "the model") -> BaseHasher:
    """The estimator that learned a model, fitted.

    Parameters
    ----------
    model : HashModel
    name : str
        Where the model comes from, for error messages.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
    >>> hasher_from_model(hasher.model_)
    DiffHash(n_bits=4)
    """
    try:
        made = _CLASSES[model.method]
        missing = [key for key in made.extra_attributes if key not in model.extra]
        if missing:
            raise KeyError(*missing)
        hasher = made(**model.parameters)
    except (KeyError, TypeError) as error:
        raise ModelFileError(
            f"load: the content of {name} is inconsistent ({error!r}). Save the model again."
        ) from error
    hasher.model_ = model
    return hasher
