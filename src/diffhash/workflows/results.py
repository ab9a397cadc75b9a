"""What the workflows return: plain values, which :meth:`Result.to_dict` turns into JSON types."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..evaluation import DirectionMatrix
    from ..stores import Hit, Item

__all__ = [
    "AddResult",
    "BuildResult",
    "CalibrationCheck",
    "DeleteResult",
    "Direction",
    "DuplicatesResult",
    "EncodeResult",
    "EvaluateResult",
    "ExportResult",
    "FileInfo",
    "FitResult",
    "GetResult",
    "ItemInfo",
    "ModalityInfo",
    "ModelInfo",
    "QueryResult",
    "Result",
    "UpgradeResult",
    "VerifyResult",
]


class Result:
    """Base of the results."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict that JSON can hold."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True)
class ModalityInfo(Result):
    """One modality of a model.

    Attributes
    ----------
    name : str
    features : int
        Number of features.
    raw : str or None
        Kind of the featurizer for raw objects, if there is one.
    """

    name: str
    features: int
    raw: str | None


@dataclass(frozen=True)
class ModelInfo(Result):
    """What a model is.

    Examples
    --------
    >>> ModelInfo("DiffHash", 64, (ModalityInfo("text", 1200, "tfidf"),)).to_dict()
    {'method': 'DiffHash', 'bits': 64, 'modalities': [{'name': 'text', 'features': 1200, 'raw': 'tfidf'}]}
    """

    method: str
    bits: int
    modalities: tuple[ModalityInfo, ...]


@dataclass(frozen=True)
class FitResult(Result):
    """A model file that was written.

    Attributes
    ----------
    path : Path
    model : ModelInfo
    learned_from : str
        For people: "400 aligned rows".
    seconds : float
        Time of learning.
    size : int
        Bytes of the file.
    calibrated : bool
        Whether the model can give chances and promises.
    """

    path: Path
    model: ModelInfo
    learned_from: str
    seconds: float
    size: int
    calibrated: bool = False


@dataclass(frozen=True)
class BuildResult(Result):
    """A collection that was written.

    Attributes
    ----------
    path : Path
    objects : int
        Objects in the collection.
    model : ModelInfo
    learned_from : str
        For people: "400 aligned rows", or the file of the model.
    left_out : int
        Rows and pictures that were left out.
    seconds : float
    size : int
        Bytes of the file.
    calibrated : bool
        Whether the model can give chances and promises.
    uncaptioned : int
        Pictures without a caption.
    unreadable : dict of str by name
        Pictures that were left out because they cannot be read, and why.
    notes : tuple of str
        For people: what was guessed, or continued.
    """

    path: Path
    objects: int
    model: ModelInfo
    learned_from: str
    left_out: int
    seconds: float
    size: int
    calibrated: bool = False
    uncaptioned: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AddResult(Result):
    """Objects that were added to a collection.

    Attributes
    ----------
    path : Path
    added : int
        New objects.
    replaced : int
        Objects that were replaced.
    objects : int
        Objects in the collection now.
    left_out, uncaptioned, unreadable, notes
        As in :class:`BuildResult`.
    seconds : float
    """

    path: Path
    added: int
    replaced: int
    objects: int
    left_out: int
    seconds: float
    uncaptioned: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeleteResult(Result):
    """Objects that were removed from a collection.

    Attributes
    ----------
    path : Path
    deleted : int
        Objects that had something to remove.
    unknown : tuple of ids
        Ids that the collection does not have.
    objects : int
        Objects in the collection now.
    """

    path: Path
    deleted: int
    unknown: tuple[int | str, ...]
    objects: int


@dataclass(frozen=True)
class GetResult(Result):
    """Objects of a collection."""

    path: Path
    items: tuple[Item, ...]

    def to_dict(self) -> dict[str, Any]:
        """The objects as a dict that JSON can hold; codes are hexadecimal digits."""
        items = [
            {
                "id": item.id,
                "codes": {name: code.tobytes().hex() for name, code in item.codes.items()},
                "payload": item.payload,
            }
            for item in self.items
        ]
        return {"path": str(self.path), "items": items}


@dataclass(frozen=True)
class EncodeResult(Result):
    """A file of codes that was written."""

    path: Path
    modality: str
    rows: int
    bits: int
    seconds: float
    size: int


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
class ExportResult(Result):
    """Files that were written from a collection.

    Attributes
    ----------
    paths : tuple of Path
    format : str
    modality : str or None
        None if all modalities were exported.
    codes : int
        Number of codes.
    """

    paths: tuple[Path, ...]
    format: str
    modality: str | None
    codes: int


@dataclass(frozen=True)
class FileInfo(Result):
    """What a file is.

    Attributes
    ----------
    file : str
    kind : str
        "model", "collection", "index", "FAISS index", "codes", "features", "array", "arrays" or "table".
    size : int
        Bytes of the file.
    model : ModelInfo or None
        The model, if the file contains one.
    details : dict
        More facts, which depend on the kind.
    """

    file: str
    kind: str
    size: int
    model: ModelInfo | None
    details: dict[str, Any]


@dataclass(frozen=True)
class VerifyResult(Result):
    """Whether a file is in order.

    Attributes
    ----------
    file : str
    kind : str
        "model", "collection", "index" or "data".
    problems : tuple of str
        Empty if the file is in order.
    """

    file: str
    kind: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The fields and ``ok`` as a dict that JSON can hold."""
        return {"file": self.file, "kind": self.kind, "ok": self.ok, "problems": list(self.problems)}


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


@dataclass(frozen=True)
class UpgradeResult(Result):
    """What ``upgrade`` has done.

    Attributes
    ----------
    file : str
    old_format, new_format : int
        Format versions of the file, before and now.
    """

    file: str
    old_format: int
    new_format: int

    @property
    def upgraded(self) -> bool:
        """Whether the file was changed."""
        return self.old_format != self.new_format
