"""An index to FAISS and back."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from diffhash import HammingIndex
from diffhash.errors import InputError, MissingExtraError
from tests.search.test_index import codes_of


@pytest.mark.parametrize("ids", [None, [10, 30, 20, 50]])
def test_to_faiss_finds_the_same_distances(ids):
    pytest.importorskip("faiss", exc_type=ImportError)
    index = HammingIndex(codes_of(4), ids)

    distances, found = index.to_faiss().search(codes_of(4)[:2], 4)

    np.testing.assert_array_equal(distances, index.search(codes_of(4)[:2], 4).distances)
    assert set(found[0].tolist()) == set(index.ids.tolist())


@pytest.mark.parametrize("n_bits", [64, 61])
@pytest.mark.parametrize("ids", [None, [10, 30, 20, 50]])
def test_from_faiss_gives_the_index_back(ids, n_bits):
    pytest.importorskip("faiss", exc_type=ImportError)
    codes = codes_of(4)
    codes[:, -1] &= (1 << (n_bits - 56)) - 1
    index = HammingIndex(codes, ids, n_bits=n_bits)

    back = HammingIndex.from_faiss(index.to_faiss(), n_bits=n_bits)

    np.testing.assert_array_equal(back.codes, index.codes)
    np.testing.assert_array_equal(back.ids, index.ids)
    assert back.n_bits == n_bits


def test_an_empty_faiss_index_and_one_from_a_file_are_read(tmp_path):
    faiss = pytest.importorskip("faiss", exc_type=ImportError)
    assert repr(HammingIndex.from_faiss(faiss.IndexBinaryFlat(64))) == "HammingIndex(n=0, n_bits=64)"
    faiss.write_index_binary(HammingIndex(codes_of(4), [3, 1, 2, 9]).to_faiss(), str(tmp_path / "x.faiss"))

    read = HammingIndex.from_faiss(faiss.read_index_binary(str(tmp_path / "x.faiss")))

    np.testing.assert_array_equal(read.get([9]), codes_of(4)[3:])


def test_an_id_map_is_made_only_for_given_ids():
    faiss = pytest.importorskip("faiss", exc_type=ImportError)
    assert type(HammingIndex(codes_of(3)).to_faiss()) is faiss.IndexBinaryFlat
    assert type(HammingIndex(codes_of(3), ids=[5, 6, 7]).to_faiss()) is faiss.IndexBinaryIDMap2


def test_faiss_indexes_of_other_kinds_are_refused():
    faiss = pytest.importorskip("faiss", exc_type=ImportError)
    with pytest.raises(InputError, match=r"expected an IndexBinaryFlat.*got IndexBinaryHNSW"):
        HammingIndex.from_faiss(faiss.IndexBinaryHNSW(64, 8))
    with pytest.raises(InputError, match="got IndexBinaryIDMap around IndexBinaryHNSW"):
        HammingIndex.from_faiss(faiss.IndexBinaryIDMap(faiss.IndexBinaryHNSW(64, 8)))
    twice = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(64))
    twice.add_with_ids(codes_of(2), np.array([5, 5]))
    with pytest.raises(InputError, match="ids must be unique, but 5"):
        HammingIndex.from_faiss(twice)


def test_without_faiss_the_error_has_the_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"HammingIndex.to_faiss needs FAISS.*pip install faiss-cpu"):
        HammingIndex(codes_of(3)).to_faiss()
    with pytest.raises(
        MissingExtraError, match=r"HammingIndex.from_faiss needs FAISS.*pip install faiss-cpu"
    ):
        HammingIndex.from_faiss(object())
