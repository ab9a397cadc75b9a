"""The model in a collection's file, read when it is first needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CollectionError, CollectionFileError, ModelFileError, ParameterError
from ...model import HashModel
from ...native.checks import MAX_BITS
from ...validation import known_modality
from .database import Database
from .lock import WriterLock
from .snapshot import Snapshot
from .transactions import Transactions

if TYPE_CHECKING:
    from ...hashers import BaseHasher

__all__ = ["StoredModel", "check_featurizers", "check_n_bits", "store_model", "with_own_featurizers"]


class StoredModel(Transactions):
    """The part of a collection that knows its model.

    Parameters
    ----------
    kernel, featurizers : the user's own, which the file cannot hold
    model : HashModel, optional
        The model that was just written to the file, with its own kernels and featurizers.
    """

    def __init__(
        self,
        path: Path,
        lock: WriterLock | None,
        *,
        kernel: Any = None,
        featurizers: Mapping[str, Any] | None = None,
        model: HashModel | None = None,
    ) -> None:
        super().__init__(path, lock)
        self._kernel = kernel
        self._generation: int | None = None
        self._checksum = b""
        self._model: HashModel | None = None
        self._hasher: BaseHasher | None = None
        try:
            self._featurizers = check_featurizers(
                featurizers, self._snapshot.modalities, caller="Collection.open"
            )
            if model is not None:
                self._use_model(model)
            elif self._featurizers:
                _ = self.model  # read now, so that a wrong featurizer raises here
        except BaseException:
            with suppress(CollectionError):
                self.close()
            raise

    @property
    def model(self) -> HashModel:
        """The model in the file: it encodes features and raw objects."""
        with self._reading() as snapshot:
            return self._current_model(snapshot)

    def _current_model(self, snapshot: Snapshot) -> HashModel:
        """The model; within a transaction."""
        # A new generation may have another model; after ``compact`` it has the same.
        if self._model is None or self._generation != snapshot.generation:
            data = _read_model(self._db)
            if self._model is None or self._checksum != _checksum(data):
                self._model, self._hasher = self._load_model(data), None
                self._checksum = _checksum(data)
            self._generation = snapshot.generation
        return self._model

    @property
    def hasher(self) -> BaseHasher:
        """The estimator that learned the model. It is made on first access, which imports scikit-learn."""
        from ...hashers import hasher_from_model

        with self._lock:
            model = self.model
            if self._hasher is None:
                try:
                    self._hasher = hasher_from_model(model, name=f"the model in {self.path}")
                except ModelFileError as error:
                    raise _damaged(self.path, error) from error
            return self._hasher

    def _use_model(self, model: HashModel) -> None:
        """Use a model that was just written to the file, instead of reading it back."""
        self._model, self._hasher = replace(model, opened_by="Collection.open"), None
        self._generation, self._checksum = self._snapshot.generation, _checksum(model.to_bytes())

    def _load_model(self, data: bytes) -> HashModel:
        try:
            return HashModel.from_bytes(
                data,
                name=f"the model in {self.path}",
                kernel=self._kernel,
                featurizers=self._featurizers,
                opened_by="Collection.open",
            )
        except ModelFileError as error:
            raise _damaged(self.path, error) from error

    def _model_locked(self) -> AbstractContextManager[object]:
        """Context manager: the model cannot change inside it. Only for writers: other processes cannot write."""
        return self._lock


def _read_model(db: Database) -> bytes:
    data = db.value("SELECT value FROM meta WHERE name = 'model'")
    if not isinstance(data, bytes):
        raise _damaged(db.path, "it is missing")
    return data


def _damaged(path: Path, problem: object) -> CollectionFileError:
    return CollectionFileError(f"Collection: the model in {path} is damaged: {problem}")


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def store_model(db: Database, model: HashModel) -> None:
    """Replace the model in the file; within a transaction."""
    db.execute("UPDATE meta SET value = ? WHERE name = 'model'", (model.to_bytes(),))
    db.execute("UPDATE meta SET value = ? WHERE name = 'n_bits'", (model.n_bits,))


def check_n_bits(model: HashModel, *, caller: str) -> None:
    """Refuse a model whose codes could be stored but not searched."""
    if model.n_bits > MAX_BITS:
        raise ParameterError(
            f"{caller}: a collection holds codes of at most {MAX_BITS} bits, the model makes {model.n_bits}. "
            "Fit one with fewer bits. Nothing was written."
        )


def check_featurizers(featurizers: Any, modalities: tuple[str, ...], *, caller: str) -> dict[str, Any]:
    """The user's own featurizers by modality; the modalities must be known."""
    if featurizers is None:
        return {}
    if not isinstance(featurizers, Mapping):
        raise ParameterError(
            f"{caller}: featurizers must be a dict by modality, got {type(featurizers).__name__}. "
            f"Write featurizers={{{modalities[0]!r}: ...}}."
        )
    return {known_modality(m, modalities, caller=caller): given for m, given in featurizers.items()}


def with_own_featurizers(model: HashModel, featurizers: Mapping[str, Any]) -> HashModel:
    """The model with the user's own featurizers in addition to those that it has."""
    if not featurizers:
        return model
    absent = {m: state for m, state in model.absent_featurizers.items() if m not in featurizers}
    changed = model.with_featurizers({**model.featurizers, **featurizers})
    return replace(changed, absent_featurizers=absent)
