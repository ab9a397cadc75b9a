"""Looking after a collection: figures, checks, compacting, exporting, a new model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...codes import code_bytes
from ...errors import InputError
from ...hashers.base import BaseHasher
from ...model import model_of
from ...validation import check_choice
from .export import FORMATS, codes_and_ids, write_faiss, write_npy, write_parquet
from .payloads import indexed_fields
from .rewrite import check_bits, encode_anew, store_model, write_anew
from .schema import FORMAT_VERSION
from .searching import Searching
from .verify import VerifyReport, verify

__all__ = ["CollectionStats", "Maintenance"]


@dataclass(frozen=True)
class CollectionStats:
    """Figures of a collection, from :meth:`Collection.stats`.

    Attributes
    ----------
    path : str
    format_version : int
    model : str
        Class of the hasher.
    n_bits : int
    n_objects : int
    n_codes : dict by modality
    id_kind : str
        "int", "str", or "" while there is none.
    file_bytes, code_bytes, payload_bytes : int
        Of the file with its log, of the codes that are there, of the payloads as JSON.
    n_payloads : int
    n_removed : int
        Codes that were removed or replaced and still take room: ``compact`` gives it back.
    n_segments : int
    indexed_fields : tuple of str
    """

    path: str
    format_version: int
    model: str
    n_bits: int
    n_objects: int
    n_codes: dict[str, int]
    id_kind: str
    file_bytes: int
    code_bytes: int
    payload_bytes: int
    n_payloads: int
    n_removed: int
    n_segments: int
    indexed_fields: tuple[str, ...]


class Maintenance(Searching):
    """The part of a collection that looks after it."""

    def stats(self) -> CollectionStats:
        """Figures: sizes, counts, what is indexed."""
        with self._reading() as state:
            n_payloads, payload_bytes = self._db.execute(
                "SELECT count(*), total(length(CAST(payload AS BLOB))) FROM payloads"
            ).fetchone()
            n_codes = {name: len(shelf) for name, shelf in state.shelves.items()}
            return CollectionStats(
                path=os.fspath(self.path),
                format_version=FORMAT_VERSION,
                model=type(self.hasher).__name__,
                n_bits=state.n_bits,
                n_objects=len(self),
                n_codes=n_codes,
                id_kind=state.id_kind,
                file_bytes=self._db.size(),
                code_bytes=sum(n_codes.values()) * code_bytes(state.n_bits),
                payload_bytes=int(payload_bytes),
                n_payloads=n_payloads,
                n_removed=sum(shelf.n_removals for shelf in state.shelves.values()),
                n_segments=self._db.value("SELECT count(*) FROM segments"),
                indexed_fields=tuple(sorted(indexed_fields(self._db))),
            )

    def verify(self) -> VerifyReport:
        """Read the whole file and check it: pages, checksums, ids, payloads, indexes, model.

        Returns
        -------
        VerifyReport
            ``.ok``, and ``.problems`` in words.
        """
        with self._reading():
            return verify(self._db, kernel=self._kernel)

    def compact(self) -> None:
        """Give back the room of what was removed or replaced, and put small segments together.

        Nothing that a search finds changes. It needs room for a second copy while it runs.
        """
        with self._writing("Collection.compact") as (state, after):
            write_anew(self._db, state)
            after.append(self._reload)
        with self._lock:
            self._db.vacuum()

    def refit(self, hasher: BaseHasher, features: Mapping[str, tuple[Any, Any]]) -> None:
        """Replace the model, and encode everything anew.

        Parameters
        ----------
        hasher : a fitted hasher of the same modalities
            Its number of bits may differ.
        features : dict of (ids, array of shape (n, n_features)) by modality
            Of all stored objects, in any order. If any is missing nothing is changed: codes of two models
            cannot be compared.
        """
        caller = "Collection.refit"
        model_of(hasher, caller=caller)
        check_bits(hasher, caller=caller)
        with self._writing(caller) as (state, after):
            codes = encode_anew(state, hasher, features, caller=caller)
            ordered = {m: codes[m] for m in state.modalities}
            store_model(self._db, hasher)
            write_anew(self._db, state, ordered)
            after.append(self._reload)

    def _reload(self) -> None:
        with self._db.reading():
            self._state = self._state.refresh(self._db)

    def export(
        self,
        path: str | os.PathLike[str],
        format: str = "parquet",  # noqa: A002 - as pandas and others call it
        *,
        modality: str | None = None,
    ) -> list[Path]:
        """Copy codes and ids for other programs.

        Parameters
        ----------
        path : file to write; one that is there is replaced
        format : "parquet", "npy" or "faiss"
            Parquet has a row for each code: id, modality, code and payload. ``npy`` is the codes, with the ids in
            a second file that ends in ``.ids.npy``. ``faiss`` is a binary index with the ids; where these are strings,
            it has row numbers, and the strings are in a second file.
        modality : str, optional
            Parquet can take all of them, which is the default; the others take one.

        Returns
        -------
        list of the files that were written
        """
        caller = "Collection.export"
        format = check_choice(format, "format", FORMATS, caller=caller)  # noqa: A001
        target = Path(path)
        with self._reading() as state:
            if format == "parquet":
                chosen = None if modality is None else self._modality(modality, state, caller)
                width = code_bytes(state.n_bits)
                return write_parquet(target, self.iterate(chosen), state.id_kind == "str", width)
            if modality is None and sum(len(shelf) > 0 for shelf in state.shelves.values()) > 1:
                raise InputError(f"{caller}: {format} holds one modality. Say which: modality=...")
            filled = [name for name, shelf in state.shelves.items() if len(shelf)]
            chosen = self._modality(modality or (filled or state.modalities)[0], state, caller)
            codes, ids = codes_and_ids(state, chosen)
            if format == "npy":
                return write_npy(target, codes, ids)
            return write_faiss(target, codes, ids, state.n_bits)
