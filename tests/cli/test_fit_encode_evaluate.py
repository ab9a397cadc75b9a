"""``fit``, ``encode`` and ``evaluate``: good and bad input."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import diffhash as dh
from diffhash.cli.app import run_app
from tests.cli.process import assert_one_line, diffhash

FAST = ["--method", "diff", "--bits", "4"]


def run(capsys, *arguments):
    """In this process: status, stdout, stderr."""
    status = run_app([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def views(files, part="train"):
    return ["--view", f"x={files.folder / part}_x.npy", "--view", f"y={files.folder / part}_y.npy"]


def test_fit_encode_evaluate_as_processes(files, tmp_path):
    """From files to figures. Each step is a process that prints nothing on stderr."""
    model, test = tmp_path / "m.dhm", files.folder
    labels = ["--labels", f"x={test / 'train_x.csv'}#class", "--labels", f"y={test / 'train_y.csv'}#class"]
    fitted = diffhash("fit", *views(files), *labels, *FAST, "-o", model)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "DiffHash" in fitted.stdout
    assert "x (128 features), y (64 features)" in fitted.stdout
    for m in "xy":
        done = diffhash("encode", model, test / f"test_{m}.npy", "-o", tmp_path / f"{m}.npy", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) | {"seconds": 0} == {
            "codes": str(tmp_path / f"{m}.npy"),
            "modality": m,
            "rows": 200,
            "bits": 4,
            "seconds": 0,
            "size": (tmp_path / f"{m}.npy").stat().st_size,
        }
    codes = np.load(tmp_path / "x.npy")
    np.testing.assert_array_equal(codes, dh.load(model).encode(np.load(test / "test_x.npy"), modality="x"))
    labels = ["--labels", f"x={test / 'test_x.csv'}#class", "--labels", f"y={test / 'test_y.csv'}#class"]
    by_codes = ["--codes", f"x={tmp_path / 'x.npy'}", "--codes", f"y={tmp_path / 'y.npy'}"]

    judged = diffhash("evaluate", *by_codes, *labels, "--json")

    assert (judged.returncode, judged.stderr) == (0, "")
    found = json.loads(judged.stdout)
    expected = dh.evaluate(
        codes, np.load(tmp_path / "y.npy"), files.data.test.labels["x"], files.data.test.labels["y"]
    )
    assert [(d["from"], d["into"]) for d in found] == [("x", "y"), ("y", "x")]
    assert found[0]["mAP"] == expected.mean_average_precision
    assert found[0]["mAP"] > 0.5


def relation_by_pairs(f):
    return ["--pairs", f / "pairs.csv"]


def relation_by_ids(f):
    ids = ["--ids", f"x={f / 'train_x.csv'}#id", "--ids", f"y={f / 'train_y.csv'}#id"]
    return ["--pairs", f / "named_pairs.csv", *ids]


@pytest.mark.parametrize("relation", [relation_by_pairs, relation_by_ids])
def test_fit_by_pairs_gives_the_model_of_the_library(relation, files, tmp_path, capsys, small_pairs):
    status, _, _ = run(capsys, "fit", *views(files), *relation(files.folder), *FAST, "-o", tmp_path / "m.dhm")

    x = files.data.train.views["x"].astype(np.float32)
    y = files.data.train.views["y"].astype(np.float32)
    expected = dh.DiffHash(4).fit({"x": x, "y": y}, dh.Pairs(small_pairs.positive))
    assert status == 0
    np.testing.assert_array_equal(dh.load(tmp_path / "m.dhm").projections_["x"], expected.projections_["x"])


@pytest.mark.parametrize("relation", [lambda f: [], relation_by_pairs, lambda f: ["--labels", f / "l.npy"]])
def test_fit_on_a_sample(relation, files, tmp_path, capsys):
    np.save(files.folder / "l.npy", np.arange(400) % 7)

    status, out, _ = run(
        capsys,
        "fit",
        *views(files),
        *relation(files.folder),
        *FAST,
        "--sample",
        150,
        "-o",
        tmp_path / "m.dhm",
    )

    assert status == 0
    assert "a sample of" in out


def test_fit_passes_settings_on(files, tmp_path, capsys):
    settings = ["--set", "features=linear", "--set", "max_iter=3", "--seed", 5, "--bits", 8, "--sample", 100]
    status, out, err = run(capsys, "fit", *views(files), *settings, "-o", tmp_path / "m.dhm", "--json")

    hasher = dh.load(tmp_path / "m.dhm")
    assert (status, err) == (0, "")
    assert json.loads(out)["method"] == "RefinedHash"
    assert (hasher.features, hasher.max_iter, hasher.random_state, hasher.progress) == ("linear", 3, 5, None)


def test_a_warning_is_one_line_and_the_work_is_done(files, tmp_path, capsys):
    labels = ["--labels", files.folder / "l7.npy"]
    np.save(files.folder / "l7.npy", np.arange(400) % 3)

    status, out, err = run(
        capsys, "fit", *views(files), *labels, "--method", "diff", "--bits", 9, "-o", tmp_path / "m.dhm"
    )

    assert status == 0
    assert "DiffHash" in out
    assert err.startswith("diffhash: warning: ")
    assert err.count("\n") == 1


def test_one_view_by_labels(files, tmp_path, capsys):
    x = files.folder / "train_x.npy"
    labels = ["--labels", f"{files.folder / 'train_x.csv'}#class"]
    model = tmp_path / "m.dhm"
    assert run(capsys, "fit", "--view", f"x={x}", *labels, *FAST, "-o", model)[0] == 0

    status, out, _ = run(capsys, "evaluate", model, "--view", f"x={x}", *labels, "--queries", 50, "--json")

    (found,) = json.loads(out)
    assert status == 0
    assert (found["from"], found["into"], found["queries"], found["items"]) == ("x", "x", 50, 400)
    assert found["mAP"] > 0.5


def test_ndcg_counts_shared_labels(tmp_path, capsys):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, size=(40, 1), dtype=np.uint8)
    labels = rng.random((40, 5)) < 0.4
    np.save(tmp_path / "c.npy", codes)
    lines = [json.dumps({"tags": [f"t{label}" for label in np.flatnonzero(row)]}) for row in labels]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines) + "\n")
    given = ["--codes", f"x={tmp_path / 'c.npy'}", "--labels", f"{tmp_path / 'labels.jsonl'}#tags"]

    (found,) = json.loads(run(capsys, "evaluate", *given, "--json")[1])
    table = run(capsys, "evaluate", *given)[1]

    expected = dh.evaluate(codes, codes, labels, labels, own=np.arange(40), gains="shared")
    assert found["NDCG"] == pytest.approx(expected.mean_ndcg)
    assert found["NDCG at 10"] == pytest.approx(expected.mean_ndcg_at(10))
    assert found["NDCG low"] < found["NDCG"] < found["NDCG high"]
    assert "rank correlation" not in found, "codes alone have no distances to compare with"
    assert f"{expected.mean_ndcg_at(10):.3f}" in table
    assert "NDCG@10" in table


def test_rank_correlation_within_each_modality(files, capsys):
    labels = [f"--labels={m}={files.folder / f'test_{m}.csv'}#class" for m in "xy"]
    given = ["evaluate", files.folder / "model.dhm", *views(files, "test"), *labels, "--within"]

    found = json.loads(run(capsys, *given, "--metric", "diagonal", "--json")[1])
    table = run(capsys, *given)[1]

    X = np.load(files.folder / "test_y.npy")
    codes = dh.load(files.folder / "model.dhm").encode(X, modality="y")
    expected = dh.evaluation.rank_correlation(codes, X, metric="diagonal")
    values = {(each["from"], each["into"]): each.get("rank correlation") for each in found}
    assert values["y", "y"] == pytest.approx(expected.value, abs=1e-9)
    assert values["x", "y"] is None
    assert "ρ" in table.splitlines()[0]
    assert found[-1]["rank correlation low"] < expected.value < found[-1]["rank correlation high"]


def test_evaluation_by_pairs_equals_aligned_rows_where_they_are_the_same(files, tmp_path, capsys):
    np.save(tmp_path / "p.npy", np.repeat(np.arange(200), 2).reshape(-1, 2))
    model, both = files.folder / "model.dhm", views(files, "test")

    aligned = json.loads(run(capsys, "evaluate", model, *both, "--json", "--queries", 60)[1])
    by_pairs = json.loads(
        run(capsys, "evaluate", model, *both, "--pairs", tmp_path / "p.npy", "--json", "--queries", 60)[1]
    )

    assert aligned == by_pairs
    assert aligned[0]["queries"] == 60


def test_encoding_replaces_a_file_only_when_it_is_whole(files, tmp_path, capsys):
    bad = np.load(files.folder / "test_x.npy")
    bad[190, 5] = np.inf
    np.save(tmp_path / "bad.npy", bad)
    np.save(tmp_path / "codes.npy", np.zeros((3, 2), dtype=np.uint8))
    before = (tmp_path / "codes.npy").read_bytes()

    status, out, err = run(
        capsys, "encode", files.folder / "model.dhm", tmp_path / "bad.npy", "-o", tmp_path / "codes.npy",
        "--overwrite",
    )  # fmt: skip

    assert (status, out) == (1, "")
    assert "bad.npy" in err
    assert "row 190, feature 5" in err
    assert (tmp_path / "codes.npy").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"bad.npy", "codes.npy"}


BAD = {
    "no view": (["fit", "-o", "m.dhm"], 2, "--view NAME=FILE"),
    "no out": (["fit", "--view", "x={f}/train_x.npy"], 2, "--out"),
    "view without a name": (["fit", "--view", "{f}/train_x.npy", "-o", "m"], 2, "NAME=FILE"),
    "view twice": (["fit", "--view", "x={f}/a", "--view", "x={f}/b", "-o", "m"], 2, "twice"),
    "no file": (["fit", "--view", "x={f}/none.npy", "--labels", "l", "-o", "m"], 1, "no such file"),
    "one view": (["fit", "--view", "x={f}/train_x.npy", "-o", "m"], 2, "--pairs or --labels"),
    "not aligned": (
        ["fit", "--view", "x={f}/train_x.npy", "--view", "y={f}/test_y.npy", "-o", "m"],
        2,
        "x 400, y 200",
    ),
    "two relations": (["fit", "{views}", "--aligned", "--pairs", "p", "-o", "m"], 2, "one of --pairs"),
    "negatives alone": (["fit", "{views}", "--negatives", "p", "-o", "m"], 2, "--negatives needs --pairs"),
    "labels too few": (["fit", "{views}", "--labels", "{f}/test_x.csv#class", "-o", "m"], 1, "200 labels"),
    "labels of nobody": (["fit", "{views}", "--labels", "z={f}/test_x.csv", "-o", "m"], 2, "'z'"),
    "labels of one": (["fit", "{views}", "--labels", "x={f}/train_x.csv#class", "-o", "m"], 2, "'y'"),
    "which label": (["fit", "{views}", "--labels", "{f}/train_x.csv", "-o", "m"], 1, "'id', 'class'"),
    "pairs out of range": (
        [
            "fit",
            "--view",
            "x={f}/test_x.npy",
            "--view",
            "y={f}/test_y.npy",
            "--pairs",
            "{f}/pairs.csv",
            "-o",
            "m",
        ],
        1,
        "does not exist",
    ),
    "unknown setting": (["fit", "{views}", "--set", "n_landmark=5", "-o", "m"], 2, "n_landmarks"),
    "bad setting": (["fit", "{views}", "--set", "max_iter=none", "-o", "m"], 1, "max_iter"),
    "too many bits": (["fit", "{views}", "--bits", "4097", "-o", "m"], 2, "4096"),
    "bad method": (["fit", "{views}", "--method", "magic", "-o", "m"], 2, "magic"),
    "no folder": (["fit", "{views}", "--method", "diff", "--bits", "8", "-o", "no/m"], 1, "no folder"),
    "no array named": (["fit", "--view", "x={f}/train.npz#z", "-o", "m"], 1, "'x', 'y'"),
    "encode no model": (["encode", "{f}/pairs.csv", "{f}/test_x.npy", "-o", "c.npy"], 1, "A model"),
    "encode foreign": (["encode", "{f}/foreign", "{f}/test_x.npy", "-o", "c.npy"], 1, "not a model"),
    "encode to csv": (["encode", "{f}/model.dhm", "{f}/test_x.npy", "-o", "c.csv"], 2, ".npy"),
    "encode which": (
        ["encode", "{f}/model.dhm", "{f}/l3.npy", "-o", "c.npy"],
        2,
        "no modality of the model has 3 features",
    ),
    "encode unknown": (
        ["encode", "{f}/model.dhm", "{f}/test_x.npy", "--modality", "z", "-o", "c.npy"],
        2,
        "no 'z'",
    ),
    "encode wrong width": (
        ["encode", "{f}/model.dhm", "{f}/test_x.npy", "--modality", "y", "-o", "c.npy"],
        1,
        "64 features",
    ),
    "evaluate nothing": (["evaluate"], 2, "--codes"),
    "evaluate with an unknown metric": (
        ["evaluate", "{f}/model.dhm", "{tests}", "--metric", "l1"],
        2,
        "--metric must be one of euclidean, diagonal",
    ),
    "evaluate both": (["evaluate", "{f}/model.dhm", "--codes", "x=c"], 2, "--codes needs none"),
    "evaluate without a model": (["evaluate", "{tests}"], 2, "--view needs a MODEL"),
    "set without a value": (["fit", "{views}", "--set", "nope", "-o", "m"], 2, "write --set NAME=VALUE"),
    "labels of one view": (["fit", "{views}", "--labels", "x=l", "-o", "m"], 2, "--labels y=FILE"),
    "empty features": (
        ["fit", "--view", "x={f}/empty.npy", "--view", "y={f}/empty.npy", "-o", "m"],
        1,
        "empty.npy: there are no rows",
    ),
    "three modalities": (
        ["evaluate", "{f}/model.dhm", "{tests}", "--pairs", "x:z={f}/pairs.csv"],
        2,
        "write --pairs x:y=FILE with two of x, y",
    ),
    "evaluate within": (["evaluate", "{f}/model.dhm", "{tests}", "--within"], 1, "--labels"),
    "evaluate features": (["evaluate", "--codes", "x={f}/test_x.npy"], 1, "diffhash encode"),
    "no benchmark": (["bench", "nonsense"], 2, "accuracy"),
}


@pytest.mark.parametrize(("arguments", "status", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(arguments, status, words, files, tmp_path, monkeypatch, capsys):
    """In this process: a new one takes longer."""
    (files.folder / "foreign").write_bytes(b"nothing of ours")
    np.save(files.folder / "l3.npy", np.zeros((4, 3)))
    np.save(files.folder / "empty.npy", np.zeros((0, 128)))
    monkeypatch.chdir(tmp_path)
    filled = []
    for argument in arguments:
        known = {"{views}": views(files), "{tests}": views(files, "test")}
        filled += known.get(argument) or [argument.replace("{f}", str(files.folder))]

    found, out, err = run(capsys, *filled)

    assert (found, out) == (status, "")
    assert err.startswith("diffhash: ")
    assert err.count("\n") == 1
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_bad_input_of_the_processes(files, tmp_path):
    assert_one_line(
        diffhash("fit", "--view", "x=none.npy", "--view", "y=none.npy", "-o", "m", cwd=tmp_path), 1
    )
    assert_one_line(diffhash("encode", files.folder / "pairs.csv", "x.npy", "-o", "c.npy", cwd=tmp_path), 1)
    assert_one_line(diffhash("evaluate", cwd=tmp_path), 2)
    shown = diffhash("encode", "none.dhm", "x.npy", "-o", "c.npy", "--debug", cwd=tmp_path)
    assert shown.returncode == 1
    assert "Traceback" in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_output_that_nobody_reads_ends_quietly(files):
    """``diffhash info … | head -0``: nobody reads the output."""
    command = [sys.executable, "-m", "diffhash.cli", "info", str(files.folder / "model.dhm")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()

    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


def test_shell_completion_names_the_commands():
    code = (
        "import os; os.environ |= {'_DIFFHASH_COMPLETE': 'complete_bash', 'COMP_WORDS': 'diffhash e', "
        "'COMP_CWORD': '1'}\nfrom diffhash.cli import main\nmain([])"
    )

    result = diffhash(code=code)

    assert result.stdout.split() == ["extend", "encode", "evaluate", "export"]
