"""Near-duplicates in a collection, by id."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, ParameterError, UnknownModalityError
from tests.reference import joins


@pytest.fixture
def made(path):
    """Codes of two modalities; most objects have both, and some are removed."""
    rng = np.random.default_rng(4)
    centres = rng.integers(0, 256, (6, 3), dtype=np.uint8)
    codes = {
        m: centres[rng.integers(0, 6, 40)] ^ np.packbits(rng.random((40, 24)) < 0.04, axis=1)
        for m in ("a", "b")
    }
    with dh.Collection.create(path, n_bits=24, modalities=("a", "b", "empty")) as collection:
        ids = [f"object {i}" for i in range(40)]
        collection.add_codes(codes["a"], modality="a", ids=ids)
        collection.add_codes(codes["b"][10:], modality="b", ids=ids[10:])
        collection.delete(ids[3:6])
        yield collection


def contents(collection, modality):
    items = [item for block in collection.iterate(modality) for item in block]
    return [item.id for item in items], np.array([item.codes[modality] for item in items])


@pytest.mark.parametrize("radius", [0, 2, 5])
def test_pairs_and_clusters_have_the_ids_of_the_collection(made, radius):
    ids, codes = contents(made, "a")
    pairs = [(ids[i], ids[j], d) for i, j, d in joins.pairs_within(codes, None, radius)]

    found = made.duplicates(radius, modality="a")

    assert sorted(zip(found.first, found.second, found.distances.tolist(), strict=True)) == sorted(pairs)
    expected = {frozenset(s) for s in joins.clusters([pair[:2] for pair in pairs])}
    assert {frozenset(cluster) for cluster in found.clusters} == expected


def test_pairs_between_modalities_are_of_different_objects(made):
    (ids, codes), (others, other_codes) = contents(made, "a"), contents(made, "b")
    pairs = [
        (ids[i], others[j], d) for i, j, d in joins.pairs_within(codes, other_codes, 3) if ids[i] != others[j]
    ]

    found = made.duplicates(3, modality="a", into="b")

    assert sorted(zip(found.first, found.second, found.distances.tolist(), strict=True)) == sorted(pairs)
    assert made.duplicates(3, into="b").n_pairs == found.n_pairs == len(pairs) > 0


def test_progress_goes_up_to_one(made):
    shares = []
    made.duplicates(2, modality="a", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_bad_arguments_are_refused(made):
    with pytest.raises(InputError, match=r"duplicates: there are codes of 'a', 'b'. Say which"):
        made.duplicates(1)
    with pytest.raises(UnknownModalityError, match="duplicates"):
        made.duplicates(1, modality="z")
    with pytest.raises(UnknownModalityError, match="duplicates"):
        made.duplicates(1, modality="a", into="z")
    with pytest.raises(ParameterError, match="duplicates: radius"):
        made.duplicates(-1, modality="a")
    assert made.duplicates(1, modality="empty").n_pairs == 0
    assert made.duplicates(1, modality="a", into="empty").clusters == []
