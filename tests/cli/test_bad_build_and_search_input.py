"""Bad input of ``build``, ``search`` and ``info``: one line that says what to do."""

from __future__ import annotations

import pytest

from tests.cli.process import assert_one_line, diffhash, run, views

FOLDER = ["build", "--images", "{p}/pictures", "--captions", "{p}/captions.csv", "-o", "a.dh"]
FEATURES = ["build", "{views}", "-o", "a.dh"]
GIVEN = [*FEATURES, "--model", "{f}/model.dhm"]
BAD = {
    "build nothing": (["build", "-o", "a.dh"], 2, "--images FOLDER and --captions"),
    "build half": (["build", "--images", "{p}/pictures", "-o", "a.dh"], 2, "--captions FILE"),
    "build both": (
        ["build", "--images", "{p}/pictures", "--captions", "{p}/captions.csv", "{views}", "-o", "a.dh"],
        2,
        "or --view",
    ),
    "build mixed": (
        ["build", "--images", "{p}/pictures", "--captions", "{p}/captions.csv", "--pairs", "p", "-o", "a.dh"],
        2,
        "goes with --view",
    ),
    "build folder, aligned": ([*FOLDER, "--aligned"], 2, "--aligned goes with --view"),
    "build folder, negatives": ([*FOLDER, "--negatives", "n"], 2, "--negatives goes with --view"),
    "build folder, model": ([*FOLDER, "--model", "m"], 2, "--model goes with --view"),
    "build features, kind": ([*FEATURES, "--kind", "photo"], 2, "--kind goes with --images"),
    "build features, skip": ([*FEATURES, "--skip"], 2, "--skip goes with --images"),
    "build features, thumbnails": ([*FEATURES, "--no-thumbnails"], 2, "--no-thumbnails goes with --images"),
    "build features, file": ([*FEATURES, "--file-column", "f"], 2, "--file-column goes with --images"),
    "build features, caption": (
        [*FEATURES, "--caption-column", "f"],
        2,
        "--caption-column goes with --images",
    ),
    "build model, bits": ([*GIVEN, "--bits", "64"], 2, "--bits does not go with --model"),
    "build model, method": ([*GIVEN, "--method", "diff"], 2, "--method does not go with --model"),
    "build model, sample": ([*GIVEN, "--sample", "9"], 2, "--sample does not go with --model"),
    "build model, seed": ([*GIVEN, "--seed", "0"], 2, "--seed does not go with --model"),
    "build model, set": ([*GIVEN, "--set", "gamma=2"], 2, "--set does not go with --model"),
    "build file as folder": (
        ["build", "--images", "{p}/captions.csv", "--captions", "{p}/captions.csv", "-o", "a.dh"],
        1,
        "captions.csv is not a folder",
    ),
    "build no folder": (
        ["build", "--images", "{p}/none", "--captions", "{p}/captions.csv", "-o", "a.dh"],
        1,
        "no such folder",
    ),
    "build no column": (
        ["build", "--images", "{p}/pictures", "--captions", "{f}/pairs.csv", "-o", "a.dh"],
        1,
        "--file-column",
    ),
    "build wrong column": (
        [
            "build",
            "--images",
            "{p}/pictures",
            "--captions",
            "{p}/captions.csv",
            "--caption-column",
            "q",
            "-o",
            "a",
        ],
        1,
        "'file', 'caption', 'shape', 'number'",
    ),
    "build into nowhere": (["build", "{views}", "-o", "no/a.dh"], 1, "no folder"),
    "build other model": (
        ["build", "--model", "{f}/model.dhm", "--view", "z={f}/test_x.npy", "-o", "a.dh"],
        2,
        "no modality 'z'",
    ),
    "build wrong width": (
        ["build", "--model", "{f}/model.dhm", "--view", "y={f}/test_x.npy", "-o", "a.dh"],
        1,
        "64 features",
    ),
    "search nothing": (["search", "{s}"], 2, "one of TEXT"),
    "search twice": (["search", "{s}", "red", "--item", "x"], 2, "--item is a query by itself"),
    "search no file": (["search", "none.dh", "red"], 1, "no such file"),
    "search no collection": (["search", "{f}/model.dhm", "red"], 1, "model.dhm"),
    "search no picture": (["search", "{s}", "--image", "none.png"], 1, "none.png"),
    "search a text as a picture": (["search", "{s}", "--image", "{f}/pairs.csv"], 1, "cannot be read"),
    "search vector width": (
        ["search", "{s}", "--vector", "{f}/test_x.npy"],
        2,
        "no modality of the model has 128 features",
    ),
    "search unknown item": (["search", "{s}", "--item", "none"], 1, "none"),
    "search into": (["search", "{s}", "red", "--into", "sound"], 2, "no 'sound'"),
    "search modality": (["search", "{s}", "red", "--modality", "sound"], 2, "no 'sound'"),
    "search page": (["search", "{s}", "red", "--page", "p.html"], 2, "--page goes with --open"),
    "search a table": (["search", "{f}/pairs.csv", "red"], 1, "pairs.csv is a .csv file. A collection"),
    "search a model": (["search", "{f}/model.dhm", "red"], 1, "model.dhm is a model. A collection"),
    "search none": (["search", "{s}", "red", "-k", "0"], 2, "-k"),
    "where nonsense": (["search", "{s}", "red", "--where", "shape"], 2, "FIELD=VALUE"),
    "where bad json": (["search", "{s}", "red", "--where", '{"a"'], 2, "not JSON"),
    "where bad filter": (["search", "{s}", "red", "--where", '{"a": {"like": 1}}'], 1, "like"),
    "page nowhere": (["search", "{s}", "red", "--open", "--page", "no/p.html"], 1, "no folder"),
    "info nothing": (["info", "none"], 1, "no such file"),
}


@pytest.mark.parametrize(("arguments", "status", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(
    arguments, status, words, files, photos, shapes, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    filled = []
    for argument in arguments:
        named = {"{f}": files.folder, "{p}": photos, "{s}": shapes}
        for name, path in named.items():
            argument = argument.replace(name, str(path))
        filled += views(files) if argument == "{views}" else [argument]

    found, out, err = run(capsys, *filled)

    assert (found, out) == (status, ""), err
    assert err.startswith("diffhash: ")
    assert err.count("\n") == 1
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_bad_input_of_the_processes(files, shapes, tmp_path):
    assert_one_line(diffhash("build", "-o", "a.dh", cwd=tmp_path), 2)
    assert_one_line(diffhash("search", shapes, "--vector", files.folder / "pairs.csv", cwd=tmp_path), 2)
