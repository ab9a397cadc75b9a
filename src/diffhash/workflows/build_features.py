"""Feature files to a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from ..files import FeatureFile, encode_file, open_features
from ..hashers.base import BaseHasher
from .filling import fill, new_collection
from .learning import Learned, learn
from .models import load_model
from .names import by_name, for_all
from .payloads import read_payloads
from .progress import Rows
from .relation import Relation, read_known_ids, read_relation

__all__ = ["build_from_features"]


def build_from_features(
    out: Path,
    view: Sequence[str],
    *,
    hasher: BaseHasher,
    model: str | None,
    pairs: str | None,
    negatives: str | None,
    labels: Sequence[str] | None,
    ids: Sequence[str] | None,
    aligned: bool,
    payload: Sequence[str] | None,
    sample: int,
    seed: int,
) -> Learned:
    """Learn a model (or take one), encode every view in blocks, and put all into a new collection."""
    sources = by_name(view, "--view")
    files = {name: open_features(source) for name, source in sources.items()}
    n_rows = {name: file.count() for name, file in files.items()}
    named = for_all(ids, list(files), "--ids")
    known = read_known_ids(named, n_rows)
    kept = for_all(payload, list(files), "--payload")
    if model is None:
        relation = read_relation(
            n_rows, pairs=pairs, negatives=negatives, labels=labels, ids=ids, aligned=aligned
        )
    else:
        # Only whether rows are aligned matters now, which says whether they share ids.
        relation = Relation(n_rows) if _rows_agree(n_rows, pairs, labels) else Relation(n_rows, labels={})
    together = len(files) > 1 and _one_object(relation, named, known)
    names = _ids(n_rows, known, together)
    payloads = read_payloads(kept, n_rows, together=together)
    if model is None:
        views = {name: file.array() for name, file in files.items()}
        learned = learn(hasher, views, relation, sample=sample, seed=seed)
        del views
    else:
        learned = Learned(_fitting(load_model(model), files), model, 0.0)
    with new_collection(out, learned.hasher) as collection:
        for name, file in files.items():
            rows = payloads[name].rows() if name in payloads else None
            with Rows(f"adding {name}", n_rows[name]) as bar:
                blocks = encode_file(learned.hasher, file, name)
                for n in fill(collection, blocks, name, names[name], rows):
                    bar.advance(n)
    return learned


def _rows_agree(n_rows: dict[str, int], pairs: str | None, labels: Sequence[str] | None) -> bool:
    return pairs is None and not labels and len(set(n_rows.values())) == 1


def _fitting(hasher: BaseHasher, files: dict[str, FeatureFile]) -> BaseHasher:
    for name in files:
        if name not in hasher.modalities_:
            known = ", ".join(hasher.modalities_)
            raise typer.BadParameter(f"--view: the model has no modality {name!r}; it has {known}")
    return hasher


def _one_object(relation: Relation, named: dict[str, str], known: dict[str, list[Any]]) -> bool:
    """Whether row r of every view is one object under one id, with one payload.

    So it is with aligned rows, unless they were given different ids, and where one file names the
    rows of all views.
    """
    if relation.aligned:
        first, *others = list(known.values()) or [[]]
        return all(other == first for other in others)
    return len(named) == len(relation.n_rows) and len(set(named.values())) == 1


def _ids(n_rows: dict[str, int], known: dict[str, list[Any]], together: bool) -> dict[str, Iterable[Any]]:
    """Ids of the rows of each view, all of one kind.

    Those given, after the modality's name where two views have the same ids for different objects;
    or row numbers where rows are one object together or there is one view; or the modality's name
    with the row number.
    """
    numbers = len(n_rows) == 1 or together
    if together and known:
        # One file of ids is enough for aligned rows.
        first = next(iter(known.values()))
        known = {name: known.get(name, first) for name in n_rows}
    as_text = any(isinstance(v, str) for values in known.values() for v in values[:1])
    as_text = as_text or (not numbers and len(known) < len(n_rows))
    if not numbers:
        distinct = {str(value) for values in known.values() for value in values}
        if len(distinct) < sum(map(len, known.values())):
            known = {name: [f"{name}-{value}" for value in values] for name, values in known.items()}
            as_text = True

    def of(name: str) -> Iterator[Any]:
        if name in known:
            return (str(value) if as_text else value for value in known[name])
        return (f"{name}-{row}" if as_text and not numbers else row for row in range(n_rows[name]))

    return {name: of(name) for name in n_rows}
