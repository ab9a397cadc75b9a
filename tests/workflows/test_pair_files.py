"""Files of pairs, labels and ids say which rows belong together; a sample of rows keeps exactly their pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputFileError
from diffhash.pairs.couples import name_couples
from diffhash.workflows.options import OptionError, PairFiles
from diffhash.workflows.pair_files import read_pair_files
from diffhash.workflows.row_relation import RowRelation

NAMES = ("image", "text", "speech")


def related(relation):
    """Positive pairs of each couple, one by one: {(modality, row), (modality, row)}."""
    found = set()
    named = name_couples(relation.pairs(), list(relation.n_rows), caller="test")
    for (a, b), pairs in named.pairs.items():
        n = relation.n_rows
        resolved = pairs.resolve(n[a], None if a == b else n[b])
        if not resolved.n_positive:
            continue
        listed = pairs.sample(resolved.n_positive, 0, 0, n_rows=n[a] if a == b else (n[a], n[b])).positive
        found |= {frozenset([(a, int(i)), (b, int(j))]) for i, j in zip(*listed, strict=True)}
    return found


@st.composite
def relations(draw):
    """Two or three views with every kind of relation; ids with gaps and several rows of one object."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = NAMES[: draw(st.integers(2, 3))]
    kind = draw(st.sampled_from(["aligned", "labels", "ids", "couples"]))
    n_rows = {name: int(rng.integers(3, 9)) for name in names}
    if kind == "aligned":
        return RowRelation(dict.fromkeys(names, 6))
    if kind == "labels":
        return RowRelation(n_rows, labels={name: rng.integers(0, 3, n) for name, n in n_rows.items()})
    if kind == "ids":
        return RowRelation(n_rows, ids={name: rng.integers(0, 7, n) for name, n in n_rows.items()})
    couples = {}
    for a, b in zip(names, (*names[1:], names[-1]), strict=True):
        count = int(rng.integers(1, 9))
        index = rng.integers(0, n_rows[a], count), rng.integers(0, n_rows[b], count)
        couples[a, b] = dh.Pairs(index)
    return RowRelation(n_rows, couples=couples)


@given(relations(), st.integers(1, 12), st.integers(0, 2**31))
def test_a_sample_of_rows_has_the_pairs_among_them(relation, n, seed):
    drawn, rows = relation.sample(n, seed)

    everything = related(relation)
    found = {frozenset((m, int(rows[m][row])) for m, row in pair) for pair in related(drawn)}
    assert drawn.n_rows == {name: len(chosen) for name, chosen in rows.items()}
    assert found <= everything
    if not relation.couples:
        among = {pair for pair in everything if all(row in rows[m] for m, row in pair)}
        assert found == among
    if relation.aligned or relation.ids is not None:
        assert drawn.size() == min(max(n, len(relation.n_rows) if relation.ids else 1), relation.size()) or (
            relation.ids is not None and drawn.size() <= len(relation.n_rows)
        )
        assert all(drawn.n_rows.values())


@given(relations())
def test_a_sample_of_everything_is_everything(relation):
    drawn, rows = relation.sample(1000, 0)

    assert {frozenset((m, int(rows[m][row])) for m, row in pair) for pair in related(drawn)} == related(
        relation
    )
    assert drawn.describe() == relation.describe()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text("id,class\na,0\nb,1\nc,1\n")
    (tmp_path / "y.csv").write_text("id,class\np,1\nq,0\n")
    (tmp_path / "pairs.csv").write_text("x,y\nb,p\nc,p\na,q\n")
    (tmp_path / "z.csv").write_text("id,class\na,0\na,0\nnobody,1\nc,1\n")
    np.save(tmp_path / "pairs.npy", np.array([[1, 0], [2, 0], [0, 1]]))
    np.save(tmp_path / "negative.npy", np.array([[0, 0]]))
    return tmp_path


N_ROWS = {"x": 3, "y": 2}


def by_modality(folder, column, names="xy"):
    return {name: f"{folder / name}.csv#{column}" for name in names}


def pairs_of(*rows):
    return {frozenset([(a, i), (b, j)]) for a, i, b, j in rows}


def test_every_kind_of_file_says_the_same(folder):
    for files in (
        PairFiles(pairs=folder / "pairs.npy"),
        PairFiles(pairs={("x", "y"): folder / "pairs.npy"}),
        PairFiles(pairs=folder / "pairs.csv", ids=by_modality(folder, "id")),
        PairFiles(labels=by_modality(folder, "class")),
    ):
        assert related(read_pair_files(files, N_ROWS)) == pairs_of(
            ("x", 1, "y", 0), ("x", 2, "y", 0), ("x", 0, "y", 1)
        )


def test_ids_relate_rows_with_gaps_and_several_rows(folder):
    relation = read_pair_files(PairFiles(ids=by_modality(folder, "id", "xz")), {"x": 3, "z": 4})

    assert related(relation) == pairs_of(("x", 0, "z", 0), ("x", 0, "z", 1), ("x", 2, "z", 3))
    assert relation.describe() == "4 objects by id"


def test_equal_ids_are_aligned_rows_and_ids_without_a_common_one_are_refused(folder):
    """Equal numbers of rows may be a coincidence."""
    same = PairFiles(ids={"x": f"{folder / 'x'}.csv#id", "y": f"{folder / 'x'}.csv#id"})
    assert read_pair_files(same, {"x": 3, "y": 3}).aligned
    (folder / "other.csv").write_text("id\nr\ns\nt\n")
    different = {"x": f"{folder / 'x'}.csv#id", "y": f"{folder / 'other'}.csv#id"}
    assert read_pair_files(PairFiles(ids=different, aligned=True), {"x": 3, "y": 3}).aligned
    with pytest.raises(OptionError, match="no id occurs in two views"):
        read_pair_files(PairFiles(ids=different), {"x": 3, "y": 3})
    with pytest.raises(OptionError, match="no id occurs in two views"):
        read_pair_files(PairFiles(ids=by_modality(folder, "id")), N_ROWS)
    with pytest.raises(OptionError, match=r"Give `ids` of the rows of every view \(they are missing for y\)"):
        read_pair_files(PairFiles(ids=by_modality(folder, "id", "x")), N_ROWS)


def test_pairs_of_many_views_name_their_couple(folder):
    n_rows = {"x": 3, "y": 2, "z": 4}
    (folder / "yz.csv").write_text("z,y\n3,0\n")
    (folder / "plain.csv").write_text("a,b\n0,0\n")
    both = {("x", "y"): folder / "pairs.npy", ("y", "z"): folder / "yz.csv"}

    relation = read_pair_files(PairFiles(pairs=both), n_rows)

    assert set(relation.couples) == {("x", "y"), ("y", "z")}
    assert relation.couples["y", "z"].positive[1].tolist() == [3]
    assert relation.describe() == "3 pairs of x and y, 1 pair of y and z"
    with pytest.raises(OptionError, match="`pairs` say nothing about 'x'"):
        read_pair_files(PairFiles(pairs=folder / "yz.csv"), n_rows)
    with pytest.raises(OptionError, match="between which of x, y, z are the pairs"):
        read_pair_files(PairFiles(pairs=folder / "plain.csv"), n_rows)
    with pytest.raises(OptionError, match="`pairs` names 'w', which is not one of x, y, z"):
        read_pair_files(PairFiles(pairs={("x", "w"): folder / "yz.csv"}), n_rows)
    with pytest.raises(OptionError, match="`negatives` names x:z, which has no `pairs`"):
        read_pair_files(PairFiles(pairs=both, negatives={("x", "z"): folder / "negative.npy"}), n_rows)
    with pytest.raises(OptionError, match="a couple is a tuple of two modalities"):
        read_pair_files(PairFiles(pairs={"x": folder / "yz.csv"}), n_rows)


def test_negatives_are_those_of_the_file(folder):
    files = PairFiles(pairs=folder / "pairs.npy", negatives=folder / "negative.npy")

    negative = read_pair_files(files, N_ROWS).couples["x", "y"].negative
    assert [side.tolist() for side in negative] == [[0], [0]]


def test_relations_are_described_in_words():
    assert RowRelation({"x": 1200, "y": 1200}).describe() == "1,200 aligned rows"
    assert RowRelation(N_ROWS, couples={("x", "y"): dh.Pairs(([0, 1], [1, 0]))}).describe() == "2 pairs"
    assert RowRelation(N_ROWS, couples={("x", "y"): dh.Pairs(([0], [1]))}).describe() == "1 pair"
    three = {"x": 3, "y": 2, "z": 4}
    assert RowRelation(three, labels={}).describe() == "3, 2 and 4 labelled rows"
    assert RowRelation({"x": 2, "y": 2}, labels={}).describe() == "2 labelled rows"


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
