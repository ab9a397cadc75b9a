"""What searches, comparisons of codes and evaluations return; see :mod:`.results`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .results import Result

if TYPE_CHECKING:
    from ..evaluation import DirectionMatrix
    from ..stores import Hit

__all__ = [
    "CalibrationCheck",
    "Direction",
    "DuplicatesResult",
    "EvaluateResult",
    "ItemInfo",
    "QueryResult",
]


@dataclass(frozen=True)
class QueryResult(Result):
    """Answers of a collection.

    Attributes
    ----------
    query : str
        For people: the words, the id, or the name of the file.
    modality : str
        Modality of the query.
    into : str
        Modality that was searched.
    hits : tuple of tuples of Hit
        One tuple for each query, nearest first.
    known_words : bool
        False if the query is text and the featurizer knows nothing of it, so that its code says nothing.
    notes : tuple of str
        For people: words and fields that do not exist, and what was searched for in their place.
    reason : str or None
        Why nothing was found, if that is known.
    """

    query: str
    modality: str
    into: str
    hits: tuple[tuple[Hit, ...], ...]
    known_words: bool = True
    notes: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class CalibrationCheck(Result):
    """Chances and promises of a calibrated model, compared with what happened.

    Attributes
    ----------
    error : float or None
        Expected calibration error of the chances of the first ten hits. None if the calibration gives no chances.
    promised : float
        Mean number of wrong hits that was asked for.
    radius : int or None
        Radius that promises it; -1 if no radius does, None if the counts are too few.
    false_matches : float or None
        Mean number of wrong hits of a query within the radius.
    found : float or None
        Share of the relevant items within the radius.
    """

    error: float | None
    promised: float
    radius: int | None
    false_matches: float | None
    found: float | None


@dataclass(frozen=True)
class Direction(Result):
    """Quality of retrieval from one modality into another.

    Attributes
    ----------
    query : str
        Modality of the queries.
    into : str
        Modality of the items.
    queries : int
        Queries that have relevant items.
    without_relevant : int
        Queries that were left out, as nothing is relevant for them.
    items : int
    mean_average_precision : float
    interval : (float, float)
        95 % interval of it over the queries.
    equal_error_rate : float
    precision_at_10, recall_at_1, recall_at_10 : float
    ndcg, ndcg_at_10 : float
        NDCG over the whole ranking and over the first 10 items. With several labels the gain of an item is the number
        of labels that it shares with the query.
    ndcg_interval : (float, float)
        95 % interval of ``ndcg`` over the queries.
    rank_correlation : float or None
        Within a modality, if its features are given: Spearman's rank correlation of Hamming distances with the
        distances of the features.
    rank_correlation_interval : (float, float) or None
        95 % interval of it over the objects.
    calibration : CalibrationCheck or None
        How well the calibration of the model holds for these objects; None without a calibrated model.
    """

    query: str
    into: str
    queries: int
    without_relevant: int
    items: int
    mean_average_precision: float
    interval: tuple[float, float]
    equal_error_rate: float
    precision_at_10: float
    recall_at_1: float
    recall_at_10: float
    ndcg: float
    ndcg_interval: tuple[float, float]
    ndcg_at_10: float
    rank_correlation: float | None = None
    rank_correlation_interval: tuple[float, float] | None = None
    calibration: CalibrationCheck | None = None


@dataclass(frozen=True)
class EvaluateResult(Result):
    """Quality of retrieval in every direction."""

    directions: tuple[Direction, ...]

    def matrix(self, measure: str = "mean_average_precision") -> DirectionMatrix:
        """One measure of all directions as a matrix, see :func:`diffhash.evaluation.direction_matrix`."""
        from ..evaluation import direction_matrix

        found: Any = {(each.query, each.into): each for each in self.directions}
        matrix = direction_matrix(found, measure)
        # The columns have the order of the lines; what is only searched comes last.
        order = [name for name in matrix.queries if name in matrix.databases]
        order += [name for name in matrix.databases if name not in order]
        places = [matrix.databases.index(name) for name in order]
        return replace(matrix, databases=tuple(order), values=matrix.values[:, places])


@dataclass(frozen=True)
class ItemInfo(Result):
    """An item of a collection.

    Attributes
    ----------
    id : int or str
    payload : dict
    """

    id: int | str
    payload: dict[str, Any]


@dataclass(frozen=True)
class DuplicatesResult(Result):
    """Items of a collection that are nearly equal.

    Attributes
    ----------
    file : str
    modality, into : str
        Modalities of the codes that were compared.
    radius : int
    pairs : int
        Number of pairs within the radius.
    pairs_by_distance : tuple of int
        Number of pairs at each distance from 0 to the radius.
    clusters : int
        Number of clusters: items that pairs connect.
    items : int
        Number of items in clusters.
    largest : tuple of clusters
        Each is a tuple of ItemInfo, at most 100. The largest cluster comes first.
    table : Path or None
        The table of pairs that was written.
    table_pairs : int
        Number of pairs in the table, which are the nearest ones if there are more pairs.
    """

    file: str
    modality: str
    into: str
    radius: int
    pairs: int
    pairs_by_distance: tuple[int, ...]
    clusters: int
    items: int
    largest: tuple[tuple[ItemInfo, ...], ...]
    table: Path | None
    table_pairs: int
