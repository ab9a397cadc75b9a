"""Files that say which rows belong together, read as a :class:`.row_relation.RowRelation`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from ..files import TABLE_KINDS, Source, open_table, read_ids, read_labels, read_pairs
from ..pairs import Pairs
from ..types import PairIndex
from .options import FileName, FileNames, OptionError, PairFileNames, PairFiles, files_by_modality
from .row_relation import Couple, RowRelation

__all__ = [
    "check_pair_files",
    "ids_of_all_views",
    "read_labels_of_rows",
    "read_pair_files",
    "read_row_ids",
    "relation_by_id",
]


def read_pair_files(files: PairFiles, n_rows: Mapping[str, int]) -> RowRelation:
    """Which rows of the views belong together.

    Parameters
    ----------
    files : PairFiles
    n_rows : dict by modality
        Number of rows of each view.

    Raises
    ------
    OptionError
        If the files that are given do not say which rows belong together.
    InputFileError
        If a file cannot be read, or does not fit the views.

    Examples
    --------
    >>> read_pair_files(PairFiles(), {"image": 500, "text": 500, "speech": 500}).describe()
    '500 aligned rows'
    """
    names = list(n_rows)
    check_pair_files(files, names)
    if files.labels is not None:
        return RowRelation(n_rows, labels=read_labels_of_rows(files.labels, n_rows))
    if files.pairs is not None:
        return RowRelation(n_rows, couples=_read_couples(files, n_rows))
    by_id = relation_by_id(files, n_rows)
    if by_id is not None:
        return by_id
    if len(names) < 2:
        raise OptionError("one view needs `pairs` or `labels`: there is no other view to be aligned with")
    id_files = files_by_modality(files.ids, names, "ids")
    missing = [name for name in names if name not in id_files]
    if not missing and not files.aligned:
        # Equal numbers of rows may be a coincidence: the ids say that all rows are different objects.
        raise OptionError(
            "`ids`: no id occurs in two views, so they do not say which rows belong together. Give the same id to rows "
            "of the same object, give `pairs` or `labels`, or `aligned` if row r of every view is one object"
        )
    if len(set(n_rows.values())) > 1:
        counts = ", ".join(f"{name} {n:,}" for name, n in n_rows.items())
        hint = f" (they are missing for {', '.join(missing)})" if id_files else ""
        raise OptionError(
            f"the views have different numbers of rows ({counts}), so they are not aligned. "
            f"Give `ids` of the rows of every view{hint}, or `pairs` or `labels`"
        )
    return RowRelation(n_rows)


def relation_by_id(files: PairFiles, n_rows: Mapping[str, int]) -> RowRelation | None:
    """The relation of rows by their ids; None if the files do not give one.

    All views must have ids, and some id must occur in two of them.
    """
    sources = files_by_modality(files.ids, list(n_rows), "ids")
    if files.pairs is not None or files.labels is not None or files.aligned or len(n_rows) < 2:
        return None
    if len(sources) < len(n_rows):
        return None
    ids = ids_of_all_views(read_row_ids(sources, n_rows, unique=False))
    distinct = np.concatenate([np.unique(values) for values in ids.values()])
    if len(np.unique(distinct)) == len(distinct):
        return None
    first = next(iter(ids.values()))
    same = all(np.array_equal(first, other) for other in ids.values())
    return RowRelation(n_rows, ids=None if same and len(np.unique(first)) == len(first) else ids)


def check_pair_files(files: PairFiles, names: Sequence[str]) -> None:
    """Raise if files contradict each other, or if pairs do not say between which modalities they are."""
    if (files.pairs is not None) + (files.labels is not None) + files.aligned > 1:
        raise OptionError("give only one of `pairs`, `labels` and `aligned`")
    if files.negatives is not None and files.pairs is None:
        raise OptionError("`negatives` needs `pairs`")
    for option, given in (("pairs", files.pairs), ("negatives", files.negatives)):
        if isinstance(given, Mapping):
            for couple in given:
                _check_couple(couple, names, option)


def _check_couple(couple: Any, names: Sequence[str], option: str) -> None:
    if not isinstance(couple, tuple) or len(couple) != 2 or not all(isinstance(m, str) for m in couple):
        raise OptionError(f"`{option}`: a couple is a tuple of two modalities, got {couple!r:.60}")
    for name in couple:
        if name not in names:
            raise OptionError(f"`{option}` names {name!r}, which is not one of {', '.join(names)}")


def _read_couples(files: PairFiles, n_rows: Mapping[str, int]) -> dict[Couple, Pairs]:
    """Listed pairs of each couple."""
    assert files.pairs is not None
    names = list(n_rows)
    ids = read_row_ids(files_by_modality(files.ids, names, "ids"), n_rows)
    positives = _by_couple(files.pairs, names, "pairs")
    negatives = {} if files.negatives is None else _by_couple(files.negatives, names, "negatives")
    found: dict[Couple, Pairs] = {}
    for couple, file in positives.items():
        other = negatives.pop(couple, negatives.pop(couple[::-1], None))
        sides = list(dict.fromkeys(couple))
        positive, negative = (
            None
            if name is None
            else _check_row_numbers(read_pairs(name, sides, ids), couple, n_rows, os.fspath(name))
            for name in (file, other)
        )
        found[couple] = Pairs(positive, negative)
    for couple in negatives:
        raise OptionError(f"`negatives` names {couple[0]}:{couple[1]}, which has no `pairs`")
    alone = [name for name in names if not any(name in couple for couple in found)]
    if alone:
        raise OptionError(
            f"`pairs` say nothing about {alone[0]!r}. Give its pairs too: `pairs` {names[0]}:{alone[0]}=FILE, "
            "or leave its `view` out"
        )
    return found


def _by_couple(given: PairFileNames, names: Sequence[str], option: str) -> dict[Couple, FileName]:
    """Files by couple. A file without a couple is about the only one, or about the one that its columns name."""
    if isinstance(given, Mapping):
        return dict(given.items())
    if len(names) <= 2:
        return {(names[0], names[-1]): given}
    columns: Sequence[str] = ()
    source = Source.parse(given)
    if source.kind in TABLE_KINDS:
        columns = source.part.split(",") if source.part else open_table(source).columns
    named = [name for name in columns if name in names]
    if len(named) != 2:
        raise OptionError(
            f"`{option}`: between which of {', '.join(names)} are the pairs in {given}? Name the two columns after "
            f"them, or write `{option}` {names[0]}:{names[1]}={given}"
        )
    return {(named[0], named[1]): given}


def read_labels_of_rows(labels: FileNames, n_rows: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Labels of the rows of every view."""
    sources = files_by_modality(labels, list(n_rows), "labels")
    for name in n_rows:
        if name not in sources:
            raise OptionError(f"`labels` are missing for {name!r}. Give them too: `labels` {name}=FILE")
    found = read_labels({name: sources[name] for name in n_rows})
    for name, values in found.items():
        _check_count(len(values), n_rows[name], name, "labels", sources[name])
    return found


def read_row_ids(
    sources: Mapping[str, str], n_rows: Mapping[str, int], *, unique: bool = True
) -> dict[str, list[Any]]:
    """Ids of the rows of each view that has a file of them."""
    found = {name: read_ids(source, unique=unique) for name, source in sources.items()}
    for name, values in found.items():
        _check_count(len(values), n_rows[name], name, "ids", sources[name])
    return found


def ids_of_all_views(ids: Mapping[str, list[Any]]) -> dict[str, NDArray[Any]]:
    """Ids as arrays of one type: whole numbers, or strings if a view has strings."""
    as_text = any(isinstance(value, str) for values in ids.values() for value in values[:1])
    return {
        name: np.array([str(value) for value in values], np.str_) if as_text else np.array(values, np.int64)
        for name, values in ids.items()
    }


def _check_row_numbers(pairs: PairIndex, couple: Couple, n_rows: Mapping[str, int], name: str) -> PairIndex:
    for rows, modality in zip(pairs, couple, strict=True):
        n = n_rows[modality]
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            wrong = rows.min() if rows.min() < 0 else rows.max()
            raise InputFileError(
                f"{name}: row {wrong} of {modality!r} does not exist. Its rows are 0 to {n - 1:,}."
            )
    return pairs


def _check_count(n_values: int, n_rows: int, modality: str, what: str, file: str) -> None:
    if n_values != n_rows:
        is_csv = Source.parse(file).kind == ".csv"
        hint = " The first line was read as the header line. If it is data, add a header line."
        raise InputFileError(
            f"{file}: there are {n_values:,} {what} for the {n_rows:,} rows of {modality!r}."
            f"{hint if is_csv and n_values == n_rows - 1 else ''}"
        )
