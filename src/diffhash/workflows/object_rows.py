"""Which rows of the views are one object of a collection, and the ids under which they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputFileError
from ..model.fused_codes import number_objects
from ..types import IntArray
from .options import OptionError, PairFiles, files_by_modality
from .pair_files import ids_of_all_views, read_row_ids
from .row_relation import RowRelation

__all__ = ["ObjectRows", "name_rows"]


@dataclass(frozen=True)
class ObjectRows:
    """Ids of rows, and the objects that they belong to.

    Attributes
    ----------
    row_ids : function
        Gives the ids of the rows of a modality, in order.
    one_object : bool
        Row r of every view is one object.
    objects : dict of int arrays by modality, or None
        Object number of each row if rows are related by ids; None otherwise.
    repeats : dict of int arrays by modality
        How many earlier rows of the view belong to the same object; only if rows are related by ids.
    object_ids : list or None
        Id of each object number.
    """

    row_ids: Callable[[str], Iterable[Any]]
    one_object: bool = False
    objects: Mapping[str, IntArray] | None = None
    repeats: Mapping[str, IntArray] | None = None
    object_ids: list[Any] | None = None


def name_rows(
    files: PairFiles, n_rows: Mapping[str, int], relation: RowRelation, *, fused: bool = False
) -> ObjectRows:
    """Decide which rows are one object, and under which id each row is stored.

    Rows are one object if the relation is by ids or by rows. Labels and listed pairs relate different objects; then
    rows are one object if one file has the ids of all views, or if ``fused`` codes need it and all views have ids.

    Parameters
    ----------
    files : PairFiles
        Its ids are read.
    n_rows : dict by modality
    relation : RowRelation
        What the files say about the rows.
    fused : bool
        Whether the rows of an object are fused: it must be known which they are. Without ids, row r of every
        view is one object, if the numbers of rows are equal.
    """
    sources = files_by_modality(files.ids, list(n_rows), "ids")
    for_all = len(sources) == len(n_rows) > 1
    one_file = for_all and len(set(sources.values())) == 1
    if relation.ids is not None or (fused and for_all and not relation.aligned):
        return _by_id(read_row_ids(sources, n_rows, unique=False), n_rows)
    ids = read_row_ids(sources, n_rows)
    one_object = one_file or (fused and not ids and len(set(n_rows.values())) == 1)
    if relation.aligned and len(n_rows) > 1:
        first, *others = list(ids.values()) or [[]]
        one_object = all(other == first for other in others)
    if fused and len(n_rows) > 1 and not one_object:
        raise OptionError(
            "`fused` needs to know which rows are one object. Give `ids` of the rows of every view, with the same id "
            "for the same object"
        )
    return ObjectRows(_plain_ids(n_rows, ids, one_object), one_object=one_object)


def _by_id(given: Mapping[str, list[Any]], n_rows: Mapping[str, int]) -> ObjectRows:
    """Rows with the same id are one object. The second row of an object in a view is stored as "id#2"."""
    ids = ids_of_all_views(given)
    objects, found = number_objects(n_rows, ids, caller="build")
    repeats = {name: _earlier_rows(numbers) for name, numbers in objects.items()}
    as_text = found.dtype.kind == "U" or any(counts.any() for counts in repeats.values())
    object_ids = [str(value) for value in found] if as_text else found.tolist()
    known = set(object_ids)

    def row_ids(name: str) -> Iterator[Any]:
        for number, count in zip(objects[name].tolist(), repeats[name].tolist(), strict=True):
            new = f"{object_ids[number]}#{count + 1}"
            if count and new in known:
                raise InputFileError(
                    f"`ids`: the second row of {object_ids[number]!r} in {name!r} would be stored as {new!r}, which is "
                    "the id of another object. Rename it."
                )
            yield new if count else object_ids[number]

    for name, counts in repeats.items():
        if counts.any() and as_text and found.dtype.kind == "U":
            # Ids that collide raise here, and not halfway through the writing.
            for _ in row_ids(name):
                pass
    return ObjectRows(row_ids, objects=objects, repeats=repeats, object_ids=object_ids)


def _earlier_rows(numbers: IntArray) -> IntArray:
    """For each row the number of earlier rows with the same number.

    Examples
    --------
    >>> _earlier_rows(np.array([4, 2, 4, 4, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.searchsorted(ordered, ordered)
    counts = np.empty(len(numbers), np.int64)
    counts[order] = np.arange(len(numbers)) - starts
    return counts


def _plain_ids(
    n_rows: Mapping[str, int], ids: Mapping[str, list[Any]], one_object: bool
) -> Callable[[str], Iterable[Any]]:
    """Ids of the rows of each view: all whole numbers, or all strings.

    Ids from files are kept. If two views have the same id for different objects, the name of the
    modality is put before it. Without files, ids are row numbers, with the name of the modality
    before them if the views have different objects.
    """
    numbered = len(n_rows) == 1 or one_object
    if one_object and ids:
        # The ids of one view are those of all.
        first = next(iter(ids.values()))
        ids = {name: ids.get(name, first) for name in n_rows}
    as_text = any(isinstance(v, str) for values in ids.values() for v in values[:1])
    as_text = as_text or (not numbered and len(ids) < len(n_rows))
    if not numbered:
        distinct = {str(value) for values in ids.values() for value in values}
        if len(distinct) < sum(map(len, ids.values())):
            ids = {name: [f"{name}-{value}" for value in values] for name, values in ids.items()}
            as_text = True

    def row_ids(name: str) -> Iterator[Any]:
        if name in ids:
            return (str(value) if as_text else value for value in ids[name])
        return (f"{name}-{row}" if as_text and not numbered else row for row in range(n_rows[name]))

    return row_ids
