"""Files of pairs, labels and ids become ``Pairs``; a sample of rows keeps exactly their pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputFileError
from diffhash.workflows.options import PairFiles
from diffhash.workflows.pair_files import describe_pairs, read_pair_files, sample_rows
from tests.strategies import problems


def listed(index):
    return set(zip(*(side.tolist() for side in index), strict=True))


def all_pairs(pairs, n_rows):
    """Positive and negative pairs, one by one."""
    sizes = list(n_rows.values())
    resolved = pairs.resolve(sizes[0], sizes[1] if len(sizes) > 1 else None)
    n_all = resolved.n_positive, resolved.n_negative
    sample = pairs.sample(*n_all, 0, n_rows=tuple(sizes) if len(sizes) > 1 else sizes[0])
    return listed(sample.positive), listed(sample.negative)


@given(problems(), st.integers(1, 12), st.integers(0, 2**31))
def test_a_sample_of_rows_has_the_pairs_among_them(problem, n, seed):
    n_rows = {"x": len(problem.x)} if problem.one_view else {"x": len(problem.x), "y": len(problem.y)}
    if problem.pairs.positive is not None and problem.pairs.resolve(*n_rows.values()).groups is not None:
        return  # drawn from labels, which no file gives

    drawn, rows = sample_rows(problem.pairs, n_rows, n, seed)

    x, y = rows["x"], rows.get("y", rows["x"])
    positive, negative = all_pairs(drawn, {name: len(r) for name, r in rows.items()})
    ordered = (lambda i, j: (min(i, j), max(i, j))) if problem.one_view else (lambda i, j: (i, j))
    positive = {ordered(int(x[i]), int(y[j])) for i, j in positive}
    negative = {ordered(int(x[i]), int(y[j])) for i, j in negative}
    assert positive <= problem.positive
    if problem.pairs.positive is None:
        assert all(len(r) == min(n, n_rows[name]) for name, r in rows.items())
        among = {(i, j) for i, j in problem.positive if i in x and j in y}
        assert positive == among
        assert negative == {(i, j) for i, j in problem.negative if i in x and j in y}
    else:
        assert len(positive) <= n


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text("id,class\na,0\nb,1\nc,1\n")
    (tmp_path / "y.csv").write_text("id,class\np,1\nq,0\n")
    (tmp_path / "pairs.csv").write_text("x,y\nb,p\nc,p\na,q\n")
    np.save(tmp_path / "pairs.npy", np.array([[1, 0], [2, 0], [0, 1]]))
    np.save(tmp_path / "negative.npy", np.array([[0, 0]]))
    return tmp_path


N_ROWS = {"x": 3, "y": 2}


def by_modality(folder, column):
    return {name: f"{folder / name}.csv#{column}" for name in "xy"}


def test_every_kind_of_file_says_the_same(folder):
    expected = {(1, 0), (2, 0), (0, 1)}, {(0, 0), (1, 1), (2, 1)}

    for files in (
        PairFiles(pairs=folder / "pairs.npy"),
        PairFiles(pairs=folder / "pairs.csv", ids=by_modality(folder, "id")),
        PairFiles(labels=by_modality(folder, "class")),
    ):
        assert all_pairs(read_pair_files(files, N_ROWS), N_ROWS) == expected


def test_negatives_are_those_of_the_file(folder):
    files = PairFiles(pairs=folder / "pairs.npy", negatives=folder / "negative.npy")

    assert listed(read_pair_files(files, N_ROWS).negative) == {(0, 0)}


def test_pairs_are_described_in_words():
    assert describe_pairs(dh.Pairs.aligned(1200), {"x": 1200, "y": 1200}) == "1,200 aligned rows"
    assert describe_pairs(dh.Pairs(([0, 1], [1, 0])), N_ROWS) == "2 pairs"
    assert describe_pairs(dh.Pairs.from_labels([0, 1, 1], [1, 0]), N_ROWS) == "3 and 2 labelled rows"
    assert describe_pairs(dh.Pairs.from_labels([0, 1], [1, 0]), {"x": 2, "y": 2}) == "2 labelled rows"
    assert describe_pairs(dh.Pairs(([0], [1])), N_ROWS) == "1 pair"


def test_files_that_do_not_fit_the_views_are_named(folder):
    np.save(folder / "far.npy", np.array([[0, 2]]))

    with pytest.raises(InputFileError, match=r"far\.npy: row 2 of 'y' does not exist"):
        read_pair_files(PairFiles(pairs=folder / "far.npy"), N_ROWS)
    with pytest.raises(
        InputFileError, match=r"3 labels for the 4 rows of 'x'.*first line was read as the header"
    ):
        read_pair_files(PairFiles(labels=by_modality(folder, "class")), {"x": 4, "y": 2})
    with pytest.raises(InputFileError, match=r"3 labels for the 5 rows of 'x'\.$"):
        read_pair_files(PairFiles(labels=by_modality(folder, "class")), {"x": 5, "y": 2})
