"""A model with one more modality: checks of the input of ``extend``, and the new model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PairsError, ParameterError, UnknownModalityError
from ..frames import names_by_modality
from ..model import HashModel
from ..model.hash_model import FUSION_SLOPES
from ..pairs.couples import NamedCouples, ResolvedCouples, name_couples, resolve_couples
from ..threads import one_blas_thread
from ..validation import check_learnable, check_view, known_modality
from .extension import learn_modality

__all__ = ["extended_model"]


def extended_model(
    model: HashModel,
    views: Any,
    pairs: Any,
    *,
    modality: Any,
    encodes_as: Any,
    random_state: int | None,
    caller: str,
) -> HashModel:
    """The model with a hash function for one more modality; the others do not change.

    Parameters
    ----------
    model : HashModel
    views, pairs, modality, encodes_as
        See :meth:`BaseHasher.extend`.
    random_state : int or None
    caller : str
    """
    if not isinstance(modality, str) or not modality:
        raise ParameterError(f"{caller}: modality must be the name of the new modality, got {modality!r}.")
    if modality in model.modalities:
        raise ParameterError(
            f"{caller}: the model has a modality {modality!r} already. Give the new one another name; "
            f"encodes_as={modality!r} lets its codes join those of {modality!r}."
        )
    if encodes_as is not None:
        known_modality(encodes_as, model.modalities, caller=f"{caller}: encodes_as")
    arrays = _check_views(model, views, modality, caller)
    names, couples = _couples_of(modality, list(views), arrays, pairs, caller)
    partners = [
        model.maps[m].project(arrays[m], model.projections[m], model.thresholds[m]).astype(np.float64)
        for m in names[1:]
    ]
    with one_blas_thread():
        found = learn_modality(
            arrays[modality], partners, couples, random_state, who=f"{caller}: modality {modality!r}"
        )
    extra = dict(model.extra)
    if FUSION_SLOPES in extra:
        extra[FUSION_SLOPES] = np.concatenate([extra[FUSION_SLOPES], found.fusion_slopes[None]])
    joined = {} if encodes_as is None else {modality: encodes_as}
    return replace(
        model,
        modalities=(*model.modalities, modality),
        n_features=model.n_features | {modality: int(arrays[modality].shape[1])},
        maps=model.maps | {modality: found.map},
        projections=model.projections | {modality: found.projection},
        thresholds=model.thresholds | {modality: found.threshold},
        extra=extra,
        encodes_as=dict(model.encodes_as) | joined,
        feature_names=dict(model.feature_names) | names_by_modality(views, [modality], caller=caller),
    )


def _check_views(model: HashModel, views: Any, modality: str, caller: str) -> dict[str, Any]:
    """Checked arrays, the new modality first."""
    if not isinstance(views, Mapping):
        raise UnknownModalityError(
            f"{caller}: views must be a dict of arrays by modality, got {type(views).__name__}."
        )
    known = ", ".join(map(repr, model.modalities))
    if modality not in views:
        raise UnknownModalityError(
            f"{caller}: views must hold the new modality {modality!r}, got {list(views)}."
        )
    partners = [name for name in views if name != modality]
    for name in partners:
        if name not in model.modalities:
            raise UnknownModalityError(
                f"{caller}: unknown modality {name!r}. Known: {known}, and the new one, {modality!r}. "
                "Modalities join one at a time."
            )
    if not partners:
        raise UnknownModalityError(
            f"{caller}: views must hold a known partner of {modality!r} too. Known: {known}."
        )
    arrays = {modality: check_view(views[modality], caller=caller, modality=modality)}
    check_learnable(arrays[modality], caller=caller, modality=modality)
    for name in partners:
        arrays[name] = model.check_features(views[name], name, caller=caller)
    return arrays


def _couples_of(
    modality: str, given: list[str], arrays: Mapping[str, Any], pairs: Any, caller: str
) -> tuple[list[str], ResolvedCouples]:
    """The couples of the new modality with known ones, and all that take part, the new one first."""
    # Pairs without names run from the first view to the second, in the order in which the user gave them.
    named = name_couples(pairs, given, caller=caller)
    wanted = {couple: p for couple, p in named.pairs.items() if couple.count(modality) == 1}
    if not wanted:
        partner = next(name for name in given if name != modality)
        raise PairsError(
            f"{caller}: there are no pairs of {modality!r} with a known modality. "
            f"Give pairs of {modality!r} and {partner!r}."
        )
    names = list(dict.fromkeys([modality, *(name for couple in wanted for name in couple)]))
    chosen = NamedCouples(tuple(names), wanted, named.n_rows)
    n_rows = {m: X.shape[0] for m, X in arrays.items()}
    return names, resolve_couples(chosen, n_rows, None, caller=caller, need_negatives=False)
