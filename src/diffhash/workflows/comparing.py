"""``compare``: ours beside other ways to store features, on feature files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..comparison import Comparison
from ..comparison import compare as compare_views
from ..comparison.measuring import BITS
from ..errors import InputFileError
from ..files import Source, open_table
from ..files.arrays import load_array
from ..pairs import Pairs
from .feature_files import check_not_empty, naming_bad_rows
from .options import FileName, OptionError, PairFiles, check_count, check_files, check_type
from .pair_files import read_pair_files
from .progress import Progress, Step, report
from .results import Result
from .row_relation import RowRelation
from .view_files import Featurizers, load_featurizers, open_views

__all__ = ["CompareResult", "compare"]


@dataclass(frozen=True)
class CompareResult(Result):
    """What :func:`compare` found.

    Attributes
    ----------
    comparisons : tuple of Comparison
        One for each couple of modalities.
    """

    comparisons: tuple[Comparison, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold."""
        return {"comparisons": [each.to_dict() for each in self.comparisons]}


def compare(
    views: Mapping[str, FileName],
    *,
    pair_files: PairFiles | None = None,
    test: FileName | None = None,
    share: float = 0.25,
    bits: Sequence[int] = BITS,
    seed: int = 0,
    featurizers: Featurizers | None = None,
    progress: Progress | None = None,
) -> CompareResult:
    """Compare ways to store the items of feature files, for each couple of modalities.

    Parameters
    ----------
    views : dict of feature files by modality
        Two or more.
    pair_files : PairFiles, optional
        Which rows belong together. By default row r of every view is one object.
    test : file, optional
        Rows to hold out: an array or a column of truth values (or of 0 and 1). By default objects are drawn at
        random.
    share : float
        Share of the objects that are held out.
    bits : list of int
        Widths of codes, multiples of 8.
    seed : int
        Seed of everything that is random.
    featurizers : dict by modality, optional
        Featurizers of raw objects: objects, or names (:func:`~diffhash.featurizers.load_featurizer`). The file of
        such a modality may be a column of texts, or of names of pictures.
    progress : function, optional
        Called with a :class:`Step`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> np.save(folder / "x.npy", x)
    >>> np.save(folder / "y.npy", x[:, :4] + x[:, 4:])
    >>> result = compare({"x": folder / "x.npy", "y": folder / "y.npy"}, bits=[8])
    >>> result.comparisons[0].measure
    'recall@10'
    """
    check_files(views, "views")
    if len(views) < 2:
        raise OptionError("two or more `views` are needed")
    check_count(seed, "seed")
    pair_files = PairFiles() if pair_files is None else pair_files
    check_type(pair_files, "pair_files", PairFiles)
    if pair_files.negatives is not None:
        raise OptionError("`negatives` do not count here: queries are compared with all items")
    files = open_views(views, load_featurizers(featurizers, list(views)), progress)
    arrays = {name: file.array() for name, file in files.items()}
    n_rows = {name: len(array) for name, array in arrays.items()}
    check_not_empty(files, n_rows)
    relation = read_pair_files(pair_files, n_rows)
    held_out = None if test is None else _read_test(test)
    found = []
    with naming_bad_rows(files.values()):
        for a, b in combinations(views, 2):
            related = _relate(relation, a, b)
            if related is None:
                continue

            def tell(done: int, total: int, name: str, couple: str = f"{a} and {b}") -> None:
                report(progress, Step(f"comparing {couple}", done, total, "methods", name))

            found.append(
                compare_views(
                    {a: arrays[a], b: arrays[b]},
                    **related,
                    test=held_out,
                    share=share,
                    bits=bits,
                    random_state=seed,
                    progress=tell,
                )
            )
    if not found:
        raise OptionError("no rows of two different views belong together. See `pairs`, `labels` and `ids`")
    return CompareResult(tuple(found))


def _relate(relation: RowRelation, a: str, b: str) -> dict[str, Any] | None:
    """Pairs or labels of a couple; None if nothing relates its views."""
    if relation.labels is not None:
        return {"labels": {a: relation.labels[a], b: relation.labels[b]}}
    if relation.ids is not None:
        i, j = _same_ids(relation.ids[a], relation.ids[b])
        return {"pairs": Pairs((i, j))} if len(i) else None
    if relation.couples:
        if (a, b) in relation.couples:
            return {"pairs": relation.couples[a, b]}
        if (b, a) in relation.couples:
            positive = relation.couples[b, a].positive
            assert positive is not None, "pairs from files are listed"
            return {"pairs": Pairs((positive[1], positive[0]))}
        return None
    return {}


def _same_ids(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of rows with the same id."""
    order = np.argsort(b, kind="stable")
    low, high = (np.searchsorted(b[order], a, side=side) for side in ("left", "right"))
    counts = high - low
    rows = np.repeat(np.arange(len(a)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, order[np.repeat(low, counts) + within]


def _read_test(name: FileName) -> NDArray[np.bool_]:
    """Truth values of the rows to hold out."""
    source = Source.parse(name)
    if source.kind in (".npy", ".npz"):
        values = np.asarray(load_array(source))
    else:
        values = np.asarray(open_table(source).column())
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise InputFileError(
            f"{source}: `test` must have a truth value (or 0 or 1) for each row, got {values.dtype} of shape "
            f"{values.shape}."
        )
    return values.astype(bool)
