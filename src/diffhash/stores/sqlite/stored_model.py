"""The model in a collection's file, read when it is first needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import CollectionError, ModelFileError, NoModelError
from ...model import HashModel
from ..model_loading import check_featurizers, damaged, load_model, own_kernels, with_own_featurizers
from .database import Database
from .description import set_meta
from .lock import WriterLock
from .snapshot import Snapshot
from .transactions import Transactions

if TYPE_CHECKING:
    from ...hashers import BaseHasher

__all__ = ["StoredModel", "read_model", "store_model"]


class StoredModel(Transactions):
    """The part of a collection that knows its model.

    Parameters
    ----------
    kernel, featurizers : the user's own, which the file cannot hold
    model : (bytes, HashModel), optional
        The model that was just written to the file, see :func:`..model_loading.copy_model`.
    """

    def __init__(
        self,
        path: Path,
        lock: WriterLock | None,
        *,
        kernel: Any = None,
        featurizers: Mapping[str, Any] | None = None,
        model: tuple[bytes, HashModel] | None = None,
    ) -> None:
        super().__init__(path, lock)
        self._kernel = kernel
        self._generation: int | None = None
        self._checksum = ""
        self._model: HashModel | None = None
        self._hasher: BaseHasher | None = None
        try:
            self._featurizers = check_featurizers(
                featurizers, self._snapshot.model_modalities, caller="Collection.open"
            )
            if model is not None:
                self._use_model(*model)
            elif self._featurizers:
                _ = self.model  # read now, so that a wrong featurizer raises here
        except BaseException:
            with suppress(CollectionError):
                self.close()
            raise

    @property
    def model(self) -> HashModel:
        """The model in the file: it encodes features and raw objects.

        Raises
        ------
        NoModelError
            If the collection was made without a model; :attr:`has_model` tells.
        """
        with self._reading() as snapshot:
            return self._current_model(snapshot)

    @property
    def has_model(self) -> bool:
        """Whether there is a model; without one only codes can be added and searched."""
        with self._reading() as snapshot:
            return snapshot.has_model

    def _current_model(self, snapshot: Snapshot) -> HashModel:
        """The model; within a transaction."""
        if not snapshot.has_model:
            raise NoModelError(
                f"Collection: {self.path} has codes and no model, so it cannot encode features or raw objects. "
                "Make the codes where the others came from, and use add_codes, upsert_codes, search_codes and "
                "within_codes; or give it a model with refit."
            )
        # A new generation may have another model; after ``compact`` it has the same.
        if self._model is None or self._generation != snapshot.generation:
            data = read_model(self._db)
            if self._model is None or self._checksum != _checksum(data):
                self._model, self._hasher = self._load_model(data, strict=self._model is None), None
                self._checksum = _checksum(data)
            self._generation = snapshot.generation
        return self._model

    @property
    def hasher(self) -> BaseHasher:
        """The estimator that learned the model. It is made on first access, which imports scikit-learn.

        The collection itself encodes with :attr:`model`: changes of the estimator have no effect on it.
        """
        from ...hashers import hasher_from_model

        with self._lock:
            model = self.model
            if self._hasher is None:
                try:
                    self._hasher = hasher_from_model(model, name=f"the model in {self.path}")
                except ModelFileError as error:
                    raise damaged(self.path, error) from error
            return self._hasher

    def _use_model(self, data: bytes, model: HashModel) -> None:
        """Use a model that was just written to the file as ``data``, instead of reading it back."""
        self._model, self._hasher = model, None
        self._generation, self._checksum = self._snapshot.generation, _checksum(data)
        # What the user gave for the model before may not fit this one.
        self._kernel = own_kernels(model)
        self._featurizers = {m: model.featurizers[m] for m in self._featurizers if m in model.featurizers}

    def _load_model(self, data: bytes, *, strict: bool = True) -> HashModel:
        return load_model(
            data,
            path=self.path,
            modalities=self._snapshot.model_modalities,
            kernel=self._kernel,
            featurizers=self._featurizers,
            strict=strict,
        )

    def _with_kept_featurizers(self, model: HashModel, *, caller: str) -> HashModel:
        """A new model with the featurizers that the user gave to the collection.

        A featurizer is kept if it fits the new model, and if the new model has none for its modality.
        """
        current = self.model.featurizers if self.has_model else {}
        kept = {
            m: current[m]
            for m in self._featurizers
            if m not in {*model.featurizers, *model.absent_featurizers}
            and current[m].n_features == model.n_features.get(m)
        }
        return with_own_featurizers(model, kept, caller=caller)

    def _model_locked(self) -> AbstractContextManager[object]:
        """Context manager: the model cannot change inside it. Only for writers: other processes cannot write."""
        return self._lock


def read_model(db: Database) -> bytes:
    """The model in the file."""
    data = db.value("SELECT value FROM meta WHERE name = 'model'")
    if not isinstance(data, bytes):
        raise damaged(db.path, "it is missing")
    if db.format >= 2 and _checksum(data) != db.value("SELECT value FROM meta WHERE name = 'model_sha256'"):
        raise damaged(db.path, "its checksum is wrong. Take the file from a backup.")
    return data


def store_model(db: Database, data: bytes, n_bits: int) -> None:
    """Replace the model in the file; within a transaction."""
    set_meta(db, {"model": data, "n_bits": n_bits, "model_sha256": _checksum(data)})


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
