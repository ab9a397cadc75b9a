"""Ours beside other ways to store features: the same rows, all bytes, intervals and advice."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import diffhash as dh
from diffhash.comparison import ComparedMethod, Comparison, DirectionScore
from diffhash.comparison.candidates import Training, candidates
from diffhash.comparison.linear_algebra import unit_rows
from diffhash.comparison.parts import Part, split
from diffhash.comparison.scores import Resamples, query_scores
from diffhash.comparison.spaces import feature_space, fit_canonical_space
from diffhash.comparison.storages import Floats, Signs, hamming_distances
from diffhash.errors import InputError, PairsError, ParameterError
from diffhash.workflows import OptionError
from tests.cli.process import run
from tests.reference.comparison import bootstrap_means, canonical_correlations, recall_of_ranking


@pytest.fixture(scope="module")
def views():
    """Noisy views of one latent vector, in one space, far from each other."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(240, 24))
    noise = [0.6 * rng.normal(size=z.shape) for _ in range(2)]
    return {"x": z + noise[0], "y": z + noise[1] + 5.0}


@pytest.fixture(scope="module")
def found(views):
    return dh.compare(views, bits=[16, 88], random_state=1)


def named(found, name):
    return [method for method in found.methods if method.name == name]


def test_all_methods_of_one_space_are_compared(found):
    names = {method.name for method in found.methods}
    assert names == {
        "cosine of features",
        "signs, centred",
        "CCA",
        "ITQ",
        "ITQ, real queries",
        "CCA + ITQ",
        "CCA + ITQ, real queries",
        "PQ",
        "CCA + PQ",
        "RaBitQ",
        "CCA + RaBitQ",
        "DiffHash, rotated",
        "RefinedHash",
        "RefinedHash, real queries",
    }
    assert (found.learned_from, found.asked, found.measure) == ((180, 180), (60, 60), "recall@10")


def test_bytes_are_all_that_is_stored_for_an_item(found):
    """RaBitQ keeps two floats beside the bits."""
    assert {m.item_bytes for m in named(found, "cosine of features")} == {4 * 24}
    assert {m.item_bytes for m in named(found, "signs, centred")} == {3}
    assert {m.item_bytes for m in named(found, "RefinedHash")} == {2, 11}
    assert {m.item_bytes for m in named(found, "CCA + PQ")} == {2, 11}
    assert {m.item_bytes for m in named(found, "CCA + RaBitQ")} == {24 // 8 + 8}
    assert all(method.model_bytes > 0 for method in found.methods)


def test_intervals_contain_the_values(found):
    for method in found.methods:
        assert method.low <= method.value <= method.high
        assert method.gap_low <= method.gap <= method.gap_high
        forth, back = method.directions
        assert method.value == pytest.approx((forth.value + back.value) / 2)
        assert forth.low <= forth.value <= forth.high
    assert found.best.gap == 0
    assert found.smallest_as_good.as_good


def test_the_cosine_of_features_sees_no_offset_only_if_it_is_centred(found):
    """The offset between the views hurts the plain cosine; canonical variables do not see it."""
    assert max(m.value for m in named(found, "CCA")) > named(found, "cosine of features")[0].value + 0.1


def test_the_same_seed_gives_the_same_figures(views):
    few = {m: X[:80] for m, X in views.items()}
    first, second = (dh.compare(few, bits=[8], random_state=1) for _ in range(2))
    assert [m.value for m in first.methods] == [m.value for m in second.methods]


def method(name, item_bytes, value, gap_high, *, ours=False):
    scores = (DirectionScore("x", "y", value, 0, 1), DirectionScore("y", "x", value, 0, 1))
    return ComparedMethod(name, ours, item_bytes, 1, scores, value, 0, 1, value - 0.9, -1, gap_high, 0.0)


@pytest.mark.parametrize("ours", [False, True])
def test_the_advice_is_the_smallest_that_is_not_worse_whoever_it_is(ours):
    methods = (
        method("too weak", 4, 0.5, -0.1, ours=not ours),
        method("good", 8, 0.85, 0.01, ours=ours),
        method("floats", 512, 0.9, 0.0),
    )
    found = Comparison(("x", "y"), "recall@10", (9, 9), (9, 9), methods)
    assert found.advice.startswith("Take good with 8 bytes per item (recall@10 0.850)")
    assert "floats with 512 bytes" in found.advice
    assert found.best_within(8) is methods[1]
    assert found.best_within(2) is None


def test_views_of_different_sizes_have_no_methods_of_features(views):
    found = dh.compare({"x": views["x"], "y": views["y"][:, :20]}, bits=[8])
    assert not {"ITQ", "PQ", "signs, centred", "cosine of features"} & {m.name for m in found.methods}
    assert "24 and 20 features" in found.notes[0]


def test_without_faiss_its_methods_are_left_out_with_a_note(views, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    found = dh.compare(views, bits=[8])
    assert not [m for m in found.methods if "PQ" in m.name or "RaBitQ" in m.name]
    assert "pip install faiss-cpu" in found.notes[0]


def test_labels_are_measured_by_average_precision(small_data):
    views = {m: X[:200] for m, X in small_data.train.views.items()}
    labels = {m: y[:200] for m, y in small_data.train.labels.items()}
    found = dh.compare(views, labels=labels, bits=[8])
    assert found.measure == "mAP"
    assert "know no labels" in found.notes[-1]


def test_rows_of_an_object_are_in_one_part():
    """A picture with several captions is learned from with all of them, or with none."""
    rng = np.random.default_rng(0)
    pairs = (np.repeat(np.arange(50), 3), rng.permutation(150))
    part = Part(np.arange(50.0)[:, None], np.arange(150.0)[:, None], pairs)
    train, test = split(part, 0.3, rng)
    assert len(train.positive[0]) + len(test.positive[0]) == 150
    assert train.n_rows == (35, 105)
    assert not set(train.X.ravel()) & set(test.X.ravel())
    caption_of = dict(zip(pairs[1], pairs[0], strict=True))
    for i, j in zip(*test.positive, strict=True):
        assert caption_of[int(test.Y[j, 0])] == int(test.X[i, 0])


def test_the_rows_to_hold_out_may_be_given(views):
    test = np.arange(240) >= 200
    part = Part(views["x"], views["y"], (np.arange(240), np.arange(240)))
    train, asked = split(part, 0.5, np.random.default_rng(0), test)
    assert np.array_equal(asked.X, views["x"][200:])
    assert train.n_rows == (200, 200)


def test_scores_are_those_of_the_slow_reference():
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 6, (20, 40)).astype(float)
    relevant = rng.random((20, 40)) < 0.1
    fast = query_scores(distances, relevant, "recall@10")
    for row in range(20):
        slow = recall_of_ranking(distances[row], relevant[row], 10)
        assert fast[row] == pytest.approx(slow, nan_ok=True)


def test_resampled_means_are_those_of_the_slow_reference():
    rng = np.random.default_rng(1)
    forth, back = rng.random(30), rng.random(30)
    fast = Resamples((30, 30), np.random.default_rng(2), 20).means(forth, back)
    drawn = np.random.default_rng(2).multinomial(30, np.full(30, 1 / 30), size=20)
    assert np.allclose(fast, bootstrap_means(forth, back, drawn))


def test_canonical_variables_have_the_correlations_of_the_reference(views):
    """Their correlations on the training rows, with almost no ridge, are those of the definition."""
    part = Part(views["x"], views["y"], (np.arange(240), np.arange(240)))
    space = fit_canonical_space(part, part.positive, np.random.default_rng(0))
    a, b = space.x(part.X), space.y(part.Y)
    found = [np.corrcoef(a[:, k], b[:, k])[0, 1] for k in range(3)]
    assert np.allclose(found, canonical_correlations(views["x"], views["y"])[:3], atol=0.05)


def test_hamming_distances_and_cosines_are_the_obvious_ones(views):
    part = Part(views["x"], views["y"], (np.arange(240), np.arange(240)))
    space = feature_space(part, centred=True)
    x, y = views["x"][:5] - views["x"].mean(axis=0), views["y"][:7] - views["y"].mean(axis=0)
    wanted = ((x >= 0)[:, None] != (y >= 0)[None]).sum(axis=2)
    assert np.array_equal(Signs(space).distances(views["x"][:5], 0, views["y"][:7]), wanted)
    assert np.array_equal(Signs(space).distances(views["y"][:7], 1, views["x"][:5]), wanted.T)
    real = Signs(space, real_queries=True).distances(views["x"][:5], 0, views["y"][:7])
    assert np.allclose(real, -x @ np.where(y >= 0, 1, -1).T)
    cosine = 1 - unit_rows(x) @ unit_rows(y).T
    assert np.allclose(Floats(space).distances(views["x"][:5], 0, views["y"][:7]), cosine, atol=1e-5)
    assert hamming_distances(np.array([[255]], np.uint8), np.array([[15]], np.uint8)) == 4


def test_quantisers_of_faiss_approximate_the_cosine(views):
    part = Part(views["x"], views["y"], (np.arange(240), np.arange(240)))
    training = Training(part, ("x", "y"), 0)
    exact = Floats(training.features).distances(views["x"], 0, views["y"])
    for candidate in candidates(training, [96]):
        if candidate.name in ("PQ", "RaBitQ"):
            estimate = candidate.learn().distances(views["x"], 0, views["y"])
            assert np.corrcoef(estimate.ravel(), exact.ravel())[0, 1] > 0.8, candidate.name


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bits": [12]}, ParameterError, "multiples of 8"),
        ({"bits": []}, ParameterError, "multiples of 8"),
        ({"labels": np.arange(3)}, InputError, "has 240 rows, got labels of shape"),
        ({"labels": {"x": np.arange(240)}}, InputError, "labels are needed for"),
        ({"pairs": dh.Pairs(([0], [240]))}, PairsError, "rows that the views do not have"),
        ({"share": 1.5}, ParameterError, "share"),
        ({"test": np.ones(3, bool)}, InputError, "a truth value for each row"),
        ({"test": np.zeros(240, bool)}, InputError, "at least 10 objects"),
    ],
)
def test_wrong_arguments_are_refused(views, arguments, error, message):
    with pytest.raises(error, match=message):
        dh.compare(views, **{"bits": [8], **arguments})


def test_bad_views_are_refused(views):
    bad = views["x"].copy()
    bad[3, 3] = np.nan
    for wrong, message in (
        ({"x": bad, "y": views["y"]}, "NaN"),
        ({"x": views["x"]}, "two arrays"),
        ({"x": views["x"][:9], "y": views["y"]}, "not aligned"),
    ):
        with pytest.raises(InputError, match=message):
            dh.compare(wrong)


@pytest.fixture
def folder(tmp_path, views):
    for name, X in views.items():
        np.save(tmp_path / f"{name}.npy", X)
    np.save(tmp_path / "test.npy", np.arange(240) % 4 == 0)
    return tmp_path


def arguments(folder):
    return ["compare", "--view", f"x={folder / 'x.npy'}", "--view", f"y={folder / 'y.npy'}", "--bits", "16"]


def test_the_command_prints_a_table_and_which_to_take(folder, capsys):
    plot = folder / "plot.png"
    status, out, err = run(capsys, *arguments(folder), "--test", folder / "test.npy", "--plot", plot)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "x and y: learned from 180 and 180 rows, asked with 60 and 60 others"
    assert lines[1].split()[:2] == ["method", "bytes"]
    assert lines[-1].startswith("Take ")
    assert any(line.startswith("Best within 2 bytes: ") for line in lines)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_json(folder, capsys):
    status, out, _ = run(capsys, *arguments(folder), "--json")
    found = json.loads(out)["comparisons"][0]
    assert status == 0
    assert found["take"]["name"] in {method["name"] for method in found["methods"]}
    assert found["advice"].startswith("Take ")


def test_ids_relate_rows_of_different_numbers(folder, views):
    np.save(folder / "x_ids.npy", np.arange(240))
    np.save(folder / "y_ids.npy", np.concatenate([np.arange(240)[::-1], np.arange(100)]))
    np.save(folder / "y2.npy", np.concatenate([views["y"][::-1], views["y"][:100]]))
    result = dh.workflows.compare(
        {"x": folder / "x.npy", "y": folder / "y2.npy"},
        pair_files=dh.workflows.PairFiles(ids={"x": folder / "x_ids.npy", "y": folder / "y_ids.npy"}),
        bits=[8],
    )
    (found,) = result.comparisons
    assert sum(found.learned_from) + sum(found.asked) == 240 + 340
    assert found.best.value > 0.5


def test_what_cannot_be_compared_is_refused(folder, capsys):
    status, _, err = run(capsys, "compare", "--view", f"x={folder / 'x.npy'}")
    assert (status, "at least two --view" in err) == (2, True)
    status, _, err = run(capsys, *arguments(folder)[:-1], "x")
    assert (status, "write whole numbers" in err) == (2, True)
    status, _, err = run(capsys, *arguments(folder), "--plot", folder / "x.npy")
    assert (status, "write a .png or .svg file" in err) == (2, True)
    (folder / "notes.png").write_text("mine")
    status, _, err = run(capsys, *arguments(folder), "--plot", folder / "notes.png")
    assert (status, "is not a plot" in err) == (1, True)
    status, _, err = run(capsys, *arguments(folder), "--test", folder / "x.npy")
    assert (status, "must have a truth value" in err) == (1, True)
    with pytest.raises(OptionError, match="`negatives`"):
        dh.workflows.compare(
            {"x": folder / "x.npy", "y": folder / "y.npy"},
            pair_files=dh.workflows.PairFiles(pairs=folder / "p.csv", negatives=folder / "n.csv"),
        )
