"""Files that say which rows belong together, read as :class:`~diffhash.Pairs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from ..files import Source, read_ids, read_labels, read_pairs
from ..pairs import Pairs
from ..pairs.resolved import ResolvedPairs
from ..types import IntArray, PairIndex
from .options import FileNames, OptionError, PairFiles, files_by_modality

__all__ = [
    "check_pair_files",
    "describe_pairs",
    "read_labels_of_rows",
    "read_pair_files",
    "read_row_ids",
    "sample_rows",
]


def read_pair_files(files: PairFiles, n_rows: Mapping[str, int]) -> Pairs:
    """Pairs between the rows of two views, or within one.

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
    >>> read_pair_files(PairFiles(), {"image": 500, "text": 500})
    Pairs(500 aligned rows, negative: every other pair)
    """
    check_pair_files(files)
    if files.labels is not None:
        first, *others = read_labels_of_rows(files.labels, n_rows).values()
        return Pairs.from_labels(first, others[0] if others else None)
    if files.pairs is not None:
        names = list(n_rows)
        ids = read_row_ids(files_by_modality(files.ids, names, "ids"), n_rows)
        positive, negative = (
            None if file is None else _check_row_numbers(read_pairs(file, names, ids), n_rows, str(file))
            for file in (files.pairs, files.negatives)
        )
        return Pairs(positive, negative)
    if len(n_rows) < 2:
        raise OptionError("one view needs `pairs` or `labels`: there is no other view to be aligned with")
    if len(set(n_rows.values())) != 1:
        counts = ", ".join(f"{name} {n:,}" for name, n in n_rows.items())
        raise OptionError(
            f"the views have different numbers of rows ({counts}), so they are not aligned. "
            "Give `pairs` or `labels`"
        )
    return Pairs.aligned(next(iter(n_rows.values())))


def check_pair_files(files: PairFiles) -> None:
    """Raise if files contradict each other."""
    if (files.pairs is not None) + (files.labels is not None) + files.aligned > 1:
        raise OptionError("give only one of `pairs`, `labels` and `aligned`")
    if files.negatives is not None and files.pairs is None:
        raise OptionError("`negatives` needs `pairs`")


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


def read_row_ids(sources: Mapping[str, str], n_rows: Mapping[str, int]) -> dict[str, list[Any]]:
    """Ids of the rows of each view that has a file of them."""
    found = {name: read_ids(source) for name, source in sources.items()}
    for name, values in found.items():
        _check_count(len(values), n_rows[name], name, "ids", sources[name])
    return found


def describe_pairs(pairs: Pairs, n_rows: Mapping[str, int]) -> str:
    """A few words for people.

    Examples
    --------
    >>> describe_pairs(Pairs.aligned(5000), {"image": 5000, "text": 5000})
    '5,000 aligned rows'
    """
    if pairs.positive is not None:
        return _counted([len(pairs.positive[0])], "pair")
    if _resolve(pairs, n_rows).aligned:
        return _counted([min(n_rows.values())], "aligned row")
    return _counted(list(dict.fromkeys(n_rows.values())), "labelled row")


def _counted(numbers: list[int], what: str) -> str:
    return f"{' and '.join(f'{n:,}' for n in numbers)} {what}{'' if numbers == [1] else 's'}"


def sample_rows(
    pairs: Pairs, n_rows: Mapping[str, int], n: int, seed: int
) -> tuple[Pairs, dict[str, IntArray]]:
    """Draw at most ``n`` objects of each view, or ``n`` pairs if pairs are listed.

    Returns
    -------
    pairs : Pairs
        The pairs among the rows that were drawn. Their row numbers count the rows that were drawn.
    rows : dict by modality
        Row numbers that were drawn, sorted.

    Examples
    --------
    >>> pairs, rows = sample_rows(Pairs([[7, 3, 5], [1, 1, 2]]), {"image": 10, "text": 4}, 2, seed=0)
    >>> len(rows["image"]), [rows["image"][i] for i in pairs.positive[0]]
    (2, [np.int64(3), np.int64(5)])
    """
    rng = np.random.default_rng(seed)

    def draw(size: int) -> IntArray:
        return np.sort(rng.choice(size, min(n, size), replace=False))

    if pairs.positive is None:
        resolved = _resolve(pairs, n_rows)
        if resolved.aligned:
            chosen = draw(resolved.n_x)
            return Pairs.aligned(len(chosen)), dict.fromkeys(n_rows, chosen)
        rows = {name: draw(size) for name, size in n_rows.items()}
        first, *others = _labels(resolved, list(rows.values()))
        return Pairs.from_labels(first, others[0] if others else None), rows
    kept = draw(len(pairs.positive[0]))
    i, j = (side[kept] for side in pairs.positive)
    names = list(n_rows)
    if len(names) == 1:
        rows = {names[0]: np.unique(np.concatenate([i, j]))}
    else:
        rows = {names[0]: np.unique(i), names[-1]: np.unique(j)}
    rows_x, rows_y = rows[names[0]], rows[names[-1]]
    positive = np.searchsorted(rows_x, i), np.searchsorted(rows_y, j)
    negative = None if pairs.negative is None else _among(pairs.negative, rows_x, rows_y)
    return Pairs(positive, negative), rows


def _resolve(pairs: Pairs, n_rows: Mapping[str, int]) -> ResolvedPairs:
    first, *others = n_rows.values()
    return pairs.resolve(first, others[0] if others else None)


def _labels(resolved: ResolvedPairs, rows: list[IntArray]) -> list[NDArray[Any]]:
    """Labels of some rows of the views. The number of a group is as good as the label itself."""
    groups = resolved.groups
    assert groups is not None, "pairs that are neither listed nor aligned come from labels"
    chosen = [side[r] for side, r in zip((groups.x, groups.y), rows, strict=False)]
    return chosen if groups.sets is None else [groups.sets[side] for side in chosen]


def _among(pairs: PairIndex, rows_x: IntArray, rows_y: IntArray) -> PairIndex:
    """The pairs whose rows were both drawn, with their new numbers."""
    i, j = pairs
    kept = np.isin(i, rows_x) & np.isin(j, rows_y)
    return np.searchsorted(rows_x, i[kept]), np.searchsorted(rows_y, j[kept])


def _check_row_numbers(pairs: PairIndex, n_rows: Mapping[str, int], name: str) -> PairIndex:
    sizes = list(n_rows.items())
    for rows, (modality, n) in zip(pairs, (sizes[0], sizes[-1]), strict=True):
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
