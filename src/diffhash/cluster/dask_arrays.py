"""Dask arrays in ``fit`` and ``encode`` of hashers; found by their type, see :mod:`diffhash.array_modules`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import FeatureCountError, InputError, UnknownModalityError
from ..learning.batches import CoupleForm
from ..model import HashModel
from ..pairs import Pairs
from ..pairs.couples import NamedCouples, ResolvedCouples, name_couples, resolve_all, resolve_couples
from ..validation import known_modality
from .blocks import ArrayBlocks, Blocks
from .dask_import import require_dask
from .dask_source import DaskSource, PassProgress

__all__ = ["encode_array", "project_array", "source_of_blocks", "source_of_views"]


def source_of_views(
    views: Mapping[str, Any], pairs: Any, couple_weights: Any, *, need_negatives: bool, caller: str
) -> DaskSource:
    """The source of views of which at least one is a Dask array.

    Parameters
    ----------
    views : dict of arrays by modality
    pairs : Pairs, or {(modality, modality): Pairs}
    couple_weights : dict or None
    need_negatives : bool
        Whether every couple needs a negative pair.
    caller : str
    """
    require_dask(caller)
    for name in views:
        if not isinstance(name, str) or not name:
            raise UnknownModalityError(f"{caller}: names of modalities must be strings, got {name!r}.")
    blocks = {name: ArrayBlocks(_checked_array(X, caller, name)) for name, X in views.items()}
    return source_of_blocks(blocks, pairs, couple_weights, need_negatives=need_negatives, caller=caller)


def source_of_blocks(
    views: Mapping[str, Blocks],
    pairs: Any,
    couple_weights: Any,
    *,
    need_negatives: bool,
    caller: str,
    progress: PassProgress | None = None,
) -> DaskSource:
    """The source of views in blocks, see :func:`source_of_views`."""
    named = name_couples(pairs, list(views), caller=caller)
    chosen = [views[m] for m in named.modalities]
    n_rows = {m: view.shape[0] for m, view in zip(named.modalities, chosen, strict=True)}
    couples: ResolvedCouples | tuple[CoupleForm, ...]
    if _aligned(named, n_rows):
        # Aligned rows are not listed here: the task of each batch lists its own.
        few = NamedCouples(named.modalities, dict.fromkeys(named.pairs, Pairs.aligned(2)), None)
        couples = CoupleForm.all_of(resolve_all(few, dict.fromkeys(n_rows, 2), couple_weights, caller=caller))
    else:
        couples = resolve_couples(named, n_rows, couple_weights, caller=caller, need_negatives=need_negatives)
    return DaskSource(named.modalities, chosen, couples, caller=caller, progress=progress)


def _aligned(named: NamedCouples, n_rows: Mapping[str, int]) -> bool:
    """Whether all couples are aligned rows of different views, and there are enough of them."""
    sizes = set(n_rows.values())
    aligned = all(
        pairs.n_aligned is not None and {pairs.n_aligned} == sizes and first != second
        for (first, second), pairs in named.pairs.items()
    )
    return aligned and min(sizes) > 1


def _checked_array(X: Any, caller: str, modality: str) -> Any:
    import dask.array as da

    who = f"{caller}: modality {modality!r}"
    if isinstance(X, np.ndarray):
        X = da.from_array(X)
    if not isinstance(X, da.Array):
        raise InputError(
            f"{who}: expected a Dask array like the other views, got {type(X).__module__}.{type(X).__name__}. Use "
            "dask.array.from_array(X), or frame.to_dask_array(lengths=True)."
        )
    if X.ndim != 2:
        raise InputError(f"{who} must have two dimensions, (objects, features), got shape {X.shape}.")
    if any(np.isnan(size) for size in (*X.shape, *X.chunks[0])):
        raise InputError(
            f"{who}: the numbers of rows of its chunks are not known. Call X.compute_chunk_sizes() first, or make it "
            "with frame.to_dask_array(lengths=True)."
        )
    if X.dtype.kind not in "fiub":
        raise InputError(f"{who} must hold real numbers, got dtype {X.dtype}.")
    if 0 in X.shape:
        raise InputError(f"{who} is empty: shape {X.shape}.")
    return X


def encode_array(model: HashModel, X: Any, modality: str | None) -> Any:
    """Codes of the rows of a Dask array, as a Dask array of uint8; nothing is computed yet."""
    return _mapped(model, X, modality, "encode", np.dtype(np.uint8), -(-model.n_bits // 8))


def project_array(model: HashModel, X: Any, modality: str | None) -> Any:
    """Projections of the rows of a Dask array, as a Dask array; nothing is computed yet."""
    return _mapped(model, X, modality, "project", np.dtype(np.float64), model.n_bits)


def _mapped(
    model: HashModel, X: Any, modality: str | None, function: str, dtype: np.dtype[Any], width: int
) -> Any:
    caller = f"{model.method}.{function}"
    require_dask(caller)
    import dask.array as da
    from dask import delayed

    modality = known_modality(modality, model.modalities, caller=caller)
    if not isinstance(X, da.Array):
        raise InputError(
            f"{caller}: expected an array or a Dask array, got {type(X).__module__}.{type(X).__name__}. Use "
            "frame.to_dask_array()."
        )
    if X.ndim != 2 or X.shape[1] != model.n_features[modality]:
        raise FeatureCountError(
            f"{caller}: modality {modality!r} has {model.n_features[modality]} features, got an array of shape "
            f"{X.shape}. Use the features the model was fitted on, or refit."
        )
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    # The model is one key of the graph: every worker gets it once.
    shared = delayed(model, traverse=False)
    return da.map_blocks(
        _apply,
        X,
        dtype=dtype,
        chunks=(X.chunks[0], (width,)),
        meta=np.empty((0, 0), dtype),
        model=shared,
        function=function,
        modality=modality,
    )


def _apply(X: Any, *, model: HashModel, function: str, modality: str) -> Any:
    """Task: codes or projections of a block."""
    method: Callable[..., Any] = getattr(model, function)
    return method(X, modality)
