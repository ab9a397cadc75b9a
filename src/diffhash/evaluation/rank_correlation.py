"""Whether codes keep the distances within a modality: rank correlation with the original distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..codes import check_codes
from ..errors import InputError
from ..maps.mapped_view import MappedView
from ..maps.own_distance import Distance, own_distances
from ..maps.representation import Representation, fit_representation
from ..model import HashModel
from ..types import CodeArray, FloatArray, IntArray, PairIndex, Views
from ..validation import by_modality, check_choice, check_count, check_number, check_seed, check_view
from .model_evaluation import Encoder, modalities_of

__all__ = ["RankCorrelation", "model_rank_correlations", "rank_correlation"]

#: The distances that have a name.
METRICS = ("euclidean", "diagonal", "cosine", "root-cosine")
#: Pairs that are weighted at a time by the bootstrap, over all resamples.
_BLOCK_PAIRS = 1 << 21


@dataclass(frozen=True)
class RankCorrelation:
    r"""Spearman's rank correlation of the Hamming distances with the original distances of the same pairs.

    Attributes
    ----------
    value : float
        :math:`\rho` between -1 and 1; NaN if all distances of one kind are equal.
    pairs : (i, j)
        Row numbers of the pairs that were compared.
    code_ranks, distance_ranks : arrays of shape (n_pairs,)
        Ranks of the Hamming distances and of the original distances. Tied pairs have the mean of their ranks.
    """

    value: float
    pairs: PairIndex = field(repr=False)
    code_ranks: FloatArray = field(repr=False)
    distance_ranks: FloatArray = field(repr=False)

    @property
    def n_pairs(self) -> int:
        """Number of pairs that were compared."""
        return len(self.code_ranks)

    def confidence_interval(
        self, *, level: float = 0.95, n_resamples: int = 200, random_state: int | None = 0
    ) -> tuple[float, float]:
        """Compute a bootstrap interval (percentiles over resampled objects).

        Objects are resampled, not pairs, because pairs that share an object are not independent. A pair counts
        as often as both of its objects were drawn. The ranks are not computed again.

        Parameters
        ----------
        level : float
            Share of the resamples that lie within the interval.
        n_resamples : int
        random_state : int or None
        """
        caller = "RankCorrelation.confidence_interval"
        check_number(level, "level", caller=caller, high=1.0)
        check_count(n_resamples, "n_resamples", caller=caller)
        random_state = check_seed(random_state, caller=caller)
        objects, sides = np.unique(np.concatenate(self.pairs), return_inverse=True)
        i, j = sides.reshape(2, -1)
        rng = np.random.default_rng(random_state)
        drawn = rng.multinomial(len(objects), np.full(len(objects), 1 / len(objects)), size=n_resamples)
        step = max(1, _BLOCK_PAIRS // self.n_pairs)
        estimates = np.concatenate(
            [
                _correlation(self.code_ranks, self.distance_ranks, (block[:, i] * block[:, j]).astype(float))
                for block in (drawn[start : start + step] for start in range(0, n_resamples, step))
            ]
        )
        known = estimates[~np.isnan(estimates)]
        if not known.size:
            return float("nan"), float("nan")
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def rank_correlation(
    codes: CodeArray,
    X: Any,
    *,
    metric: str | Distance = "euclidean",
    n_objects: int = 2_000,
    n_pairs: int = 100_000,
    random_state: int | None = 0,
) -> RankCorrelation:
    r"""Compare Hamming distances of codes with the distances of the objects that they were made from.

    The paper asks that the codes of one modality keep its distances,
    :math:`d_{\mathbb{H}}(\xi(x), \xi(x')) \approx d_X(x, x')`. Hamming distances are whole numbers in units of their
    own, so what can be compared is the order of the pairs: :math:`\rho = 1` if pairs that are farther apart always
    have codes that are farther apart.

    Parameters
    ----------
    codes : uint8 array of shape (n, n_bytes)
        Packed codes.
    X : array of shape (n, n_features), dense or sparse
        The features of the same objects.
    metric : {"euclidean", "diagonal", "cosine", "root-cosine"} or function
        The distance :math:`d_X`. "diagonal": Euclidean after dividing each feature by its standard deviation,
        as in the paper's experiment. "cosine" and "root-cosine": as in :class:`~diffhash.KernelDiffHash`.
        A function ``metric(X, Y)`` must return distances of shape (n, m); it is called once.
    n_objects : int
        At most this many objects are drawn.
    n_pairs : int
        At most this many pairs of the drawn objects are compared.
    random_state : int or None

    Returns
    -------
    RankCorrelation

    Notes
    -----
    This is Spearman's :math:`\rho`: Pearson's correlation of the ranks, where tied pairs have the mean of their
    ranks. Short codes have many ties, so :math:`\rho` stays below 1 even if the order of the others is perfect.

    Examples
    --------
    >>> codes = np.array([[0b000], [0b001], [0b011], [0b111]], dtype=np.uint8)
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> rank_correlation(codes, X).value
    1.0
    >>> manhattan = lambda X, Y: np.abs(X[:, None] - Y).sum(axis=2)
    >>> rank_correlation(codes, X, metric=manhattan).value
    1.0
    """
    caller = "rank_correlation"
    codes = check_codes(codes, caller=caller)
    X = check_view(X, caller=caller, modality="X")
    n_objects = check_count(n_objects, "n_objects", caller=caller, minimum=2)
    n_pairs = check_count(n_pairs, "n_pairs", caller=caller)
    random_state = check_seed(random_state, caller=caller)
    if not callable(metric):
        check_choice(metric, "metric", METRICS, caller=caller)
    if len(codes) != X.shape[0] or len(codes) < 2:
        raise InputError(
            f"{caller}: codes and X must be of the same objects, at least 2, got {len(codes)} codes and "
            f"{X.shape[0]} rows of X."
        )
    rng = np.random.default_rng(random_state)
    objects = np.sort(rng.choice(len(codes), min(n_objects, len(codes)), replace=False))
    i, j = _draw_pairs(len(objects), n_pairs, rng)
    distances = _distances(X, objects, i, j, metric, caller)
    hamming = np.bitwise_count(codes[objects[i]] ^ codes[objects[j]]).sum(axis=1, dtype=np.int64)
    code_ranks, distance_ranks = mid_ranks(hamming), mid_ranks(distances)
    value = float(_correlation(code_ranks, distance_ranks, np.ones((1, len(i))))[0])
    return RankCorrelation(value, (objects[i], objects[j]), code_ranks, distance_ranks)


def model_rank_correlations(
    hasher: Encoder | HashModel,
    views: Views,
    *,
    metric: str | Distance | Mapping[str, str | Distance] = "euclidean",
    n_objects: int = 2_000,
    n_pairs: int = 100_000,
    random_state: int | None = 0,
) -> dict[str, RankCorrelation]:
    """Compute :func:`rank_correlation` of a model within every modality.

    Parameters
    ----------
    hasher : fitted hasher or HashModel
    views : dict of features by modality
        Objects that the model was not fitted on.
    metric : str or function, or dict by modality
    n_objects, n_pairs, random_state
        See :func:`rank_correlation`.

    Returns
    -------
    dict of RankCorrelation by modality

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=400, n_test=100, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
    >>> found = model_rank_correlations(hasher, data.test.views, metric="diagonal")
    >>> sorted(found), bool(found["x"].value > 0.2)
    (['x', 'y'], True)
    """
    caller = "model_rank_correlations"
    modalities_of(hasher, views, caller=caller)
    metrics: dict[str, str | Distance] = by_modality(metric, tuple(views), "metric", caller=caller)
    return {
        m: rank_correlation(
            hasher.encode(X, modality=m),
            X,
            metric=metrics[m],
            n_objects=n_objects,
            n_pairs=n_pairs,
            random_state=random_state,
        )
        for m, X in views.items()
    }


def mid_ranks(values: Any) -> FloatArray:
    """Ranks from 1; equal values have the mean of their ranks.

    Examples
    --------
    >>> mid_ranks(np.array([5.0, 7.0, 5.0]))
    array([1.5, 3. , 1.5])
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], dtype=np.float64)


def _draw_pairs(n: int, n_pairs: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Different pairs i < j of n objects; all of them if they are not more than ``n_pairs``."""
    n_all = n * (n - 1) // 2
    numbers = np.arange(n_all) if n_all <= n_pairs else np.sort(rng.choice(n_all, n_pairs, replace=False))
    # Pair number j (j - 1) / 2 + i is (i, j). The root is exact where it is a whole number.
    j = ((1 + np.sqrt(1 + 8 * numbers)) / 2).astype(np.int64)
    return numbers - j * (j - 1) // 2, j


def _distances(
    X: Any, objects: IntArray, i: IntArray, j: IntArray, metric: str | Distance, caller: str
) -> FloatArray:
    """Distances of the pairs; squared for the metrics with a name, which does not change their order."""
    if callable(metric):
        rows = X[objects]
        return own_distances(metric, rows, rows, who=caller)[i, j]
    fitted = fit_representation(X, Representation("linear", metric), None, who=caller)
    points = MappedView(X[objects].astype(np.float64), fitted).centred_rows()
    squares = np.empty(len(i))
    step = max(1, _BLOCK_PAIRS // points.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = points[i[part]] - points[j[part]]
        squares[part] = np.einsum("ij,ij->i", difference, difference)
    # Distances that differ by rounding errors only are tied.
    return np.round(squares / max(float(squares.max()), 1e-300), 10)


def _correlation(a: FloatArray, b: FloatArray, weights: FloatArray) -> FloatArray:
    """Pearson's correlation with each row of ``weights``, shape (n_rows,); NaN if a side does not vary."""
    # The mean of all ranks is subtracted first: sums of squares of large ranks would lose digits.
    a, b = a - a.mean(), b - b.mean()
    total = np.maximum(weights.sum(axis=1), 1e-300)
    mean_a, mean_b = weights @ a / total, weights @ b / total
    covariance = weights @ (a * b) / total - mean_a * mean_b
    product = (weights @ (a * a) / total - mean_a**2) * (weights @ (b * b) / total - mean_b**2)
    known = product > 0
    root = np.sqrt(np.where(known, product, 1.0))
    return np.where(known, np.clip(covariance / root, -1.0, 1.0), np.nan)
