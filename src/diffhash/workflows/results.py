"""What the workflows return: plain values, which :meth:`Result.to_dict` turns into JSON types."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..stores.address import is_url, shown_address

if TYPE_CHECKING:
    from ..stores import Item

__all__ = [
    "AddResult",
    "BuildResult",
    "CopyResult",
    "DeleteResult",
    "EncodeResult",
    "ExportResult",
    "ExtendResult",
    "FileInfo",
    "FitResult",
    "GetResult",
    "ModalityInfo",
    "ModelInfo",
    "Result",
    "UpgradeResult",
    "VerifyResult",
    "shown_path",
]


def shown_path(name: Any) -> Path | str:
    """Where a collection is: the path of a file, or an address without its password."""
    return shown_address(name) if is_url(name) else Path(name)


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
    takes : str or None
        What the featurizer takes: "text", "pictures", or None if it does not say.
    featurizer_hash : str or None
        Hash of the state of the featurizer that the model was learned with.
    """

    name: str
    features: int
    raw: str | None
    takes: str | None = None
    featurizer_hash: str | None = None


@dataclass(frozen=True)
class ModelInfo(Result):
    """What a model is.

    Examples
    --------
    >>> ModelInfo("DiffHash", 64, (ModalityInfo("text", 1200, "tfidf", "text"),)).to_dict()["modalities"]
    [{'name': 'text', 'features': 1200, 'raw': 'tfidf', 'takes': 'text', 'featurizer_hash': None}]
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
class ExtendResult(Result):
    """A model or a collection with one more modality.

    Attributes
    ----------
    path : Path
        The new model, or the collection that took it over.
    model : ModelInfo
    modality : str
        The new modality.
    encodes_as : str or None
        The known modality whose codes the new codes join.
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
    modality: str
    encodes_as: str | None
    learned_from: str
    seconds: float
    size: int
    calibrated: bool = False


@dataclass(frozen=True)
class BuildResult(Result):
    """A collection that was written.

    Attributes
    ----------
    path : Path, or str if it is an address
    objects : int
        Objects in the collection.
    model : ModelInfo
    learned_from : str
        For people: "400 aligned rows", or the file of the model.
    left_out : int
        Rows and pictures that were left out.
    seconds : float
    size : int or None
        Bytes of the file, or of the tables; None if the server cannot tell.
    calibrated : bool
        Whether the model can give chances and promises.
    uncaptioned : int
        Pictures without a caption.
    unreadable : dict of str by name
        Pictures that were left out because they cannot be read, and why.
    notes : tuple of str
        For people: what was guessed, or continued.
    """

    path: Path | str
    objects: int
    model: ModelInfo
    learned_from: str
    left_out: int
    seconds: float
    size: int | None
    calibrated: bool = False
    uncaptioned: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AddResult(Result):
    """Objects that were added to a collection.

    Attributes
    ----------
    path : Path, or str if it is an address
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

    path: Path | str
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
    path : Path, or str if it is an address
    deleted : int
        Objects that had something to remove.
    unknown : tuple of ids
        Ids that the collection does not have.
    objects : int
        Objects in the collection now.
    """

    path: Path | str
    deleted: int
    unknown: tuple[int | str, ...]
    objects: int


@dataclass(frozen=True)
class GetResult(Result):
    """Objects of a collection."""

    path: Path | str
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
    size : int or None
        Bytes of the file, or of the tables; None if the server cannot tell.
    model : ModelInfo or None
        The model, if the file contains one.
    details : dict
        More facts, which depend on the kind.
    """

    file: str
    kind: str
    size: int | None
    model: ModelInfo | None
    details: dict[str, Any]


@dataclass(frozen=True)
class CopyResult(Result):
    """A collection that was copied.

    Attributes
    ----------
    source, target : str
        Paths, or addresses without passwords.
    objects, codes : int
        How many there are.
    written : int
        Objects that were written; with ``resume`` those that were missing or different.
    checksum : str
        Checksum of ids, codes and payloads. It does not depend on their order.
    checked : bool
        Whether the target was read and compared.
    seconds : float
    """

    source: str
    target: str
    objects: int
    codes: int
    written: int
    checksum: str
    checked: bool
    seconds: float


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
