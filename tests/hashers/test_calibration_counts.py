"""Distance counts of held-out objects in a calibrated model."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.codes import pack
from diffhash.errors import ModelFileError
from diffhash.evaluation.distance_counts import distance_table
from diffhash.hashers.held_out_counts import held_out_calibration
from diffhash.model import HashModel
from diffhash.model.file import pack_model, unpack_model
from diffhash.pairs.couples import name_couples, resolve_couples
from tests.hashers.test_many_modalities import make_objects


def judged(values, pairs):
    """The calibration of given projections."""
    names = list(values)
    n_rows = {m: len(z) for m, z in values.items()}
    couples = resolve_couples(
        name_couples(pairs, names, caller="test"), n_rows, None, caller="test", need_negatives=False
    )
    return held_out_calibration(names, list(values.values()), couples, np.random.default_rng(0))


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(120, 10))
    return {m: hidden + rng.normal(size=hidden.shape) for m in ("x", "y")}


def test_aligned_rows_have_one_similar_pair_each_and_one_expected_match(values):
    found = judged(values, dh.Pairs.aligned(120))

    couple = found.couple("x", "y")
    assert (couple.n_similar, couple.n_dissimilar, couple.expected) == (120, 120 * 119, 1.0)
    bits = [z >= 0 for z in values.values()]
    distances = (bits[0][:, None] != bits[1]).sum(axis=2)
    np.testing.assert_array_equal(couple.counts[1, 0], np.bincount(np.diag(distances), minlength=11))
    np.testing.assert_array_equal(couple.counts.sum(axis=0)[0], np.bincount(distances.ravel(), minlength=11))
    within = found.couple("x", "x")
    assert (within.n_similar, within.n_dissimilar, within.expected) == (0, 120 * 119 // 2, None)
    assert within.recall_hamming is None


def test_labels_count_pairs_within_modalities_too_and_expect_the_share_of_a_class(values):
    labels = np.arange(120) % 4

    found = judged(values, dh.Pairs.from_labels(labels, labels))

    couple, within = found.couple("x", "y"), found.couple("y", "y")
    assert couple.labelled
    assert couple.expected == pytest.approx(0.25)
    assert (within.n_similar, within.n_dissimilar) == (4 * 30 * 29 // 2, 120 * 90 // 2)
    table = distance_table(pack(values["x"] >= 0), pack(values["y"] >= 0), labels, labels).sum(axis=0)
    np.testing.assert_array_equal(couple.counts[:, 0], table[:11].T)


def test_captions_of_one_picture_are_similar_and_a_picture_expects_all_of_them():
    rng = np.random.default_rng(0)
    ids = {"image": np.arange(40), "text": np.repeat(np.arange(40), 5)}
    values = {m: rng.normal(size=(len(i), 8)) for m, i in ids.items()}

    found = judged(values, dh.Pairs.from_ids(ids))

    assert found.couple("image", "text").expected == 5.0
    assert found.couple("text", "image").expected == 1.0
    within = found.couple("text", "text")
    assert (within.n_similar, within.n_dissimilar) == (40 * 10, 200 * 199 // 2 - 400)


def test_listed_negatives_are_the_only_dissimilar_pairs(values):
    pairs = dh.Pairs(positive=([0, 1, 2], [0, 1, 2]), negative=([0, 1], [5, 6]))

    found = judged(values, pairs)

    assert set(found.couples) == {("x", "y"), ("y", "x")}
    assert (found.couple("y", "x").n_similar, found.couple("y", "x").n_dissimilar) == (3, 2)


def test_recalls_equal_those_of_a_full_ranking(values):
    found = judged(values, dh.Pairs.aligned(120)).couple("x", "y")

    signs = [np.where(z >= 0, 1, -1) for z in values.values()]
    distances = (10 - signs[0] @ signs[1].T) / 2
    nearer = (distances < np.diag(distances)[:, None]).sum(axis=1)
    tied = (distances == np.diag(distances)[:, None]).sum(axis=1)
    expected = np.clip((10 - nearer) / tied, 0, 1).mean()
    assert found.recall_hamming == pytest.approx(expected)
    assert found.recall_asymmetric > found.recall_hamming


def test_a_calibrated_model_keeps_its_counts_in_the_file(tmp_path):
    data = make_objects(3)
    hasher = dh.DiffHash(n_bits=7, whiten=True).fit(
        data.views, dh.Pairs.from_labels(data.labels), calibrate=True
    )
    hasher.save(tmp_path / "model.dhm")

    loaded = HashModel.load(tmp_path / "model.dhm").calibration

    known = hasher.model_.calibration
    assert list(loaded.couples) == list(known.couples)
    assert len(known.couples) == 9
    for name, couple in known.couples.items():
        again = loaded.couples[name]
        np.testing.assert_array_equal(again.counts, couple.counts)
        for field in ("labelled", "expected", "recall_hamming", "recall_asymmetric", "gain_error"):
            assert getattr(again, field) == getattr(couple, field)


def test_counts_are_of_objects_that_the_second_model_did_not_see():
    """Noise views: the model that saw the objects finds them again, a new object has no chance."""
    rng = np.random.default_rng(0)
    views = {"x": rng.normal(size=(150, 200)), "y": rng.normal(size=(150, 200))}
    hasher = dh.DiffHash(n_bits=16, whiten=True, shrinkage=0.01).fit(
        views, dh.Pairs.aligned(150), calibrate=True
    )
    couple = hasher.model_.calibration.couple("x", "y")
    seen = np.bitwise_count(hasher.encode(views["x"], "x") ^ hasher.encode(views["y"], "y")).sum(axis=1)

    similar, dissimilar = (np.average(np.arange(17), weights=row) for row in couple.counts[::-1, 0])

    assert seen.mean() < 4
    assert abs(similar - dissimilar) < 1.5


def _damages():
    def change(name, edit):
        def damage(arrays):
            arrays[name] = edit(arrays[name].copy())

        return damage

    def put(array, place, value):
        array[place] = value
        return array

    counts, couples, numbers = (f"extra/calibration_{name}" for name in ("counts", "couples", "numbers"))
    return {
        "negative count": change(counts, lambda a: put(a, (0, 0, 0, 0), -1)),
        "huge count": change(counts, lambda a: put(a, (0, 0, slice(None), 0), 2**62)),
        "group above all": change(counts, lambda a: put(a, (0, 0, 1, 0), a[0, 0, 0, 0] + 1)),
        "groups below all": change(counts, lambda a: put(a, (0, 0, slice(1, None)), 0)),
        "other bits": change(counts, lambda a: a[..., :-1]),
        "other type": change(counts, lambda a: a.astype(np.float64)),
        "flat": change(counts, lambda a: a.ravel()),
        "unknown modality": change(couples, lambda a: put(a, (0, 1), 7)),
        "couple twice": change(couples, lambda a: put(a, slice(None), 0)),
        "recall above 1": change(numbers, lambda a: put(a, (0, 3), 1.5)),
        "infinite share": change(numbers, lambda a: put(a, (0, 1), np.inf)),
        "share above 1": change(numbers, lambda a: put(a, (0, 1), 1.5)),
        "half a flag": change(numbers, lambda a: put(a, (0, 0), 0.5)),
        "missing": lambda arrays: arrays.pop(numbers),
    }


@pytest.mark.parametrize("name", _damages())
def test_damaged_counts_are_refused(name):
    data = make_objects(2)
    hasher = dh.DiffHash(n_bits=3).fit(data.views, dh.Pairs.from_labels(data.labels), calibrate=True)
    header, arrays = unpack_model(hasher.model_.to_bytes(), name="test")
    arrays = dict(arrays)

    _damages()[name](arrays)

    with pytest.raises(ModelFileError, match="inconsistent"):
        HashModel.from_bytes(pack_model(header, arrays))


def test_unseen_objects_calibrate_an_extended_model_without_a_second_fit(monkeypatch):
    """The counts are those of the model itself, and the new modality has some, too."""
    data = dh.datasets.make_paper_data(n_classes=5, n_train=300, n_test=200, random_state=0)
    seen, unseen = data.train.views, data.test.views
    hasher = dh.DiffHash(n_bits=8).fit(seen, dh.Pairs.aligned(len(seen["x"])))
    new = {"x": seen["x"], "z": seen["x"] ** 3}
    extended = hasher.extend(new, dh.Pairs.aligned(len(seen["x"])), modality="z")
    n = len(unseen["x"])
    views = {**unseen, "z": unseen["x"] ** 3}
    monkeypatch.setattr(dh.DiffHash, "_learn", lambda *_: pytest.fail("a second fit"))

    extended.calibrate(views, dh.Pairs.from_ids(dict.fromkeys(views, np.arange(n))), unseen=True)

    codes = {m: extended.encode(X, modality=m) for m, X in views.items()}
    for one, other in (("x", "y"), ("z", "y")):
        couple = extended.model_.calibration.couple(one, other)
        distances = np.unpackbits(codes[one] ^ codes[other], axis=1).sum(axis=1)
        np.testing.assert_array_equal(couple.counts[1, 0], np.bincount(distances, minlength=9))
    assert set(extended.model_.fusion_slopes) == {"x", "y", "z"}
