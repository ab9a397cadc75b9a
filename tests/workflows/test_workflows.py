"""The workflows from Python: files in, files and plain values out, and no command line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import InputError, ParameterError, UnknownIdError

FAST = workflows.LearningOptions("diff", 4)


@pytest.fixture
def views(files):
    return {m: files.folder / f"train_{m}.npy" for m in "xy"}


@pytest.fixture
def model(files):
    return files.folder / "model.dhm"


def test_chances_learned_from_labels_are_judged_by_labels(files, views, tmp_path):
    def labels(part):
        return workflows.PairFiles(labels={m: f"{files.folder / f'{part}_{m}.csv'}#class" for m in "xy"})

    fitted = workflows.fit(views, tmp_path / "m.dhm", pair_files=labels("train"), learning=FAST)
    unseen = {m: files.folder / f"test_{m}.npy" for m in "xy"}
    result = workflows.evaluate(fitted.path, unseen, pair_files=labels("test"))

    assert all(direction.calibration is not None for direction in result.directions)


def test_from_features_to_figures(files, views, tmp_path):
    fitted = workflows.fit(views, tmp_path / "m.dhm", learning=FAST)
    labels = workflows.PairFiles(labels={m: f"{files.folder / f'test_{m}.csv'}#class" for m in "xy"})
    codes = {}
    for m in "xy":
        done = workflows.encode(fitted.path, files.folder / f"test_{m}.npy", tmp_path / f"{m}.npy")
        codes[m] = done.path

    by_codes = workflows.evaluate(codes=codes, pair_files=labels)
    by_model = workflows.evaluate(
        fitted.path, {m: files.folder / f"test_{m}.npy" for m in "xy"}, pair_files=labels
    )

    assert all(direction.calibration is None for direction in by_model.directions)
    assert by_codes.directions == tuple(replace(d, calibration=None) for d in by_model.directions)
    assert [(d.query, d.into) for d in by_codes.directions] == [("x", "y"), ("y", "x")]
    expected = dh.evaluate(
        *(np.load(codes[m]) for m in "xy"), *(files.data.test.labels[m] for m in "xy")
    ).mean_average_precision
    assert by_codes.directions[0].mean_average_precision == expected


def test_results_are_frozen_and_json_can_hold_them(files, views, model, tmp_path):
    fitted = workflows.fit(views, tmp_path / "m.dhm", learning=FAST)
    built = workflows.build_features(views, tmp_path / "c.dh", learning=FAST)
    results = [
        fitted,
        built,
        workflows.encode(model, files.folder / "test_x.npy", tmp_path / "x.npy"),
        workflows.search(built.path, item=3),
        workflows.evaluate(model, views),
        workflows.export(built.path, tmp_path / "c.parquet"),
        workflows.info(built.path),
        workflows.verify(built.path),
    ]

    for result in results:
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(text) == result.to_dict()
        with pytest.raises(FrozenInstanceError):
            result.anything = 1
    assert fitted.to_dict()["path"] == str(tmp_path / "m.dhm")
    assert results[3].to_dict()["hits"][0][0].keys() == {
        "id",
        "distance",
        "payload",
        "modality",
        "chance",
        "score",
        "found_by",
    }


def test_search_takes_an_open_collection(views, tmp_path):
    workflows.build_features(views, tmp_path / "c.dh", learning=FAST)

    with dh.Collection.open(tmp_path / "c.dh") as collection:
        first = workflows.search(collection, item=3, k=5)
        second = workflows.search(collection, item="3", k=5)
        third = workflows.search(collection, item=np.int64(3), k=5)
        assert len(collection) == 400

    assert first == second == third
    assert [hit.modality for hit in first.hits[0]] == ["y"] * 5


def test_a_model_learned_by_build_and_by_fit_is_the_same(views, tmp_path):
    learning = workflows.LearningOptions("diff", 4, sample=150, seed=3)
    workflows.fit(views, tmp_path / "m.dhm", learning=learning)
    workflows.build_features(views, tmp_path / "c.dh", learning=learning)

    with dh.Collection.open(tmp_path / "c.dh") as collection:
        for m in "xy":
            np.testing.assert_array_equal(
                collection.model.projections[m], dh.HashModel.load(tmp_path / "m.dhm").projections[m]
            )


@pytest.mark.parametrize("call", ["fit", "build_features"])
def test_fit_and_build_have_the_same_default_for_the_sample(call, views, tmp_path, monkeypatch):
    from diffhash.workflows import feature_build, fitting, learn_model

    asked = []

    def learn(*arguments, sample, **more):
        asked.append(sample)
        return plain(*arguments, sample=sample, **more)

    plain = learn_model.learn
    for module in (feature_build, fitting, learn_model):
        monkeypatch.setattr(module, "learn", learn, raising=False)

    for options in (None, FAST, workflows.LearningOptions("diff", 4, sample=50)):
        getattr(workflows, call)(views, tmp_path / "out", learning=options, overwrite=True)

    every_row = 0  # fit reads files in blocks
    assert asked == [every_row if call == "fit" else 50_000] * 2 + [50]


@pytest.mark.parametrize("work", ["encode", "build", "fit", "build and fit", "evaluate"])
def test_a_value_that_is_not_finite_is_named_with_its_row_in_the_file(work, files, views, model, tmp_path):
    """Also if the file is read in blocks, and if a sample is learned from."""
    x = np.tile(np.load(views["x"]), (25, 1))
    x[9_321, 7] = np.inf
    y = np.tile(np.load(views["y"]), (25, 1))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    both = {name: tmp_path / f"{name}.npy" for name in "xy"}
    learning = workflows.LearningOptions("diff", 4, sample=9_990)
    calls = {
        "encode": lambda: workflows.encode(model, both["x"], tmp_path / "c.npy"),
        "build": lambda: workflows.build_features(both, tmp_path / "c.dh", model=model),
        "fit": lambda: workflows.fit(both, tmp_path / "m.dhm", learning=learning),
        "build and fit": lambda: workflows.build_features(both, tmp_path / "c.dh", learning=learning),
        "evaluate": lambda: workflows.evaluate(model, both),
    }

    with pytest.raises(InputError, match=r"x\.npy: there is inf in row 9321, feature 7\."):
        calls[work]()


def test_an_item_is_asked_with_a_modality_that_it_has(files, tmp_path):
    with dh.Collection.create(tmp_path / "c.dh", files.hasher) as collection:
        for m, name in (("x", "a"), ("y", "b")):
            rows = np.load(files.folder / f"test_{m}.npy")[:20]
            collection.add(rows, modality=m, ids=[f"{name}{i}" for i in range(20)])

        result = workflows.search(collection, item="b3")
        with pytest.raises(UnknownIdError):
            workflows.search(collection, item="c3")

    assert (result.modality, result.into) == ("y", "x")


def test_what_verify_found_has_ok_in_its_dict(model):
    assert workflows.verify(model).to_dict() == {
        "file": str(model),
        "kind": "model",
        "ok": True,
        "problems": [],
    }


def test_a_search_can_be_written_to_a_page(views, tmp_path):
    workflows.build_features(views, tmp_path / "c.dh", learning=FAST)
    before = (tmp_path / "c.dh").read_bytes()

    def render(query, into, hits, picture, is_picture):
        return f"{query} {into} {len(hits[0])} \udcff"

    result = workflows.search_to_page(tmp_path / "c.dh", tmp_path / "a.html", render, item=3, k=5)
    with pytest.raises(workflows.OptionError, match="is also an input"):
        workflows.search_to_page(tmp_path / "c.dh", tmp_path / "c.dh", render, item=3)

    assert result == workflows.search(tmp_path / "c.dh", item=3, k=5)
    assert (tmp_path / "a.html").read_bytes() == b"3 y 5 ?"
    assert (tmp_path / "c.dh").read_bytes() == before


@pytest.mark.parametrize("work", ["search", "export"])
@pytest.mark.parametrize("kind", ["a model", r"a \.npy file", r"an index of codes \(\.dhi\)"])
def test_a_file_that_is_not_a_collection_is_called_what_it_is(work, kind, files, model, tmp_path):
    dh.HammingIndex(np.zeros((3, 2), dtype=np.uint8)).save(tmp_path / "i.dhi")
    path = model if "model" in kind else files.folder / "train_x.npy" if "npy" in kind else tmp_path / "i.dhi"

    with pytest.raises(InputError, match=rf"is {kind}\. A collection \(\.dh\) is needed here"):
        workflows.search(path, item=3) if work == "search" else workflows.export(path, tmp_path / "o.parquet")


class CancelledError(Exception):
    pass


def cancel(step):
    if step.done:
        raise CancelledError


@pytest.mark.parametrize("old", [False, True], ids=["new", "overwrite"])
def test_a_callback_that_raises_leaves_nothing_new(old, files, views, model, tmp_path):
    outputs = {"c.dh": None, "x.npy": None}
    if old:
        workflows.build_features(views, tmp_path / "c.dh", learning=FAST)
        workflows.encode(model, views["x"], tmp_path / "x.npy")
        outputs = {name: (tmp_path / name).read_bytes() for name in outputs}

    with pytest.raises(CancelledError):
        workflows.build_features(views, tmp_path / "c.dh", model=model, overwrite=True, progress=cancel)
    with pytest.raises(CancelledError):
        workflows.encode(model, views["x"], tmp_path / "x.npy", overwrite=True, progress=cancel)

    left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != "c.dh-lock"}
    assert left == {name: data for name, data in outputs.items() if data is not None}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v, out: workflows.fit({}, out), "`views`"),
        (lambda v, out: workflows.fit({"x": v["x"]}, out), "`pairs` or `labels`"),
        (lambda v, out: workflows.fit(v, out, learning=workflows.LearningOptions("magic")), "'magic'"),
        (
            lambda v, out: workflows.fit(v, out, pair_files=workflows.PairFiles(labels={"z": v["x"]})),
            "`labels` names 'z'",
        ),
        (lambda v, out: workflows.build_features({}, out), "`views`"),
        (lambda v, out: workflows.encode(v["x"], v["x"], out), "`out`"),
        (lambda v, out: workflows.search(out), "one of `text`"),
        (lambda v, out: workflows.evaluate(), "`codes`"),
        (lambda v, out: workflows.export("c.dh", out), "`format`"),
        (lambda v, out: workflows.fit(v["x"], out), "`views` must be a dict"),
        (
            lambda v, out: workflows.fit({"x": np.zeros((3, 2))}, out),
            "must be the name of a file, got ndarray",
        ),
        (
            lambda v, out: workflows.fit(v, out, learning={"n_bits": 8}),
            "`learning` must be a LearningOptions",
        ),
        (lambda v, out: workflows.fit(v, out, pair_files="p.csv"), "`pair_files` must be a PairFiles"),
        (lambda v, out: workflows.build_features([v["x"]], out), "`views` must be a dict"),
        (lambda v, out: workflows.build_features(v, out, learning=8), "`learning` must be a LearningOptions"),
        (
            lambda v, out: workflows.build_features(v, out, model=v["x"], learning=FAST),
            "leave out `learning`",
        ),
        (
            lambda v, out: workflows.build_folder("p", "c.csv", out, kind="nope"),
            "`kind` must be one of photo",
        ),
        (lambda v, out: workflows.build_folder("p", "c.csv", out, learning=8), "`learning` must be"),
        (lambda v, out: workflows.evaluate(codes=v["x"]), "`codes` must be a dict"),
        (lambda v, out: workflows.evaluate(codes=v, queries=-1), "`queries` must be a whole number"),
        (lambda v, out: workflows.evaluate(codes=v, seed=-1), "`seed` must be a whole number"),
        (lambda v, out: workflows.search(out, text=3), "`text` must be str, got int"),
        (lambda v, out: workflows.search(out, item=2.5), "`item` must be str or Integral"),
        (lambda v, out: workflows.search(out, text="a", k=0), "`k` must be a whole number of at least 1"),
        (lambda v, out: workflows.LearningOptions(n_bits="8"), "`n_bits` must be a whole number"),
        (lambda v, out: workflows.LearningOptions(sample=-1), "`sample` must be a whole number"),
        (lambda v, out: workflows.LearningOptions(seed=-1), "`seed` must be a whole number"),
        (lambda v, out: workflows.LearningOptions(settings=["n_landmarks"]), "`settings` must be a Mapping"),
        (
            lambda v, out: workflows.fit(v, out, pair_files=workflows.PairFiles(labels=[1, 2])),
            "`labels`: 'x' must be the name of a file",
        ),
    ],
)
def test_wrong_arguments_raise_an_error_that_names_parameters(call, words, views, tmp_path):
    with pytest.raises(workflows.OptionError, match=words) as raised:
        call(views, tmp_path / "out.txt")

    assert isinstance(raised.value, ParameterError)
    assert list(tmp_path.iterdir()) == []


def test_labels_and_pairs_of_three_modalities(tmp_path):
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.arange(6, dtype=np.uint8)[:, None])
    np.save(tmp_path / "pairs.npy", np.array([[0, 1], [2, 3]]))
    np.save(tmp_path / "labels.npy", np.arange(6) % 2)
    codes = {name: tmp_path / f"{name}.npy" for name in "abc"}

    by_labels = workflows.evaluate(
        codes=codes, pair_files=workflows.PairFiles(labels=tmp_path / "labels.npy"), within=True
    )
    couples = {("a", "b"): tmp_path / "pairs.npy", ("c", "b"): tmp_path / "pairs.npy"}
    by_pairs = workflows.evaluate(codes=codes, pair_files=workflows.PairFiles(pairs=couples))
    with pytest.raises(workflows.OptionError, match="between which of a, b, c"):
        workflows.evaluate(codes=codes, pair_files=workflows.PairFiles(pairs=tmp_path / "pairs.npy"))

    assert len(by_labels.directions) == 9
    assert [(d.query, d.into) for d in by_pairs.directions] == [
        ("a", "b"),
        ("b", "a"),
        ("b", "c"),
        ("c", "b"),
    ]
    with pytest.raises(InputError, match="needs `labels`"):
        workflows.evaluate(codes=codes, within=True)


def test_the_command_line_is_not_imported():
    script = (
        "import sys; from diffhash import workflows\n"
        "for name in workflows.__all__: getattr(workflows, name)\n"
        "assert set(dir(workflows)) == set(workflows.__all__)\n"
        "print(*sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert not {"typer", "rich", "diffhash.cli", "matplotlib"} & set(done.stdout.split())
