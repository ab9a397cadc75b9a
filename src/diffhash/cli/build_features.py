"""Feature files to a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from ..files import FeatureFile, encode_file, open_features, open_table
from ..hashers.base import BaseHasher
from .filling import fill, new_collection
from .learning import Learned, learn
from .models import load_model
from .options import by_name, for_all
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
    known = read_known_ids(for_all(ids, list(files), "--ids"), n_rows)
    payloads = for_all(payload, list(files), "--payload")
    if model is None:
        relation = read_relation(
            n_rows, pairs=pairs, negatives=negatives, labels=labels, ids=ids, aligned=aligned
        )
        views = {name: file.array() for name, file in files.items()}
        learned = learn(hasher, views, relation, sample=sample, seed=seed)
        del views
    else:
        learned = Learned(_fitting(load_model(model), files), model, 0.0)
        # Only whether rows are aligned matters now, which says whether they share ids.
        relation = Relation(n_rows) if _rows_agree(n_rows, pairs, labels) else Relation(n_rows, labels={})
    # Aligned rows are one object under one id, with one payload.
    shared = relation.aligned and len(files) > 1
    names = _ids(n_rows, known, shared)
    with new_collection(out, learned.hasher) as collection:
        done: set[str] = set()
        for name, file in files.items():
            source = payloads.get(name)
            rows = open_table(source).rows() if source and not (shared and source in done) else None
            if source:
                done.add(source)
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


def _ids(n_rows: dict[str, int], known: dict[str, list[Any]], shared: bool) -> dict[str, Iterable[Any]]:
    """Ids of the rows of each view, all of one kind.

    Those given; or row numbers where aligned rows share them or there is one view; or the
    modality's name with the row number.
    """
    numbers = len(n_rows) == 1 or shared
    if shared and known:
        # One file of ids is enough for aligned rows.
        first = next(iter(known.values()))
        known = {name: known.get(name, first) for name in n_rows}
    as_text = any(isinstance(v, str) for values in known.values() for v in values[:1])
    as_text = as_text or (not numbers and len(known) < len(n_rows))

    def of(name: str) -> Iterator[Any]:
        if name in known:
            return (str(value) if as_text else value for value in known[name])
        return (f"{name}-{row}" if as_text and not numbers else row for row in range(n_rows[name]))

    return {name: of(name) for name in n_rows}
