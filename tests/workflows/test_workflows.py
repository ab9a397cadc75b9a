"""The workflows from Python: files in, files and plain values out, and no command line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import InputError, ParameterError

FAST = workflows.LearningOptions("diff", 4)


@pytest.fixture
def views(files):
    return {m: files.folder / f"train_{m}.npy" for m in "xy"}


@pytest.fixture
def model(files):
    return files.folder / "model.dhm"


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

    assert by_codes == by_model
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
    assert results[3].to_dict()["hits"][0][0].keys() == {"id", "distance", "payload", "modality"}


def test_search_takes_an_open_collection(views, tmp_path):
    workflows.build_features(views, tmp_path / "c.dh", learning=FAST)

    with dh.Collection.open(tmp_path / "c.dh") as collection:
        first = workflows.search(collection, item=3, k=5)
        second = workflows.search(collection, item="3", k=5)
        assert len(collection) == 400

    assert first == second
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
    ],
)
def test_wrong_arguments_raise_an_error_that_names_parameters(call, words, views, tmp_path):
    with pytest.raises(workflows.OptionError, match=words) as raised:
        call(views, tmp_path / "out.txt")

    assert isinstance(raised.value, ParameterError)
    assert list(tmp_path.iterdir()) == []


def test_pairs_of_three_modalities_are_refused_and_labels_are_not(tmp_path):
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.arange(6, dtype=np.uint8)[:, None])
    np.save(tmp_path / "pairs.npy", np.array([[0, 1], [2, 3]]))
    np.save(tmp_path / "labels.npy", np.arange(6) % 2)
    codes = {name: tmp_path / f"{name}.npy" for name in "abc"}

    by_labels = workflows.evaluate(
        codes=codes, pair_files=workflows.PairFiles(labels=tmp_path / "labels.npy"), within=True
    )
    with pytest.raises(workflows.OptionError, match="between two modalities"):
        workflows.evaluate(codes=codes, pair_files=workflows.PairFiles(pairs=tmp_path / "pairs.npy"))

    assert len(by_labels.directions) == 9
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
