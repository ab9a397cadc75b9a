"""The second fit: the same settings on most of the objects, judged on the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DiffhashError, DiffhashWarning, PairsError
from ..learning.fusion import partner_consensus, reliability_slopes, transferred_values
from ..model import HashModel
from ..model.hash_model import FUSION_SLOPES
from ..pairs.couples import ResolvedCouples
from ..pairs.objects import hold_out_couples
from ..types import FloatArray, IntArray
from .held_out_counts import held_out_calibration

if TYPE_CHECKING:
    from .training_data import Learned, TrainingData

__all__ = ["HeldOutValues", "fusion_slopes", "held_out_values", "unseen_values", "with_judgement"]

#: Share of the objects that the second fit does not see.
_SHARE = 0.2
#: Curves are fitted to about this many held-out rows of a modality.
_MAX_CURVE_ROWS = 20_000


@dataclass(frozen=True)
class HeldOutValues:
    """Projections of objects by a model that did not see them, in the bits of the model that did.

    Attributes
    ----------
    rows : tuple of int arrays, one for each modality
        Numbers of the held-out rows.
    values : list of arrays of shape (n, n_bits), one for each modality
        Thresholds are included: a bit is one where the value is >= 0.
    second_values : list of arrays of shape (n, n_bits), one for each modality
        The same in the bits of the model that did not see the objects.
    couples : ResolvedCouples
        The pairs between the held-out rows.
    """

    rows: tuple[IntArray, ...]
    values: list[FloatArray]
    second_values: list[FloatArray]
    couples: ResolvedCouples


def held_out_values(
    data: TrainingData,
    model: HashModel,
    learn: Callable[[TrainingData], Learned],
    random_state: int | None,
    *,
    caller: str,
) -> HeldOutValues:
    """Fit to 80 % of the objects and project the others. All rows of an object are in the same part.

    Parameters
    ----------
    data : TrainingData
        What the model was fitted to.
    model : HashModel
    learn : function
        Learns from a part of the data with the settings of the model.
    random_state : int or None
    caller : str
    """
    # A stream of its own: the second fit draws from the plain seed.
    rng = np.random.default_rng(None if random_state is None else [random_state, 0xF15])
    splits = hold_out_couples(data.couples, _SHARE, max(data.couples.n_rows), rng)
    too_few = "Give more objects, or use the model without calibration."
    if not splits or {side for couple in splits[0].fit for side in couple.sides} != set(
        range(len(data.modalities))
    ):
        raise PairsError(f"{caller}: there are too few pairs to hold a fifth of the objects out. {too_few}")
    split = splits[0]
    part = _part(data, split.fit_rows, split.fit)
    try:
        with warnings.catch_warnings():
            # The first fit has already warned.
            warnings.simplefilter("ignore", DiffhashWarning)
            second = learn(part)
    except DiffhashError as error:
        raise PairsError(
            f"{caller}: the second fit, to four fifths of the objects, failed: {error} {too_few}"
        ) from error
    by_model, by_second, scored = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    for m, rows in zip(data.modalities, split.scored_rows, strict=True):
        X = part.views[m]
        by_model.append(model.maps[m].project(X, model.projections[m], model.thresholds[m]))
        for values, of in ((by_second, X), (scored, data.views[m][rows])):
            values.append(second.maps[m].project(of, second.projections[m], second.thresholds[m]))
    values = transferred_values(by_model, by_second, scored)
    return HeldOutValues(split.scored_rows, values, scored, split.scored)


def unseen_values(data: TrainingData, model: HashModel) -> HeldOutValues:
    """Project objects that the model has not seen; no second fit is needed."""
    values = [
        model.maps[m].project(data.views[m], model.projections[m], model.thresholds[m])
        for m in data.modalities
    ]
    rows = tuple(np.arange(len(each)) for each in values)
    return HeldOutValues(rows, values, values, data.couples)


def with_judgement(model: HashModel, modalities: Sequence[str], held_out: HeldOutValues) -> HashModel:
    """The model with what held-out objects say: how reliable modalities are, and counts of pairs by distance."""
    slopes = dict(zip(modalities, fusion_slopes(held_out), strict=True))
    distances = held_out_calibration(
        modalities, held_out.second_values, held_out.couples, np.random.default_rng(0)
    )
    stacked = np.stack([slopes[m] for m in model.modalities])
    known = {FUSION_SLOPES: stacked, **distances.to_arrays(model.modalities)}
    return replace(model, extra=model.extra | known)


def fusion_slopes(held_out: HeldOutValues) -> list[FloatArray]:
    """For each modality, the slopes of its log-likelihood ratios; arrays of shape (n_bits,)."""
    consensus = partner_consensus(held_out.values, held_out.couples)
    found = []
    for values, partners in zip(held_out.values, consensus, strict=True):
        rows = slice(None, None, -(-len(values) // _MAX_CURVE_ROWS))
        found.append(reliability_slopes(values[rows], partners[rows]))
    return found


def _part(data: TrainingData, rows: Sequence[IntArray], couples: ResolvedCouples) -> TrainingData:
    views: Mapping[str, Any] = {m: data.views[m][r] for m, r in zip(data.modalities, rows, strict=True)}
    return type(data)(data.modalities, dict(views), couples)
