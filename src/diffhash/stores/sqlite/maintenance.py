"""Maintaining a collection: statistics, checks, compacting, exporting, a new model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...codes import code_bytes
from ...errors import CollectionFileError, InputError, OutputFileError
from ...model import HashModel, model_of
from ...output_files import is_same_file
from ...paths import check_path
from ...validation import check_choice
from ..model_loading import check_extends, check_n_bits, copy_model
from ..reports import VerifyReport
from .description import next_generation, set_meta
from .export import FORMATS, codes_and_ids, write_faiss, write_npy, write_parquet
from .payloads import indexed_fields
from .reading import ReadMixin
from .rewrite import encode_all, rewrite_streams
from .schema import BESIDE, FORMAT_VERSION, new_identity
from .snapshot import Snapshot
from .stored_model import store_model
from .upgrade import upgrade_format
from .verify import verify
from .word_index import count_captions, join_word_parts

if TYPE_CHECKING:
    from ...hashers import BaseHasher

__all__ = ["CollectionStats", "MaintenanceMixin"]


@dataclass(frozen=True)
class CollectionStats:
    """Sizes and counts of a collection; :meth:`Collection.stats` returns it.

    Attributes
    ----------
    path : str
    format_version : int
    model : str or None
        Class name of the hasher that learned the model; None without a model.
    n_bits : int
    n_objects : int
    n_codes : dict by modality
    fused_modality : str or None
        The modality that holds fused codes.
    id_kind : str
        "int", "str", or "" before the first object is added.
    file_bytes : int
        Size of the file and its write-ahead log.
    code_bytes : int
        Size of the codes, without removed ones.
    payload_bytes : int
        Size of the payloads as JSON.
    n_payloads : int
    n_removed : int
        Number of codes that were removed or replaced and still take space; ``compact`` frees it.
    n_segments : int
    indexed_fields : tuple of str
    word_fields : tuple of str
        Payload fields whose words are indexed.
    n_captions : int
        Number of objects in the word index.
    """

    path: str
    format_version: int
    model: str | None
    n_bits: int
    n_objects: int
    n_codes: dict[str, int]
    fused_modality: str | None
    id_kind: str
    file_bytes: int
    code_bytes: int
    payload_bytes: int
    n_payloads: int
    n_removed: int
    n_segments: int
    indexed_fields: tuple[str, ...]
    word_fields: tuple[str, ...]
    n_captions: int


class MaintenanceMixin(ReadMixin):
    """The part of a collection that maintains it."""

    def stats(self) -> CollectionStats:
        """Sizes, counts and indexed fields."""
        with self._reading() as snapshot:
            n_payloads, payload_bytes = self._db.execute(
                "SELECT count(*), total(length(CAST(payload AS BLOB))) FROM payloads"
            ).fetchone()
            n_codes = {name: len(stored) for name, stored in snapshot.modality_codes.items()}
            return CollectionStats(
                path=os.fspath(self.path),
                format_version=self._db.format,
                model=self.model.method if snapshot.has_model else None,
                n_bits=snapshot.n_bits,
                n_objects=len(self),
                n_codes=n_codes,
                fused_modality=snapshot.fused,
                id_kind=snapshot.id_kind,
                file_bytes=self._db.size(),
                code_bytes=sum(n_codes.values()) * code_bytes(snapshot.n_bits),
                payload_bytes=int(payload_bytes),
                n_payloads=n_payloads,
                n_removed=sum(stored.n_removals for stored in snapshot.modality_codes.values()),
                n_segments=self._db.value("SELECT count(*) FROM segments"),
                indexed_fields=tuple(sorted(indexed_fields(self._db))),
                word_fields=snapshot.words,
                n_captions=count_captions(self._db) if snapshot.words else 0,
            )

    def verify(self) -> VerifyReport:
        """Read the whole file and check it: pages, checksums, ids, payloads, indexes, model.

        Returns
        -------
        VerifyReport
            ``.ok`` is True if nothing is wrong; ``.problems`` lists what is.
        """
        with self._reading():
            return verify(self._db, self._load_model)

    def upgrade(self) -> bool:
        """Bring the file to the newest format; content and search results do not change.

        Files of format 1 can be read and written without it. Format 2 finds more kinds of damage: see
        the page about collections. Older releases of diffhash cannot read it. The upgrade is one
        transaction. While it runs, the disk must hold a second copy of the payloads. Whoever has the
        file open for reading is told to open it again.

        Returns
        -------
        bool
            False if the file had the newest format already.

        Raises
        ------
        CollectionFileError
            If the file is damaged; nothing was changed.
        """
        caller = "Collection.upgrade"
        with self._writing(caller) as (snapshot, after_commit):
            if self._db.format == FORMAT_VERSION:
                return False
            problems = verify(self._db, self._load_model).problems
            if problems:
                raise CollectionFileError(
                    f"{caller}: {self.path} is damaged and was not upgraded: {problems[0]}. "
                    "Take the file from a backup."
                )
            identity = new_identity()
            # The log of this transaction belongs to the file before and after it.
            self._mark(snapshot.identity, identity)
            upgrade_format(self._db, identity)
            after_commit.append(self._use_new_format)
        return True

    def _use_new_format(self) -> None:
        self._db.use_format(FORMAT_VERSION)
        with self._db.reading():
            self._snapshot = Snapshot(self._db)
        self._mark(self._snapshot.identity)

    def compact(self) -> None:
        """Free the space of removed and replaced objects, and join small segments.

        Search results do not change. While it runs, the disk must hold a second copy of the file.
        """
        with self._writing("Collection.compact") as (snapshot, after_commit):
            rewrite_streams(self._db, snapshot)
            if snapshot.words:
                join_word_parts(self._db)
            after_commit.append(self._reload)
        with self._lock:
            self._db.vacuum()

    def refit(self, hasher: BaseHasher | HashModel, features: Mapping[str, tuple[Any, Any]]) -> None:
        """Replace the model, and encode all objects again. A collection without a model gets one.

        Parameters
        ----------
        hasher : a fitted hasher or a HashModel, with the same modalities
            Its number of bits may differ. If it has no featurizer for a modality, the one that you gave to
            the collection is kept, provided that it gives as many features as the new model needs.
        features : dict of (ids, array of shape (n, n_features)) by modality
            The features of all stored objects, in any order. If features are missing, nothing is changed:
            codes of two models cannot be compared. Those of the modality of fused codes are (ids, features by
            modality), as for :meth:`add`.
        """
        caller = "Collection.refit"
        model = model_of(hasher, caller=caller)
        check_n_bits(model, caller=caller)
        with self._writing(caller) as (snapshot, after_commit):
            data, model = copy_model(self._with_kept_featurizers(model, caller=caller))
            codes = encode_all(snapshot, model, features, caller=caller)
            store_model(self._db, data, model.n_bits)
            rewrite_streams(self._db, snapshot, codes)
            after_commit += [self._reload, lambda: self._use_model(data, model)]

    def extend(self, hasher: BaseHasher | HashModel) -> None:
        """Take over a model with more modalities. Nothing is encoded again: the stored codes stay valid.

        Parameters
        ----------
        hasher : what ``extend`` of the collection's hasher returned, or its HashModel
            The hash functions of the modalities that the collection has must be the same. If a new modality
            encodes as a known one (``encodes_as``), its objects are stored among those of the known one.

        Examples
        --------
        >>> import diffhash as dh, pathlib, tempfile
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
        >>> views = {"y": data.train.views["y"], "new x": data.train.views["x"] ** 3}
        >>> extended = hasher.extend(views, dh.Pairs.aligned(200), modality="new x", encodes_as="x")
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "objects.dh"
        >>> with dh.Collection.create(path, hasher) as collection:
        ...     ids = collection.add(data.test.views["x"][:5], modality="x")
        ...     collection.extend(extended)
        ...     ids += collection.add(data.test.views["x"][5:] ** 3, modality="new x")
        ...     (hits,) = collection.search(data.test.views["y"][0], modality="y", into="x", k=10)
        ...     len(hits), collection.modalities
        (10, ('x', 'y', 'new x'))
        """
        caller = "Collection.extend"
        model = model_of(hasher, caller=caller)
        with self._writing(caller) as (snapshot, after_commit):
            check_extends(self._current_model(snapshot), model, snapshot.fused, caller=caller)
            data, model = copy_model(self._with_kept_featurizers(model, caller=caller))
            new = [m for m in model.modalities if m not in snapshot.modalities]
            store_model(self._db, data, model.n_bits)
            set_meta(
                self._db,
                {
                    "modalities": json.dumps([*snapshot.modalities, *new]),
                    "generation": next_generation(snapshot.generation),
                },
            )
            after_commit += [self._reload, lambda: self._use_model(data, model)]

    def export(
        self,
        path: str | os.PathLike[str],
        format: str = "parquet",  # noqa: A002 - as pandas and others call it
        *,
        modality: str | None = None,
    ) -> list[Path]:
        """Write codes and ids to a file for other programs.

        Parameters
        ----------
        path : file to write
            An existing file of the same format is replaced. A file of another kind never is.
        format : "parquet", "npy" or "faiss"
            Parquet has a row for each code: id, modality, code and payload. ``npy`` holds the codes; the ids
            are in a second file that ends in ``.ids.npy``. ``faiss`` is a binary index with the ids. If they
            are strings, it has row numbers instead, and the strings are in a second file.
        modality : str, optional
            Parquet can hold all modalities, which is the default; the other formats hold one.

        Returns
        -------
        list of the files that were written
        """
        caller = "Collection.export"
        format = check_choice(format, "format", FORMATS, caller=caller)  # noqa: A001
        target = check_path(path, caller=caller)
        self._check_not_own_file(target, caller)
        with self._reading() as snapshot:
            if format == "parquet":
                chosen = None if modality is None else self._known_modality(modality, snapshot, caller)
                string_ids = snapshot.id_kind == "str"
                return write_parquet(target, self.iterate(chosen), string_ids, snapshot.n_bits)
            filled = [name for name, stored in snapshot.modality_codes.items() if len(stored)]
            if modality is None and len(filled) > 1:
                raise InputError(f"{caller}: {format} holds one modality. Say which: modality=...")
            chosen = self._known_modality(modality or (filled or snapshot.modalities)[0], snapshot, caller)
            codes, ids = codes_and_ids(snapshot, chosen)
            if format == "npy":
                return write_npy(target, codes, ids)
            return write_faiss(target, codes, ids, snapshot.n_bits)

    def _check_not_own_file(self, target: Path, caller: str) -> None:
        """Raise an error if an export would replace the collection, or a file that SQLite keeps beside it."""
        if is_same_file(target, [f"{self.path}{suffix}" for suffix in ("", *BESIDE)]):
            raise OutputFileError(
                f"{caller}: {target} belongs to the collection itself. Choose another name."
            )
