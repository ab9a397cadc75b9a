"""``extend`` from files: a modality joins a model or a collection, on the command line and as a workflow."""

from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.cli.app import run_app
from diffhash.errors import DiffhashError, ParameterError
from diffhash.workflows import OptionError

N, CLASSES = 120, 6


@pytest.fixture
def data(tmp_path):
    """A model of pictures and texts, its collection, and files of three views; a third of the speech is missing."""
    rng = np.random.default_rng(0)
    classes = np.arange(N) % CLASSES
    views = {
        m: 3 * rng.normal(size=(CLASSES, d))[classes] for m, d in (("image", 9), ("text", 7), ("speech", 5))
    }
    views = {m: (X + rng.normal(size=X.shape)).astype(np.float32) for m, X in views.items()}
    rows = {m: np.arange(N) for m in views} | {"speech": rng.permutation(N)[: 2 * N // 3]}
    views["speech"] = views["speech"][rows["speech"]]
    for m, X in views.items():
        np.save(tmp_path / f"{m}.npy", X)
        lines = [f"object {r},{classes[r]}" for r in rows[m]]
        (tmp_path / f"{m}.csv").write_text("\n".join(["id,class", *lines]) + "\n")
    hasher = dh.DiffHash(8, whiten=True, rotate=True)
    hasher.fit({m: views[m] for m in ("image", "text")}, dh.Pairs.from_labels(classes, classes))
    hasher.save(tmp_path / "old.dhm")
    with dh.Collection.create(tmp_path / "objects.dh", hasher) as collection:
        collection.add(views["image"], modality="image")
    return SimpleNamespace(
        folder=tmp_path, views=views, rows=rows, classes=classes, hasher=hasher, out=tmp_path / "new.dhm"
    )


def sources(data, *names):
    return {m: data.folder / f"{m}.npy" for m in names}


def by_column(data, column, *names):
    return {m: f"{data.folder / m}.csv#{column}" for m in names}


def test_extend_writes_the_model_of_the_library(data):
    """Rows by id, with gaps; the codes of the old modalities are the same bits."""
    names = ("speech", "image", "text")
    result = workflows.extend(
        data.folder / "old.dhm",
        sources(data, *names),
        data.out,
        pair_files=workflows.PairFiles(ids=by_column(data, "id", *names)),
    )

    ids = {m: [f"object {r}" for r in data.rows[m]] for m in names}
    expected = data.hasher.extend(
        {m: data.views[m] for m in names}, dh.Pairs.from_ids(ids), modality="speech"
    )
    found = dh.load(data.out)
    assert (result.modality, result.learned_from) == ("speech", "120 objects by id")
    for m in names:
        np.testing.assert_array_equal(
            found.encode(data.views[m], modality=m), expected.encode(data.views[m], modality=m)
        )
    np.testing.assert_array_equal(
        found.encode(data.views["image"], modality="image"),
        data.hasher.encode(data.views["image"], modality="image"),
    )


def test_command_extends_a_model_by_labels(data, capsys):
    labels = [f"--labels={m}={file}" for m, file in by_column(data, "class", "speech", "text").items()]
    views = [f"--view={m}={file}" for m, file in sources(data, "speech", "text").items()]

    status = run_app(["extend", str(data.folder / "old.dhm"), *views, *labels, "-o", str(data.out), "--json"])

    printed = json.loads(capsys.readouterr().out)
    assert status == 0
    assert printed["new modality"] == "speech"
    assert [m["name"] for m in printed["modalities"]] == ["image", "text", "speech"]
    codes = dh.load(data.out).encode(data.views["speech"], modality="speech")
    stored = data.hasher.encode(data.views["image"], modality="image")
    of_speech = data.classes[data.rows["speech"]]
    assert dh.evaluate(codes, stored, of_speech, data.classes).mean_average_precision > 0.8


def test_command_extends_a_collection_in_place(data, capsys):
    """A new encoder of pictures: its codes join those of the old one, and the stored codes stay."""
    np.save(data.folder / "v2.npy", data.views["image"] @ np.random.default_rng(1).normal(size=(9, 20)))
    views = [f"--view=v2={data.folder / 'v2.npy'}", f"--view=image={data.folder / 'image.npy'}"]
    collection = data.folder / "objects.dh"

    status = run_app(["extend", str(collection), *views, "--encodes-as", "image"])

    assert status == 0
    assert "v2" in capsys.readouterr().out
    added = ["add", str(collection), f"--view=v2={data.folder / 'v2.npy'}"]
    assert run_app(added) == 0
    with dh.Collection.open(collection) as opened:
        assert opened.modalities == ("image", "text", "v2")
        assert len(opened) == 2 * N
        (hits,) = opened.search(data.views["text"][0], modality="text", into="image", k=2 * N)
        assert len(hits) == 2 * N


def test_default_pairs_are_aligned_rows(data):
    views = sources(data, "text") | {"other": data.folder / "image.npy"}
    result = workflows.extend(data.folder / "old.dhm", views, data.out)
    assert (result.modality, result.learned_from) == ("other", "120 aligned rows")


def test_a_sample_is_drawn_of_many_objects(data):
    views = sources(data, "text") | {"other": data.folder / "image.npy"}
    result = workflows.extend(data.folder / "old.dhm", views, data.out, sample=60)
    assert result.learned_from == "a sample of 60 aligned rows out of 120 aligned rows"


@pytest.mark.parametrize(
    ("names", "options", "error", "message"),
    [
        (("image", "text"), {}, OptionError, "new are: none"),
        (("speech",), {}, DiffhashError, "pairs"),
        (("image", "text"), {"modality": "text"}, ParameterError, "already"),
        (("image", "text"), {"modality": "speech"}, OptionError, "not one of `views`"),
        (("speech", "image"), {}, OptionError, "different numbers of rows"),
        (("speech", "image"), {"encodes_as": "sound"}, DiffhashError, "sound"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_written(data, names, options, error, message):
    pair_files = None
    if "encodes_as" in options:
        pair_files = workflows.PairFiles(ids=by_column(data, "id", *names))
    with pytest.raises(error, match=message):
        workflows.extend(
            data.folder / "old.dhm", sources(data, *names), data.out, pair_files=pair_files, **options
        )
    assert not data.out.exists()


def test_a_model_file_needs_an_output(data):
    with pytest.raises(OptionError, match="`out` is needed"):
        workflows.extend(data.folder / "old.dhm", sources(data, "text"))


def test_inputs_are_never_replaced(data):
    before = hashlib.sha256((data.folder / "old.dhm").read_bytes()).hexdigest()
    views = sources(data, "text") | {"other": data.folder / "image.npy"}
    with pytest.raises(OptionError, match="also an input"):
        workflows.extend(data.folder / "old.dhm", views, data.folder / "old.dhm", overwrite=True)
    assert hashlib.sha256((data.folder / "old.dhm").read_bytes()).hexdigest() == before


def test_a_collection_is_unchanged_after_an_error(data, capsys):
    """The name exists: one line, exit status 1, and the same modalities."""
    views = [f"--view={m}={file}" for m, file in sources(data, "image", "text").items()]

    status = run_app(["extend", str(data.folder / "objects.dh"), *views, "--modality", "text"])

    assert status == 1
    assert capsys.readouterr().err.count("\n") == 1
    with dh.Collection.open(data.folder / "objects.dh") as opened:
        assert opened.modalities == ("image", "text")
