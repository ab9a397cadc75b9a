"""``build_folder``: one pass over the pictures, and a file that is complete or not there."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import InputError, InputFileError

SETTINGS = {"features": "linear", "max_iter": 5, "ridge": 0.01, "penalty": 0.003, "negative_target": 0}


def options(**changes):
    return workflows.LearningOptions(**{"n_bits": 16, "sample": 20_000, "settings": SETTINGS, **changes})


@pytest.fixture
def opened(monkeypatch):
    """Counts how often each picture is opened."""
    counts = Counter()
    plain = PIL.Image.open

    def counting(path, *rest, **more):
        counts[Path(path).name] += 1
        return plain(path, *rest, **more)

    monkeypatch.setattr(PIL.Image, "open", counting)
    return counts


@pytest.fixture
def broken(photos, tmp_path):
    """The same folder with two pictures that cannot be read."""
    shutil.copytree(photos, tmp_path / "p")
    for name in ("discs/03.png", "squares/31.png"):
        (tmp_path / "p" / "pictures" / name).write_bytes(b"not a picture")
    return tmp_path / "p"


def build(folder, out, learning=None, **more):
    return workflows.build_folder(
        folder / "pictures", folder / "captions.csv", out, learning=learning or options(), **more
    )


@pytest.mark.parametrize("sample", [20_000, 20], ids=["all", "a sample"])
@pytest.mark.parametrize("skip", [False, True], ids=["strict", "skip"])
def test_every_picture_is_decoded_once(sample, skip, photos, tmp_path, opened):
    result = build(photos, tmp_path / "s.dh", options(sample=sample), skip=skip)

    assert result.objects == 60
    assert len(opened) == 60
    assert set(opened.values()) == {1}


@pytest.mark.parametrize("sample", [20_000, 20], ids=["all", "a sample"])
def test_broken_pictures_are_left_out_in_the_same_pass(sample, broken, tmp_path, opened):
    result = build(broken, tmp_path / "s.dh", options(sample=sample), skip=True)

    assert (result.objects, result.left_out) == (58, 2)
    assert set(opened.values()) == {1}
    with dh.Collection.open(tmp_path / "s.dh") as c:
        ids = {item.id for items in c.iterate() for item in items}
        assert len(ids) == 58
        assert not ids & {"discs/03.png", "squares/31.png"}
        assert all(item.modalities == ("image", "text") for items in c.iterate() for item in items)


@pytest.fixture
def learned_texts(monkeypatch):
    """Captions that models are learned from."""
    from diffhash.featurizers import TfidfFeatures

    found = []
    plain = TfidfFeatures.fit

    def fit(self, texts):
        found[:] = texts
        return plain(self, texts)

    monkeypatch.setattr(TfidfFeatures, "fit", fit)
    return found


def number_captions(folder, out):
    """The captions with a number in each, so that they can be told apart."""
    first, *lines = (folder / "captions.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    out.write_text("\n".join([first, *(f"{c[0]},{c[1]} n{i},{c[2]},{i}" for i, c in enumerate(cells))]))
    return [f"{c[1]} n{i}" for i, c in enumerate(cells)]


def test_the_sample_is_full_although_pictures_are_broken(broken, tmp_path, opened, learned_texts):
    """Captions of broken pictures are replaced by others, and no picture is decoded twice."""
    texts = number_captions(broken, tmp_path / "c.csv")
    drawn = {texts[row] for row in np.random.default_rng(1).choice(60, 40, replace=False)}
    unreadable = {texts[3], texts[31]}
    assert drawn & unreadable

    result = workflows.build_folder(
        broken / "pictures",
        tmp_path / "c.csv",
        tmp_path / "s.dh",
        learning=options(sample=40, seed=1),
        skip=True,
    )

    assert result.learned_from == "40 pairs"
    assert len(set(learned_texts)) == 40
    assert set(learned_texts) > drawn - unreadable
    assert not set(learned_texts) & unreadable
    assert set(opened.values()) == {1}


def test_the_sample_is_drawn_from_the_captions_with_the_seed(photos, tmp_path, learned_texts):
    texts = number_captions(photos, tmp_path / "c.csv")

    workflows.build_folder(
        photos / "pictures",
        tmp_path / "c.csv",
        tmp_path / "s.dh",
        learning=options(sample=40, seed=1),
        skip=True,
    )

    rows = np.sort(np.random.default_rng(1).choice(60, 40, replace=False))
    assert learned_texts == [texts[row] for row in rows]


def test_a_broken_picture_is_an_error_without_skip(broken, tmp_path):
    with pytest.raises(InputError, match=r"\.png cannot be read as a picture .* Use `skip`"):
        build(broken, tmp_path / "s.dh")
    assert not list(tmp_path.glob("*s.dh*"))


@pytest.mark.parametrize("kind", ["photo", "drawing"])
@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_codes_are_those_of_the_featurizer(kind, suffix, tmp_path):
    """A picture that is asked with later gets the code that it has in the collection."""
    rng = np.random.default_rng(0)
    (tmp_path / "p").mkdir()
    lines = ["file,caption"]
    for number in range(12):
        size = (300 + 40 * number, 500 - 20 * number, 3)
        image = PIL.Image.fromarray(rng.integers(0, 256, size, dtype=np.uint8))
        image.resize((size[1] // 8, size[0] // 8)).resize((size[1], size[0])).save(
            tmp_path / "p" / f"{number}.{suffix}"
        )
        lines.append(f"{number}.{suffix},{'red' if number % 2 else 'blue'} thing {number % 3}")
    (tmp_path / "c.csv").write_text("\n".join(lines))

    workflows.build_folder(
        tmp_path / "p",
        tmp_path / "c.csv",
        tmp_path / "s.dh",
        kind=kind,
        learning=options(n_bits=3, method="diff", settings={}),
    )

    with dh.Collection.open(tmp_path / "s.dh") as c:
        for items in c.iterate("image"):
            for item in items:
                code = c.hasher.encode_raw([tmp_path / "p" / item.id], modality="image")
                np.testing.assert_array_equal(item.codes["image"], code[0])


def test_too_few_readable_pictures_are_an_error(photos, tmp_path):
    (tmp_path / "c.csv").write_text("file,caption\ndiscs/03.png,one\n")

    with pytest.raises(InputFileError, match="at least two pictures"):
        workflows.build_folder(photos / "pictures", tmp_path / "c.csv", tmp_path / "s.dh")


class CancelledError(Exception):
    pass


@pytest.mark.parametrize(
    "name", ["reading pictures", "learning", "calibrating", "adding pictures", "adding captions"]
)
def test_a_callback_that_raises_leaves_the_old_file(name, photos, tmp_path):
    build(photos, tmp_path / "s.dh")
    before = (tmp_path / "s.dh").read_bytes()

    def cancel(step):
        if step.name == name:
            raise CancelledError

    with pytest.raises(CancelledError):
        build(photos, tmp_path / "s.dh", overwrite=True, progress=cancel)

    assert (tmp_path / "s.dh").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} - {"s.dh-lock"} == {"s.dh"}


def test_steps_are_counted_up_to_their_total(photos, tmp_path):
    steps = []

    result = build(photos, tmp_path / "s.dh", progress=steps.append)

    last = {step.name: step for step in steps}
    assert list(last) == ["reading pictures", "learning", "calibrating", "adding pictures", "adding captions"]
    assert last["reading pictures"] == workflows.Step("reading pictures", 60, 60, "pictures")
    assert last["adding pictures"].done == 60
    assert json.loads(json.dumps([step.to_dict() for step in steps]))[0]["done"] == 0
    assert json.loads(json.dumps(result.to_dict()))["model"]["modalities"][1]["raw"] == "tfidf"


KILLED = """
import os, signal, sys
from pathlib import Path
from diffhash import workflows
folder, out = Path(sys.argv[1]), sys.argv[2]
def kill(step=None):
    if step is None or step.name == "adding captions":
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "early":
    # Before the empty collection gets its temporary name.
    import diffhash.atomic_write
    diffhash.atomic_write.os.fsync = lambda handle: kill()
workflows.build_folder(folder / "pictures", folder / "captions.csv", out, overwrite=True, progress=kill,
    learning=workflows.LearningOptions("diff", 4))
"""


@pytest.mark.parametrize(
    ("when", "left_over"), [("early", r"\.\.s\.dh\..*\.part"), ("late", r"\.s\.dh\..*\.part-wal")]
)
def test_a_build_after_one_that_was_killed_starts_cleanly(when, left_over, photos, tmp_path):
    """The killed one leaves temporary files, and the old collection. The next one removes them."""
    out = tmp_path / "s.dh"
    build(photos, out)
    before = out.read_bytes()
    (tmp_path / ".s.dh.bak.0123abcd.part").write_text("of another file")

    killed = subprocess.run([sys.executable, "-c", KILLED, photos, out, when], timeout=120)

    assert killed.returncode == -signal.SIGKILL
    assert out.read_bytes() == before
    left = {path.name for path in tmp_path.iterdir()}
    assert any(re.fullmatch(left_over, name) for name in left), left

    result = build(photos, out, overwrite=True)

    assert result.objects == 60
    assert {path.name for path in tmp_path.iterdir()} == {"s.dh", ".s.dh.bak.0123abcd.part"}
    with dh.Collection.open(out) as c:
        assert c.verify().ok


def test_temporary_files_of_a_running_build_are_not_removed(files, tmp_path):
    from diffhash.errors import CollectionBusyError
    from diffhash.workflows.new_collection import new_collection

    path = tmp_path / "c.dh"
    with new_collection(path, files.hasher.model_) as running:
        with pytest.raises(CollectionBusyError), new_collection(path, files.hasher.model_):
            pytest.fail("it went to work")
        running.add_codes(np.zeros((3, 2), dtype=np.uint8), modality="x")
    with dh.Collection.open(path) as c:
        assert len(c) == 3
