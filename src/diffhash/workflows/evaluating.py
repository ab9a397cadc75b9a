"""``evaluate``: how well codes find the objects that belong together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrationError, InputError, InputFileError
from ..evaluation import Evaluation, RankCorrelation, rank_correlation
from ..evaluation import evaluate as evaluate_codes
from ..evaluation.rank_correlation import METRICS
from ..files import FeatureFile, encode_file, read_codes
from ..model import CoupleCalibration, HashModel
from ..search.calibration import calibration_error, chance_at, false_match_limit
from ..types import CodeArray, IntArray
from .feature_files import naming_bad_rows
from .fused_files import fused_blocks
from .model_files import check_calibrated, choose_modality, load_model
from .object_rows import name_rows
from .options import FileName, OptionError, PairFiles, check_count, check_files, check_type
from .pair_files import check_pair_files, read_pair_files
from .progress import Progress, StepCounter
from .row_relation import RowRelation
from .search_results import CalibrationCheck, Direction, EvaluateResult
from .view_files import Featurizers, open_views

__all__ = ["FUSED", "evaluate"]

#: Name of the fused codes among the directions.
FUSED = "fused"

#: Objects of a modality whose features are compared with their codes.
_MOST_OBJECTS = 2_000
#: Mean number of wrong hits of a query in the promise that is checked.
PROMISED = 1.0


def evaluate(
    model: FileName | None = None,
    views: Mapping[str, FileName] | None = None,
    *,
    codes: Mapping[str, FileName] | None = None,
    pair_files: PairFiles | None = None,
    within: bool = False,
    metric: str = "euclidean",
    fused: bool = False,
    queries: int = 10_000,
    seed: int = 0,
    featurizers: Featurizers | None = None,
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
        Which rows belong together. By default row r of every file is one object. With listed pairs, only the
        couples that have pairs are measured.
    within : bool
        Measure retrieval within each modality too, and, if views are given, the rank correlation of Hamming
        distances with the distances of the features. This needs labels, or ids that occur several times.
    metric : {"euclidean", "diagonal", "cosine", "root-cosine"}
        Distance of the features, for the rank correlation; see :func:`~diffhash.evaluation.rank_correlation`.
    fused : bool
        Measure retrieval into fused codes of the objects too; the query's own object is left out. This needs a
        calibrated model, labels, and rows that are aligned or related by ids.
    queries : int
        At most this many queries in each direction, drawn at random; 0 for all.
    seed : int
        Seed of the drawing.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        Views may then be columns of texts, or of names of pictures.
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
    if not isinstance(metric, str) or metric not in METRICS:
        raise OptionError(f"`metric` must be one of {', '.join(METRICS)}, got {metric!r:.60}")
    pair_files = PairFiles() if pair_files is None else pair_files
    check_type(pair_files, "pair_files", PairFiles)
    check_pair_files(pair_files, list(names))
    _check_within(pair_files, len(names), within)
    if fused and (model is None or pair_files.labels is None or FUSED in names):
        raise OptionError(f"`fused` needs a `model` and `labels`, and no view may be called {FUSED!r}")
    files: dict[str, FeatureFile] = {}
    calibration = None
    if model is not None and views:
        loaded = load_model(model, featurizers)
        if fused:
            check_calibrated(loaded, model)
        files = open_views(views, loaded.featurizers, progress)
        calibration, encoded = loaded.calibration, _encode(loaded, files, progress)
    else:
        encoded = _read(codes or {})
    n_rows = {name: len(rows) for name, rows in encoded.items()}
    relation = read_pair_files(pair_files, n_rows)
    if fused:
        database = _fuse(loaded, files, pair_files, relation)
    directions = []
    rng = np.random.default_rng(seed)
    for a, n in n_rows.items():
        rows = np.sort(rng.choice(n, queries, replace=False)) if queries and queries < n else np.arange(n)
        for b in n_rows:
            if _is_measured(relation, a, b, within or len(n_rows) == 1):
                found = _evaluate(relation, encoded, a, b, rows)
                compared = a == b and a in files and n > 1
                distances = _compare_distances(encoded[a], files[a], metric, seed) if compared else None
                couple = None if calibration is None else calibration.couple(a, b)
                if couple is not None and couple.labelled != (pair_files.labels is not None):
                    couple = None  # chances that an object is the same do not tell whether its label is
                directions.append(_direction(a, b, found, n_rows[b], distances, couple))
        if fused:
            found = database.evaluate(encoded[a], a, rows)
            directions.append(_direction(a, FUSED, found, len(database.codes), None, None))
    if not directions:
        raise InputError(_NEEDS_LABELS)
    return EvaluateResult(tuple(directions))


_NEEDS_LABELS = "evaluate: retrieval within a modality needs `labels`: a query must not find itself."


def _check_within(files: PairFiles, n_views: int, within: bool) -> None:
    """Raise if it is known before anything is read that retrieval within a modality cannot be measured."""
    if files.labels is None and (
        (within and files.ids is None) or (files.pairs is not None and n_views == 1)
    ):
        raise InputError(_NEEDS_LABELS)


def _encode(
    loaded: HashModel, files: Mapping[str, FeatureFile], progress: Progress | None
) -> dict[str, CodeArray]:
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


def _compare_distances(codes: CodeArray, file: FeatureFile, metric: str, seed: int) -> RankCorrelation:
    """Rank correlation on a sample of the rows; only these are in memory."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(codes), min(len(codes), _MOST_OBJECTS), replace=False))
    kept, start = [], 0
    for block in file.blocks():
        low, high = np.searchsorted(rows, (start, start + len(block)))
        kept.append(block[rows[low:high] - start])
        start += len(block)
    return rank_correlation(codes[rows], np.concatenate(kept), metric=metric, random_state=seed)


def _read(codes: Mapping[str, FileName]) -> dict[str, CodeArray]:
    found = {name: read_codes(os.fspath(source)) for name, source in codes.items()}
    for name, rows in found.items():
        if not len(rows):
            raise InputFileError(f"{codes[name]}: there are no rows.")
    return found


def _is_measured(relation: RowRelation, a: str, b: str, within: bool) -> bool:
    """Whether queries of ``a`` have relevant items in ``b``."""
    if relation.couples:
        # Pairs do not tell which item is the query itself.
        return a != b and ((a, b) in relation.couples or (b, a) in relation.couples)
    if relation.ids is None:
        return a != b or (within and not relation.aligned)
    if a != b:
        return bool(np.isin(relation.ids[a], relation.ids[b]).any())
    return within and len(np.unique(relation.ids[a])) < len(relation.ids[a])


def _evaluate(
    relation: RowRelation, codes: Mapping[str, CodeArray], a: str, b: str, rows: IntArray
) -> Evaluation:
    """Evaluate the codes of some rows of ``a`` as queries into ``b``."""
    queries = codes[a][rows]
    labels = relation.ids if relation.labels is None else relation.labels
    if labels is not None:
        own = rows if a == b else None
        gains = "shared" if labels[a].ndim == 2 else None
        return evaluate_codes(queries, codes[b], labels[a][rows], labels[b], own=own, gains=gains)
    places = np.full(len(codes[a]), -1)
    places[rows] = np.arange(len(rows))
    i, j = _positive(relation, a, b, rows)
    kept = places[i] >= 0
    return evaluate_codes(queries, codes[b], relevant=(places[i[kept]], j[kept]))


def _positive(relation: RowRelation, a: str, b: str, rows: IntArray) -> tuple[IntArray, IntArray]:
    for couple, flip in (((a, b), False), ((b, a), True)):
        if couple in relation.couples:
            positive = relation.couples[couple].positive
            assert positive is not None, "pairs from files are listed"
            return (positive[1], positive[0]) if flip else positive
    return rows, rows


@dataclass(frozen=True, eq=False)
class _FusedDatabase:
    """Fused codes of objects, their labels, and the object of each row of each view."""

    codes: CodeArray
    labels: NDArray[Any]
    row_labels: Mapping[str, NDArray[Any]]
    objects: Mapping[str, IntArray] | None

    def evaluate(self, codes: CodeArray, modality: str, rows: IntArray) -> Evaluation:
        """Evaluate some rows of a modality as queries; a query's own object is left out."""
        own = rows if self.objects is None else self.objects[modality][rows]
        labels = self.row_labels[modality][rows]
        gains = "shared" if labels.ndim == 2 else None
        return evaluate_codes(codes[rows], self.codes, labels, self.labels, own=own, gains=gains)


def _fuse(
    model: HashModel, files: Mapping[str, FeatureFile], pair_files: PairFiles, relation: RowRelation
) -> _FusedDatabase:
    assert relation.labels is not None, "fused codes are evaluated with labels"
    objects = name_rows(pair_files, relation.n_rows, relation, fused=True).objects
    with naming_bad_rows(list(files.values())):
        codes = np.concatenate(list(fused_blocks(model, files, objects)))
    if objects is None:
        return _FusedDatabase(codes, next(iter(relation.labels.values())), relation.labels, None)
    numbers = np.concatenate([objects[name] for name in files])
    _, first = np.unique(numbers, return_index=True)
    labels = np.concatenate([relation.labels[name] for name in files])[first]
    return _FusedDatabase(codes, labels, relation.labels, objects)


def _direction(
    a: str,
    b: str,
    result: Evaluation,
    n_items: int,
    distances: RankCorrelation | None,
    couple: CoupleCalibration | None,
) -> Direction:
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
        ndcg=result.mean_ndcg,
        ndcg_interval=result.confidence_interval("mean_ndcg"),
        ndcg_at_10=result.mean_ndcg_at(k),
        rank_correlation=None if distances is None else distances.value,
        rank_correlation_interval=None if distances is None else distances.confidence_interval(),
        calibration=None if couple is None else _check_calibration(result, n_items, couple),
    )


def _check_calibration(result: Evaluation, n_items: int, couple: CoupleCalibration) -> CalibrationCheck:
    """Compare chances and a promise with what happened. Codes in files may have padding bits, which never differ."""
    table = result.table[:, : couple.counts.shape[-1]]
    chances = chance_at(couple, n_items)
    error = None if chances is None else calibration_error(table, chances)
    try:
        limit = false_match_limit(couple, n_items, PROMISED, caller="evaluate")
    except CalibrationError:
        return CalibrationCheck(error, PROMISED, None, None, None)
    wrong, right = table[:, : limit.radius + 1].sum(axis=1).T
    found = float(right.sum() / max(int(table[:, :, 1].sum()), 1))
    return CalibrationCheck(error, PROMISED, limit.radius, float(wrong.mean()), found)
