"""Feature maps as a hasher's parameters ask for them, one per modality."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from ..errors import ParameterError
from ..maps import FeatureMap, KernelMap, LinearMap
from ..maps.landmarks import choose_landmarks
from ..validation import by_modality, check_choice, check_count, check_flag, check_number, check_seed
from .base import TrainingData

__all__ = ["kernel_maps", "linear_maps"]


def linear_maps(hasher: Any, data: TrainingData) -> dict[str, FeatureMap]:
    """Maps by the parameters ``center``, ``standardize``, ``whiten`` and ``shrinkage``."""
    caller = f"{type(hasher).__name__}.fit"
    settings: dict[str, dict[str, Any]] = {m: {} for m in data.modalities}
    for name in ("center", "standardize", "whiten"):
        for modality, value in by_modality(
            getattr(hasher, name), data.modalities, name, caller=caller
        ).items():
            if name == "standardize" and isinstance(value, str) and value == "auto":
                value = not scipy.sparse.issparse(data.views[modality])
            settings[modality][name] = check_flag(value, name, caller=caller)
    for modality, value in by_modality(hasher.shrinkage, data.modalities, "shrinkage", caller=caller).items():
        settings[modality]["shrinkage"] = check_number(value, "shrinkage", caller=caller, high=1.0)
    return {
        m: LinearMap.fit(data.views[m], who=f"{caller}: modality {m!r}", **settings[m])
        for m in data.modalities
    }


def kernel_maps(hasher: Any, data: TrainingData) -> dict[str, FeatureMap]:
    """Maps by the parameters about landmarks and kernels, see :class:`~diffhash.KernelDiffHash`."""
    caller = f"{type(hasher).__name__}.fit"
    names = ("n_landmarks", "landmarks", "metric", "bandwidth", "shrinkage", "kernel", "center", "whiten")
    by_name = {n: by_modality(getattr(hasher, n), data.modalities, n, caller=caller) for n in names}
    # Everything is checked before anything is computed.
    check_seed(hasher.random_state, caller=caller)
    for m in data.modalities:
        check_count(by_name["n_landmarks"][m], "n_landmarks", caller=caller)
        if isinstance(by_name["landmarks"][m], str):
            check_choice(by_name["landmarks"][m], "landmarks", ("random", "kmeans"), caller=caller)
        check_choice(
            by_name["metric"][m],
            "metric",
            ("euclidean", "diagonal", "mahalanobis", "hellinger"),
            caller=caller,
        )
        if isinstance(by_name["bandwidth"][m], str):
            check_choice(by_name["bandwidth"][m], "bandwidth", ("auto", "balanced", "median"), caller=caller)
        else:
            check_number(by_name["bandwidth"][m], "bandwidth", caller=caller, open_low=True, high=1e300)
        check_number(by_name["shrinkage"][m], "shrinkage", caller=caller, high=1.0)
        for name in ("center", "whiten"):
            check_flag(by_name[name][m], name, caller=caller)
        kernel = by_name["kernel"][m]
        if not callable(kernel) and not (isinstance(kernel, str) and kernel == "gaussian"):
            raise ParameterError(
                f'{caller}: kernel must be "gaussian" or a function kernel(X, landmarks), got {kernel!r}.'
            )
    maps: dict[str, FeatureMap] = {}
    for m in data.modalities:
        X = data.views[m]
        landmarks = choose_landmarks(
            X,
            by_name["n_landmarks"][m],
            by_name["landmarks"][m],
            hasher.random_state,
            caller=caller,
            modality=m,
        )
        kernel = by_name["kernel"][m]
        maps[m] = KernelMap.fit(
            X,
            landmarks,
            metric=by_name["metric"][m],
            bandwidth=_bandwidth(by_name["bandwidth"][m], whiten=by_name["whiten"][m]),
            shrinkage=by_name["shrinkage"][m],
            center=by_name["center"][m],
            kernel=kernel if callable(kernel) else None,
            who=f"{caller}: modality {m!r}",
        )
    return maps


def _bandwidth(value: float | str, *, whiten: bool) -> float | str:
    """What "auto" means.

    Whitening gives the small variations of the kernel features the weight of the large ones. In a narrow kernel
    they are what each object has to itself.
    """
    if isinstance(value, str) and value == "auto":
        return "median" if whiten else "balanced"
    return value
