"""The word index: the words of all captions, in a table of SQLite's FTS5 (format 2).

A file has this index only if its description names the payload fields that are captions. The index does
not keep the captions themselves: they are in the payloads, which have checksums, and the check of a file
compares the two. The rowid is the key of the
object. To remove an entry, FTS5 is given the same words again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import Any

from ..caption_words import caption_of, folded_all
from ..close_words import WordList
from .database import Database
from .sqlite_errors import damage_is_reported
from .totals import CAPTIONS, Total, add_to_total, clear_total, read_totals

__all__ = [
    "add_captions",
    "check_word_index",
    "count_captions",
    "count_captions_with",
    "document_counts",
    "indexed_word_fields",
    "join_word_parts",
    "matching_keys",
    "read_word_list",
    "remove_all_captions",
    "remove_captions",
]

#: Captions that are made into words in one go.
_BLOCK = 10_000
#: Most words of the vocabulary that close words are looked for in.
_MAX_WORDS = 500_000


def indexed_word_fields(db: Database) -> list[str]:
    """Payload fields of the word index; empty if there is none."""
    if db.format < 2:
        return []
    stored = db.value("SELECT value FROM meta WHERE name = 'words'")
    with damage_is_reported(db.path):
        return [] if stored is None else [str(field) for field in json.loads(stored)]


def add_captions(
    db: Database, fields: Sequence[str], payloads: Iterable[tuple[int, Mapping[str, Any]]]
) -> None:
    """Index the captions of new payloads; within a transaction."""
    for keys, words in _blocks(fields, payloads):
        db.executemany("INSERT INTO words (rowid, caption) VALUES (?, ?)", zip(keys, words, strict=True))
        add_to_total(db, CAPTIONS, len(keys), 0)


def remove_captions(db: Database, fields: Sequence[str], payloads: Mapping[int, Mapping[str, Any]]) -> None:
    """Remove the captions of payloads that are going to be replaced or removed; within a transaction."""
    rows = list(_entries(fields, payloads.items()))
    db.executemany("INSERT INTO words (words, rowid, caption) VALUES ('delete', ?, ?)", rows)
    add_to_total(db, CAPTIONS, -len(rows), 0)


def remove_all_captions(db: Database) -> None:
    """Remove everything from the index; within a transaction."""
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    clear_total(db, CAPTIONS)


def join_word_parts(db: Database) -> None:
    """Join the parts of the index to one; within a transaction."""
    db.execute("INSERT INTO words (words) VALUES ('optimize')")


def _entries(
    fields: Sequence[str], payloads: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[int, str]]:
    """Rows (key, words) of the index; captions without words have none."""
    for keys, words in _blocks(fields, payloads):
        yield from zip(keys, words, strict=True)


def _blocks(
    fields: Sequence[str], payloads: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[list[int], list[str]]]:
    """Keys and words of the rows in blocks: the captions of a whole collection may not fit into memory."""
    remaining = iter(payloads)
    single = len(fields) == 1
    while True:
        # Lists of numbers and strings, and not of tuples: those take the garbage collector longer than the rest.
        keys, captions = [], []
        for key, payload in islice(remaining, _BLOCK):
            keys.append(key)
            text = payload.get(fields[0]) if single else None
            captions.append(text if type(text) is str else caption_of(payload, fields))
        if not keys:
            return
        words = folded_all(captions)
        if not all(words):
            keys = list(compress(keys, words))
            words = list(filter(None, words))
        yield keys, words


def count_captions(db: Database) -> int:
    """Number of captions that have words."""
    return read_totals(db).get(CAPTIONS, Total()).entries


def document_counts(db: Database, words: Iterable[str]) -> dict[str, int]:
    """How many captions have each word; words that none has are left out."""
    _open_word_list(db)
    found = {word: db.value("SELECT doc FROM temp.word_list WHERE term = ?", (word,)) for word in words}
    with damage_is_reported(db.path):
        return {word: int(count) for word, count in found.items() if count}


def count_captions_with(db: Database, words: Iterable[str]) -> int:
    """How many captions have at least one of some words."""
    query = _any_of(words)
    with damage_is_reported(db.path):
        return int(db.value("SELECT COUNT(*) FROM words WHERE words MATCH ?", (query,)))


def read_word_list(db: Database) -> WordList:
    """The whole vocabulary."""
    _open_word_list(db)
    rows = db.execute("SELECT term, doc FROM temp.word_list LIMIT ?", (_MAX_WORDS,)).fetchall()
    with damage_is_reported(db.path):
        return WordList([word for word, _ in rows if word], [int(count) for word, count in rows if word])


def _open_word_list(db: Database) -> None:
    # In the temporary schema: the file does not change, and a reader can do it.
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_list USING fts5vocab(main, words, row)")


def matching_keys(
    db: Database, groups: Sequence[Sequence[str]], *, all_groups: bool
) -> Iterator[tuple[int, float]]:
    """Keys of the captions that have a word of one group, or of all groups, and BM25 scores; the lowest is best."""
    query = (" AND " if all_groups else " OR ").join(f"({_any_of(group)})" for group in groups)
    statement = "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? ORDER BY score, rowid"
    for key, score in db.execute(statement, (query,)):
        with damage_is_reported(db.path):  # a damaged index has no scores
            match = int(key), float(score)
        yield match


def _any_of(words: Iterable[str]) -> str:
    """A query of FTS5. Words are letters and digits only (:mod:`..caption_words`), and in quotes they are no syntax."""
    return " OR ".join(f'"{word}"' for word in words)


def check_word_index(db: Database, fields: Sequence[str], payloads: Iterable[tuple[int, Any]]) -> list[str]:
    """Compare the index with the captions in the payloads; what is wrong."""
    expected, lengths, total = Total(), Total(), Total()
    n_words = 0
    for key, words in _entries(fields, payloads):
        total = total.plus(1, 0)
        split = words.split()
        n_words += len(split)
        lengths = lengths.plus(1, _crc(key, _varint(len(split)).hex()))
        expected = expected.plus(len(split), sum(_crc(key, n, word) for n, word in enumerate(split)))
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_places USING fts5vocab(main, words, instance)")
    found = Total()
    for word, key, place in db.execute('SELECT term, doc, "offset" FROM temp.word_places'):
        found = found.plus(1, _crc(key, place, word))
    stored_lengths = Total()
    for key, size in db.execute("SELECT id, sz FROM words_docsize"):
        stored_lengths = stored_lengths.plus(1, _crc(key, size.hex() if isinstance(size, bytes) else size))
    sums = db.value("SELECT block FROM words_data WHERE id = 1")
    # FTS5 writes the sums with the first caption, and leaves zeros when the last one is removed.
    sums_agree = sums == _varint(total.entries) + _varint(n_words) or (not n_words and not any(sums or b""))
    if found != expected or stored_lengths != lengths or not sums_agree:
        return ["the word index does not match the captions in the payloads"]
    if read_totals(db).get(CAPTIONS, Total()) != total:
        return [f"there should be {count_captions(db)} captions in the word index, not {total.entries}"]
    return []


def _crc(*values: Any) -> int:
    return zlib.crc32(" ".join(map(str, values)).encode("utf-8", "surrogatepass"))


def _varint(number: int) -> bytes:
    """A number as SQLite writes it: seven bits in a byte, the first ones first."""
    parts = [number & 0x7F]
    while number := number >> 7:
        parts.append(number & 0x7F | 0x80)
    return bytes(reversed(parts))
