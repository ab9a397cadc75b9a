"""An index to usearch, Arrow and Parquet, and back."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from diffhash import HammingIndex
from diffhash.errors import InputError, InputFileError, MissingExtraError, OutputFileError
from tests.search.test_index import codes_of

pa = pytest.importorskip("pyarrow")


def padded(n_bits):
    codes = codes_of(6)
    codes[:, -1] &= (1 << (n_bits - 56)) - 1
    return codes


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("n_bits", [64, 61])
@pytest.mark.parametrize("ids", [None, [10, 30, 20, 50, 7, 9]])
@pytest.mark.parametrize("way", ["arrow", "usearch", "parquet"])
def test_there_and_back(way, ids, n_bits, tmp_path):
    if way == "usearch":
        pytest.importorskip("usearch")
    index = HammingIndex(padded(n_bits), ids, n_bits=n_bits)

    if way == "parquet":
        index.to_parquet(tmp_path / "codes.parquet")
        back = HammingIndex.from_parquet(tmp_path / "codes.parquet")
    else:
        back = getattr(HammingIndex, f"from_{way}")(getattr(index, f"to_{way}")())

    assert back.n_bits == n_bits
    assert sorted(back.ids) == sorted(index.ids)
    np.testing.assert_array_equal(back.get(index.ids), index.codes)
    for k in (1, 4):
        there, here = (each.search(index.codes, k) for each in (back, index))
        np.testing.assert_array_equal(there.distances, here.distances)
        np.testing.assert_array_equal(there.ids, here.ids)


@pytest.mark.parametrize("way", ["arrow", "usearch", "parquet"])
def test_an_empty_index(way, tmp_path):
    if way == "usearch":
        pytest.importorskip("usearch")
    index = HammingIndex(n_bits=12)
    if way == "parquet":
        index.to_parquet(tmp_path / "x.parquet")
        back = HammingIndex.from_parquet(tmp_path / "x.parquet")
    else:
        back = getattr(HammingIndex, f"from_{way}")(getattr(index, f"to_{way}")())

    assert repr(back) == "HammingIndex(n=0, n_bits=12)"


def test_usearch_finds_the_same_distances():
    pytest.importorskip("usearch")
    index = HammingIndex(codes_of(50), np.arange(50) * 3)

    found = index.to_usearch().search(codes_of(50)[:4], 5, exact=True)

    np.testing.assert_array_equal(np.asarray(found.distances), index.search(codes_of(50)[:4], 5).distances)


def test_bad_indexes_of_usearch_are_refused():
    usearch = pytest.importorskip("usearch.index")
    with pytest.raises(InputError, match=r"index of bits \(dtype='b1'\)"):
        HammingIndex.from_usearch(usearch.Index(ndim=8))
    with pytest.raises(InputError, match=r"usearch\.index\.Index, got ndarray"):
        HammingIndex.from_usearch(codes_of(2))
    with pytest.raises(InputError, match="multi=True"):
        HammingIndex.from_usearch(usearch.Index(ndim=8, dtype="b1", metric="hamming", multi=True))
    with pytest.raises(InputError, match="the id -5"):
        HammingIndex(codes_of(2), [-5, 3]).to_usearch()


def test_arrow_shares_the_memory_in_both_directions():
    codes, ids = codes_of(6), np.array([4, 2, 9, 7, 1, 5])
    index = HammingIndex(codes, ids)

    table = index.to_arrow()
    assert table.column("code").chunk(0).buffers()[1].address == address(codes)
    assert table.column("id").chunk(0).buffers()[1].address == address(ids)
    back = HammingIndex.from_arrow(table)
    assert address(back.codes) == address(codes)
    assert address(back.ids) == address(ids)

    part = HammingIndex.from_arrow(table.slice(2, 3))
    assert address(part.codes) == address(codes) + 2 * codes.shape[1]
    np.testing.assert_array_equal(part.ids, ids[2:5])


def test_a_table_does_not_change_with_the_index():
    index = HammingIndex(codes_of(6))
    index.add(codes_of(8)[6:])
    before = index.to_arrow()
    kept = before.to_pylist()

    index.add(np.zeros((1, codes_of(1).shape[1]), np.uint8))
    index.remove([0, 1])

    assert before.to_pylist() == kept


def test_an_arrow_file_is_searched_where_it_lies(tmp_path):
    codes = np.random.default_rng(0).integers(0, 256, (200_000, 8), dtype=np.uint8)
    table = HammingIndex(codes, np.arange(200_000)[::-1]).to_arrow()
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    before = pa.total_allocated_bytes()

    with pa.memory_map(str(tmp_path / "x.arrow")) as source:
        mapped = pa.ipc.open_file(source).read_all()
        index = HammingIndex.from_arrow(mapped)

        assert address(index.codes) == mapped.column("code").chunk(0).buffers()[1].address
        assert pa.total_allocated_bytes() < before + 65_536, "only the description was read"
        np.testing.assert_array_equal(index.get([9]), codes[199_990:199_991])


FORMS = {
    "fixed": lambda codes: pa.array([row.tobytes() for row in codes], pa.binary(codes.shape[1])),
    "binary": lambda codes: pa.array([row.tobytes() for row in codes], pa.binary()),
    "large binary": lambda codes: pa.array([row.tobytes() for row in codes], pa.large_binary()),
    "lists": lambda codes: pa.array(codes.tolist(), pa.list_(pa.uint8())),
    "fixed lists": lambda codes: pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1]),
    "chunks": lambda codes: pa.chunked_array([FORMS["fixed"](codes[:2]), FORMS["fixed"](codes[2:])]),
}


@pytest.mark.parametrize("form", FORMS)
def test_codes_in_every_form_of_arrow(form):
    index = HammingIndex.from_arrow(pa.table({"code": FORMS[form](codes_of(6))}))

    np.testing.assert_array_equal(index.codes, codes_of(6))
    np.testing.assert_array_equal(index.ids, np.arange(6))


def test_a_frame_of_polars_is_a_table():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"id": [3, 1], "code": [b"ab", b"cd"]})

    np.testing.assert_array_equal(HammingIndex.from_arrow(frame).get([1]), [[ord("c"), ord("d")]])


BAD = {
    "no code": (lambda: pa.table({"id": [1]}), "needs a column 'code', it has id"),
    "text": (lambda: pa.table({"code": ["a"]}), "binary values or lists of uint8, got string"),
    "numbers": (lambda: pa.table({"code": [[1, 2]]}), "lists of uint8, got list"),
    "lengths": (lambda: pa.table({"code": [b"a", b"bc"]}), "one length, got 1 and 2 bytes"),
    "null": (lambda: pa.table({"code": [b"a", None]}), "1 rows have no code"),
    "ids": (lambda: pa.table({"id": ["x"], "code": [b"a"]}), "ids must be whole numbers, got string"),
    "twice": (lambda: pa.table({"id": [1, 1], "code": [b"a", b"b"]}), "ids must be unique"),
    "modalities": (
        lambda: pa.table({"modality": ["x", "y"], "code": [b"a", b"b"]}),
        "has the modalities 'x', 'y'. Choose one",
    ),
    "not a table": (lambda: 7, "expected a table of Arrow, got int"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_tables_are_refused(kind):
    make, message = BAD[kind]

    with pytest.raises(InputError, match=re.escape(message)):
        HammingIndex.from_arrow(make())


def test_one_modality_of_a_table():
    table = pa.table({"id": [1, 1, 2], "modality": ["x", "y", "x"], "code": [b"a", b"b", b"c"]})

    np.testing.assert_array_equal(HammingIndex.from_arrow(table, modality="x").ids, [1, 2])
    with pytest.raises(InputError, match="no column 'modality'"):
        HammingIndex.from_arrow(table.drop(["modality"]), modality="x")


def test_parquet_files_are_written_whole_and_other_files_are_kept(tmp_path):
    index = HammingIndex(codes_of(3))
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputFileError):
        index.to_parquet(tmp_path / "notes.txt")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(InputFileError, match=r"bad\.parquet"):
        HammingIndex.from_parquet(tmp_path / "bad.parquet")

    index.to_parquet(tmp_path / "bad.parquet")
    assert len(HammingIndex.from_parquet(tmp_path / "bad.parquet")) == 3


@pytest.mark.parametrize(
    ("module", "call", "install"),
    [
        ("usearch.index", lambda index: index.to_usearch(), "pip install usearch"),
        ("pyarrow", lambda index: index.to_arrow(), r"diffhash\[parquet\]"),
    ],
)
def test_a_missing_library_says_how_to_install_it(monkeypatch, module, call, install):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtraError, match=install):
        call(HammingIndex(codes_of(2)))
