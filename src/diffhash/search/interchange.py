"""Conversions of an index from and to other libraries and files."""

from __future__ import annotations

import os
from typing import Any, Self

from .arrow_codes import codes_from_arrow, codes_to_arrow, read_parquet, write_parquet
from .code_buffer import CodeBuffer
from .faiss_index import codes_from_faiss, codes_to_faiss
from .usearch_index import codes_from_usearch, codes_to_usearch

__all__ = ["Interchange"]


class Interchange:
    """The methods ``from_…`` and ``to_…`` of :class:`~diffhash.HammingIndex`; a library is imported when it is used."""

    _buffer: CodeBuffer

    def __init__(self, codes: Any = None, ids: Any = None, *, n_bits: int | None = None) -> None:
        raise NotImplementedError

    @classmethod
    def from_faiss(cls, index: Any, *, n_bits: int | None = None) -> Self:
        """Copy the codes and ids of a FAISS index.

        Parameters
        ----------
        index : ``faiss.IndexBinaryFlat``, or ``faiss.IndexBinaryIDMap`` around one
        n_bits : int, optional
            Number of bits of a code, by default all bits of its bytes.

        Raises
        ------
        InputError
            If the index is of another kind, or an id occurs twice.
        """
        codes, ids = codes_from_faiss(index, caller="HammingIndex.from_faiss")
        return cls(codes, ids, n_bits=n_bits)

    def to_faiss(self) -> Any:
        """Copy into a FAISS index: ``IndexBinaryFlat``, inside an ``IndexBinaryIDMap2`` if there are ids.

        FAISS orders equal distances differently, and its range search excludes the radius.

        Raises
        ------
        MissingExtraError
            If FAISS is not installed (``pip install faiss-cpu``).
        """
        return codes_to_faiss(self._buffer.current, caller="HammingIndex.to_faiss")

    @classmethod
    def from_usearch(cls, index: Any, *, n_bits: int | None = None) -> Self:
        """Copy the codes and keys of a usearch index of bits; the codes are in the order of the keys.

        Parameters
        ----------
        index : ``usearch.index.Index`` with ``dtype="b1"``
        n_bits : int, optional
            Number of bits of a code, by default that of the index.

        Raises
        ------
        InputError
            If the index does not hold bits, or has several vectors of one key.
        """
        codes, ids, own_bits = codes_from_usearch(index, caller="HammingIndex.from_usearch")
        return cls(codes, ids, n_bits=own_bits if n_bits is None else n_bits)

    def to_usearch(self) -> Any:
        """Copy into a usearch ``Index`` of bits with the Hamming metric; the keys are the ids.

        usearch builds a graph (HNSW), whose search is approximate; ``index.search(..., exact=True)`` is not.

        Raises
        ------
        InputError
            If an id is negative.
        MissingExtraError
            If usearch is not installed (``pip install usearch``).
        """
        return codes_to_usearch(self._buffer.current, caller="HammingIndex.to_usearch")

    @classmethod
    def from_arrow(cls, table: Any, *, modality: str | None = None, n_bits: int | None = None) -> Self:
        """Search codes in a table of Arrow; they are not copied if they are fixed-size and in one piece.

        Parameters
        ----------
        table : pyarrow.Table, or anything with the Arrow interface (a polars frame, a record batch)
            The column ``code`` has binary values of one length, or lists of uint8. The column ``id`` has whole
            numbers; without it, ids are the row numbers.
        modality : str, optional
            If the table has a column ``modality`` (an export of a collection): the rows to take, which are copied.
        n_bits : int, optional
            Number of bits of a code; by default what :meth:`to_arrow` wrote, or all bits of the bytes.

        Notes
        -----
        The table must not be changed while the index is used. A table that is mapped from an Arrow file
        (``pyarrow.memory_map``) is searched where it lies.
        """
        caller = "HammingIndex.from_arrow"
        codes, ids, own_bits = codes_from_arrow(table, modality=modality, caller=caller)
        return cls(codes, ids, n_bits=own_bits if n_bits is None else n_bits)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with the columns ``id`` (int64) and ``code`` (fixed-size binary).

        Codes and ids are not copied. Later changes of the index do not change the table.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed (``pip install 'diffhash[parquet]'``).
        """
        return codes_to_arrow(self._buffer.current, caller="HammingIndex.to_arrow")

    @classmethod
    def from_parquet(
        cls, path: str | os.PathLike[str], *, modality: str | None = None, n_bits: int | None = None
    ) -> Self:
        """Read the table of :meth:`from_arrow` from a Parquet file, such as an export of a collection.

        Parameters
        ----------
        path : path of the file
        modality, n_bits
            As for :meth:`from_arrow`.
        """
        caller = "HammingIndex.from_parquet"
        table = read_parquet(path, modality=modality, caller=caller)
        codes, ids, own_bits = codes_from_arrow(table, modality=modality, caller=caller)
        return cls(codes, ids, n_bits=own_bits if n_bits is None else n_bits)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of :meth:`to_arrow` to a Parquet file.

        The file appears whole or not at all. It replaces an old Parquet file, never a file of another kind.
        """
        write_parquet(path, self._buffer.current, caller="HammingIndex.to_parquet")
