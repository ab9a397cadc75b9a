"""``compare``: learn all methods from the same rows, and ask all with the same unseen queries."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError, PairsError, ParameterError, RankWarning, TooManyBitsError, WeakModelWarning
from ..pairs import Pairs
from ..types import FloatArray
from ..validation import as_array, check_count, check_number
from .candidates import Candidate, Training, candidates, import_faiss
from .parts import Part, split
from .results import ComparedMethod, Comparison, DirectionScore
from .scores import Resamples, interval, query_scores
from .storages import Method

__all__ = ["BITS", "compare"]

#: Widths of codes that are compared by default.
BITS = (32, 64, 128)
_CALLER = "compare"


def compare(
    views: Mapping[str, Any],
    pairs: Pairs | None = None,
    *,
    labels: Any = None,
    test: Any = None,
    share: float = 0.25,
    bits: Sequence[int] = BITS,
    random_state: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Compare ways to store the items of two views: accuracy against all bytes of an item.

    All methods learn from the same rows. Queries and database are rows that none of them has seen. Both directions are
    measured.

    Parameters
    ----------
    views : dict of two arrays of shape (n, d), dense or sparse
    pairs : Pairs, optional
        Rows that belong together, listed. By default row r of both views is one object.
    labels : array, or dict of arrays by modality, optional
        In place of pairs: rows with the same label, or with a common one, belong together. The measure is then mAP;
        otherwise it is the recall among the first ten.
    test : bool array of shape (n,), optional
        Rows to hold out, for views with equal numbers of rows. By default objects are drawn at random.
    share : float
        Share of the objects that are held out.
    bits : list of int
        Widths of codes.
    random_state : int
    progress : function, optional
        Called with the number of methods that are done, the number of all, and the name of the next one.

    Returns
    -------
    Comparison

    Notes
    -----
    Float cosine, signs, ITQ and quantisers of the features themselves need views with equal numbers of features,
    and mean something only if these are embeddings of one space. The others learn a common space: CCA (Hotelling
    1936) from pairs; ITQ (Gong & Lazebnik 2011) rotates it for signs; PQ (Jégou et al. 2011) and RaBitQ (Gao &
    Long 2024) are those of FAISS, if it is installed. Scaling and ridge of CCA are chosen on a fifth of the
    training pairs. Baselines learn from pairs also if there are labels; ours then learn from labels. At most 20,000
    rows are learned from, and 5,000 are asked with.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 12))
    >>> views = {"x": x, "y": np.hstack([x[:, :8], rng.normal(size=(400, 2))])}
    >>> found = compare(views, bits=[8])
    >>> found.measure, found.learned_from
    ('recall@10', (300, 300))
    """
    names, part = _checked_part(views, pairs, labels)
    bits = _checked_bits(bits)
    check_number(share, "share", caller=_CALLER, low=0.01, high=0.99)
    check_count(random_state, "random_state", caller=_CALLER, minimum=0)
    held = None if test is None else as_array(test, f"{_CALLER}: test").astype(bool)
    rng = np.random.default_rng(random_state)
    train, asked = split(part, share, rng, held)
    training = Training(train, names, random_state)
    notes = _notes(training)
    found = []
    planned = list(candidates(training, bits))
    for number, candidate in enumerate(planned):
        if progress is not None:
            progress(number, len(planned), candidate.name)
        measured = _measure(candidate, asked, names)
        if isinstance(measured, str):
            notes.append(measured)
        else:
            found.append(measured)
    if progress is not None:
        progress(len(planned), len(planned), "")
    resamples = Resamples(asked.n_rows, rng)
    return Comparison(
        names,
        asked.measure,
        train.n_rows,
        asked.n_rows,
        _with_intervals(found, resamples),
        tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """A method, and the figures of its queries in both directions."""

    candidate: Candidate
    method: Method
    names: tuple[str, str]
    forth: FloatArray
    back: FloatArray
    seconds: float


def _measure(candidate: Candidate, asked: Part, names: tuple[str, str]) -> _Measured | str:
    """Learn a method and ask it; or why it was left out."""
    start = time.process_time()
    with warnings.catch_warnings():
        # A weak or short model is seen in the figures.
        for category in (WeakModelWarning, RankWarning):
            warnings.simplefilter("ignore", category)
        try:
            method = candidate.learn()
        except (TooManyBitsError, PairsError) as error:
            return f"{candidate.name} was left out: {error}"
    seconds = time.process_time() - start
    relevant = asked.relevant()
    forth = query_scores(method.distances(asked.X, 0, asked.Y), relevant, asked.measure)
    back = query_scores(method.distances(asked.Y, 1, asked.X), relevant.T, asked.measure)
    return _Measured(candidate, method, names, forth, back, seconds)


def _with_intervals(found: list[_Measured], resamples: Resamples) -> tuple[ComparedMethod, ...]:
    drawn = [resamples.means(each.forth, each.back) for each in found]
    values = [float(np.mean([np.nanmean(each.forth), np.nanmean(each.back)])) for each in found]
    best = int(np.argmax(values))
    methods = []
    for each, value, means in zip(found, values, drawn, strict=True):
        a, b = each.names
        zero = np.zeros_like
        directions = (
            _direction(a, b, each.forth, interval(resamples.means(each.forth, zero(each.back)) * 2)),
            _direction(b, a, each.back, interval(resamples.means(zero(each.forth), each.back) * 2)),
        )
        methods.append(
            ComparedMethod(
                each.candidate.name,
                each.candidate.ours,
                each.method.item_bytes,
                each.method.model_bytes,
                directions,
                value,
                *interval(means),
                value - values[best],
                *interval(means - drawn[best]),
                each.seconds,
            )
        )
    return tuple(sorted(methods, key=lambda method: (method.item_bytes, not method.ours, method.name)))


def _direction(query: str, into: str, values: FloatArray, bounds: tuple[float, float]) -> DirectionScore:
    return DirectionScore(query, into, float(np.nanmean(values)), *bounds)


def _notes(training: Training) -> list[str]:
    notes = []
    if not training.one_space:
        a, b = training.part.X.shape[1], training.part.Y.shape[1]
        notes.append(
            f"The views have {a:,} and {b:,} features, so the features themselves cannot be compared: no cosine, "
            "signs, ITQ, PQ or RaBitQ of the features."
        )
    if import_faiss() is None:
        notes.append("FAISS is not installed, so PQ and RaBitQ were left out. Run: pip install faiss-cpu")
    if training.part.labels is not None:
        notes.append("Ours learn from labels, the baselines from pairs of rows: they know no labels.")
    return notes


def _checked_bits(bits: Any) -> tuple[int, ...]:
    found = tuple(check_count(n, "bits", caller=_CALLER, maximum=4096) for n in bits)
    if not found or any(n % 8 for n in found):
        raise ParameterError(f"{_CALLER}: bits must be multiples of 8, got {list(found)}.")
    return tuple(sorted(set(found)))


def _checked_part(views: Any, pairs: Any, labels: Any) -> tuple[tuple[str, str], Part]:
    if not isinstance(views, Mapping) or len(views) != 2:
        raise InputError(f"{_CALLER}: views must be a dict of two arrays by modality.")
    a, b = views
    arrays = [_checked_view(views[name], name) for name in (a, b)]
    n_rows = [array.shape[0] for array in arrays]
    if labels is not None:
        if pairs is not None:
            raise ParameterError(f"{_CALLER}: give pairs or labels, not both.")
        by_name = labels if isinstance(labels, Mapping) else dict.fromkeys((a, b), labels)
        if set(by_name) != {a, b}:
            raise InputError(f"{_CALLER}: labels are needed for {a!r} and {b!r}, got {list(by_name)}.")
        both: list[NDArray[Any]] = [np.asarray(by_name[name]) for name in (a, b)]
        for name, found, n in zip((a, b), both, n_rows, strict=True):
            if found.ndim not in (1, 2) or len(found) != n:
                raise InputError(
                    f"{_CALLER}: modality {name!r} has {n:,} rows, got labels of shape {found.shape}."
                )
        return (a, b), Part(arrays[0], arrays[1], labels=(both[0], both[1]))
    if pairs is None:
        if len(set(n_rows)) != 1:
            raise InputError(
                f"{_CALLER}: the views have {n_rows[0]:,} and {n_rows[1]:,} rows, so they are not aligned. Give pairs "
                "or labels."
            )
        rows = np.arange(n_rows[0])
        return (a, b), Part(arrays[0], arrays[1], (rows, rows))
    if not isinstance(pairs, Pairs) or pairs.positive is None:
        raise ParameterError(f"{_CALLER}: pairs must be Pairs whose positive pairs are listed.")
    i, j = (np.asarray(side, dtype=np.int64) for side in pairs.positive)
    if len(i) and (min(i.min(), j.min()) < 0 or i.max() >= n_rows[0] or j.max() >= n_rows[1]):
        raise PairsError(
            f"{_CALLER}: pairs name rows that the views do not have ({n_rows[0]:,} and {n_rows[1]:,})."
        )
    return (a, b), Part(arrays[0], arrays[1], (i, j))


def _checked_view(view: Any, name: str) -> Any:
    found = view.tocsr() if scipy.sparse.issparse(view) else as_array(view, f"{_CALLER}: modality {name!r}")
    if found.ndim != 2 or found.dtype.kind not in "fiub":
        raise InputError(
            f"{_CALLER}: modality {name!r} must be real numbers of shape (objects, features), got {found.dtype} of "
            f"shape {found.shape}."
        )
    if not np.isfinite(found.data if scipy.sparse.issparse(found) else found).all():
        raise InputError(f"{_CALLER}: modality {name!r} contains NaN or infinity.")
    return found
