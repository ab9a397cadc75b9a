"""``evaluate``: how well codes find the objects that belong together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputFileError
from ..evaluation import Evaluation
from ..evaluation import evaluate as evaluate_codes
from ..files import encode_file, open_features, read_codes
from ..types import CodeArray, IntArray
from .feature_files import naming_bad_rows
from .model_files import choose_modality, load_model
from .options import FileName, OptionError, PairFiles, check_count, check_files, check_type
from .pair_files import check_pair_files, read_labels_of_rows, read_pair_files
from .progress import Progress, StepCounter
from .results import Direction, EvaluateResult

__all__ = ["evaluate"]


def evaluate(
    model: FileName | None = None,
    views: Mapping[str, FileName] | None = None,
    *,
    codes: Mapping[str, FileName] | None = None,
    pair_files: PairFiles | None = None,
    within: bool = False,
    queries: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> EvaluateResult:
    """Measure retrieval from every modality into every other.

    Parameters
    ----------
    model : model (.dhm) or collection (.dh), optional
    views : dict of feature files by modality, optional
        Objects that the model was not learned from. They are encoded by the model.
    codes : dict of files of codes by modality, optional
        In place of a model and views.
    pair_files : PairFiles, optional
        Which rows belong together. By default row r of every file is one object.
    within : bool
        Measure retrieval within each modality too. This needs labels.
    queries : int
        At most this many queries in each direction, drawn at random; 0 for all.
    seed : int
        Seed of the drawing.
    progress : function, optional
        Called with a :class:`Step`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "codes.npy", np.arange(16, dtype=np.uint8)[:, None])
    >>> result = evaluate(codes={"x": folder / "codes.npy", "y": folder / "codes.npy"})
    >>> [(d.query, d.into, d.recall_at_1) for d in result.directions]
    [('x', 'y', 1.0), ('y', 'x', 1.0)]
    """
    if bool(views) == bool(codes):
        raise OptionError("give `model` and `views`, or `codes`")
    if bool(views) != (model is not None):
        raise OptionError("`views` needs a `model`, `codes` needs none")
    names = views or codes or {}
    check_files(names, "views" if views else "codes")
    check_count(queries, "queries")
    check_count(seed, "seed")
    pair_files = PairFiles() if pair_files is None else pair_files
    check_type(pair_files, "pair_files", PairFiles)
    check_pair_files(pair_files)
    if pair_files.pairs is not None and len(names) > 2:
        raise OptionError("`pairs` are between two modalities. Give two, or use `labels`")
    if pair_files.labels is None and (within or (pair_files.pairs is not None and len(names) == 1)):
        raise InputError(
            "evaluate: retrieval within a modality needs `labels`: a query must not find itself."
        )
    encoded = _encode(model, views, progress) if model is not None and views else _read(codes or {})
    relevant = _Relevance(pair_files, {name: len(rows) for name, rows in encoded.items()})
    directions = []
    for a, b, rows in _directions(encoded, within, queries, seed):
        directions.append(_direction(a, b, relevant.evaluate(encoded, a, b, rows), len(encoded[b])))
    return EvaluateResult(tuple(directions))


def _encode(
    model: FileName, views: Mapping[str, FileName], progress: Progress | None
) -> dict[str, CodeArray]:
    loaded = load_model(model)
    files = {name: open_features(os.fspath(source)) for name, source in views.items()}
    for name, file in files.items():
        choose_modality(loaded, file, name)
    found = {}
    for name, file in files.items():
        counter = StepCounter(progress, f"encoding {name}", file.n_rows)
        blocks = []
        with naming_bad_rows([file]):
            for block in encode_file(loaded, file, name):
                blocks.append(block)
                counter.advance(len(block))
        if not blocks:
            raise InputFileError(f"{file.source}: there are no rows.")
        found[name] = np.concatenate(blocks)
    return found


def _read(codes: Mapping[str, FileName]) -> dict[str, CodeArray]:
    found = {name: read_codes(os.fspath(source)) for name, source in codes.items()}
    for name, rows in found.items():
        if not len(rows):
            raise InputFileError(f"{codes[name]}: there are no rows.")
    return found


def _directions(
    codes: Mapping[str, CodeArray], within: bool, queries: int, seed: int
) -> Iterator[tuple[str, str, IntArray]]:
    """Modality of the queries, modality of the items, and the rows that are queries."""
    rng = np.random.default_rng(seed)
    for a in codes:
        n = len(codes[a])
        rows = np.sort(rng.choice(n, queries, replace=False)) if queries and queries < n else np.arange(n)
        for b in codes:
            if a != b or within or len(codes) == 1:
                yield a, b, rows


class _Relevance:
    """Which items are relevant for which queries, in every direction."""

    def __init__(self, files: PairFiles, n_rows: Mapping[str, int]) -> None:
        self._names = list(n_rows)
        self._labels: dict[str, NDArray[Any]] | None = None
        if files.labels is not None:
            self._labels = read_labels_of_rows(files.labels, n_rows)
        else:
            self._pairs = read_pair_files(files, n_rows)

    def evaluate(self, codes: Mapping[str, CodeArray], a: str, b: str, rows: IntArray) -> Evaluation:
        """Evaluate the codes of some rows of ``a`` as queries into ``b``."""
        queries = codes[a][rows]
        if self._labels is not None:
            own = rows if a == b else None
            return evaluate_codes(queries, codes[b], self._labels[a][rows], self._labels[b], own=own)
        i, j = self._positive(a, rows)
        places = np.full(len(codes[a]), -1)
        places[rows] = np.arange(len(rows))
        kept = places[i] >= 0
        return evaluate_codes(queries, codes[b], relevant=(places[i[kept]], j[kept]))

    def _positive(self, a: str, rows: IntArray) -> tuple[IntArray, IntArray]:
        if self._pairs.positive is None:
            return rows, rows
        i, j = self._pairs.positive
        return (i, j) if a == self._names[0] else (j, i)


def _direction(a: str, b: str, result: Evaluation, n_items: int) -> Direction:
    k = min(10, n_items)
    return Direction(
        query=a,
        into=b,
        queries=len(result.table) - result.n_without_relevant,
        without_relevant=result.n_without_relevant,
        items=n_items,
        mean_average_precision=result.mean_average_precision,
        interval=result.confidence_interval(),
        equal_error_rate=result.equal_error_rate,
        precision_at_10=result.precision_at(k),
        recall_at_1=result.recall_at(1),
        recall_at_10=result.recall_at(k),
    )
