"""Folders of shards: learned from and encoded on a cluster of two processes, by functions and by commands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys

import numpy as np
import pytest

import diffhash as dh
from diffhash.workflows import LearningOptions, OptionError, PairFiles
from tests.cli.process import run
from tests.cluster.conftest import N, equal_bits

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
DIFF = LearningOptions(method="diff", n_bits=8)


def write_shards(folder, X, edges, kind="npy"):
    folder.mkdir()
    for number, rows in enumerate(np.split(X, edges)):
        path = folder / f"part-{number:03}.{kind}"
        if kind == "npy":
            np.save(path, rows)
        elif kind == "zarr":
            zarr = pytest.importorskip("zarr")
            zarr.create_array(str(path), data=rows, chunks=(400, X.shape[1]))
        else:
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet

            column = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), X.shape[1])
            pyarrow.parquet.write_table(pa.table({"embedding": column}), path)
    return folder


@pytest.fixture
def shards(tmp_path, data):
    """The shards of two views are of different kinds and have different numbers of rows; one is empty."""
    return {
        "image": write_shards(tmp_path / "image", data.two["image"], [500, 500, 1400]),
        "text": write_shards(tmp_path / "text", data.two["text"], [900, 2500], "parquet"),
    }


@pytest.fixture
def address(client):
    return client.scheduler.address


@pytest.mark.parametrize("relation", ["aligned", "labels"])
def test_the_model_is_that_of_one_machine(address, data, shards, small_sample, tmp_path, relation):
    labels = PairFiles()
    pairs = dh.Pairs.aligned(N)
    if relation == "labels":
        np.save(tmp_path / "labels.npy", data.labels)
        labels, pairs = (
            PairFiles(labels=tmp_path / "labels.npy"),
            dh.Pairs.from_labels(data.labels, data.labels),
        )
    alone = dh.DiffHash(n_bits=8, random_state=0).fit(data.two, pairs)
    said, steps = [], []

    result = dh.cluster.fit_shards(
        shards,
        tmp_path / "model.dhm",
        scheduler=address,
        pair_files=labels,
        learning=DIFF,
        tell=said.append,
        progress=steps.append,
    )

    assert equal_bits(alone, dh.load(result.path), data.two) >= 0.9999
    assert said[0].startswith("3 passes over 3,000 ")
    assert {step.detail for step in steps} == {"pass 1 of 3", "pass 2 of 3", "pass 3 of 3"}


@pytest.mark.parametrize("one_array", [False, True])
def test_zarr_arrays_are_shards(address, data, small_sample, tmp_path, one_array):
    folders = {
        m: write_shards(tmp_path / m, X, [] if one_array else [700, 1800], "zarr")
        for m, X in data.two.items()
    }
    if one_array:
        folders = {
            m: (folder / "part-000.zarr").rename(tmp_path / f"{m}.zarr") for m, folder in folders.items()
        }
    alone = dh.DiffHash(n_bits=8).fit(data.two, dh.Pairs.aligned(N))

    dh.cluster.fit_shards(folders, tmp_path / "m.dhm", scheduler=address, learning=DIFF)
    dh.cluster.encode_shards(
        tmp_path / "m.dhm", folders["image"], tmp_path / "codes", scheduler=address, modality="image"
    )

    together = dh.load(tmp_path / "m.dhm")
    assert equal_bits(alone, together, data.two) >= 0.9999
    codes = np.concatenate([np.load(file) for file in sorted((tmp_path / "codes").glob("*.npy"))])
    np.testing.assert_array_equal(codes, together.encode(data.two["image"], modality="image"))


def test_zarr_shards_without_zarr_say_what_to_install(data, tmp_path, monkeypatch):
    (tmp_path / "image" / "part-0.zarr").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "zarr", None)
    text = write_shards(tmp_path / "text", data.two["text"], [])

    with pytest.raises(dh.errors.MissingExtraError, match=r"pip install 'diffhash\[zarr\]'"):
        dh.cluster.fit_shards({"image": tmp_path / "image", "text": text}, tmp_path / "m.dhm", learning=DIFF)


@pytest.mark.parametrize("what", ["empty folder", "group", "damaged"])
def test_bad_zarr_arrays_are_refused(data, tmp_path, what):
    zarr = pytest.importorskip("zarr")
    folder = write_shards(tmp_path / "image", data.two["image"], [], "zarr")
    path = folder / "part-000.zarr"
    if what == "damaged":
        (path / "zarr.json").write_text("nothing")
    else:
        shutil.rmtree(path)
        path.mkdir()
        if what == "group":
            zarr.open_group(str(path), mode="w")

    with pytest.raises(dh.errors.InputFileError, match=r"part-000\.zarr"):
        dh.cluster.fit_shards({"image": folder, "text": folder}, tmp_path / "m.dhm", learning=DIFF)


def test_the_first_parquet_shard_may_be_empty(data, tmp_path):
    from diffhash.cluster.shards import ShardBlocks, open_shards

    folder = write_shards(tmp_path / "x", data.two["text"], [0, 1000], "parquet")
    blocks = ShardBlocks(open_shards(folder, what="x"))

    assert blocks.shape == (N, 12)
    assert [blocks.block(i).read().shape for i in range(3)] == [(0, 12), (1000, 12), (2000, 12)]


def test_large_npy_shards_are_read_in_blocks(data, tmp_path):
    from diffhash.cluster.shards import ShardBlocks, open_shards

    folder = write_shards(tmp_path / "x", data.two["image"], [500, 500, 1400])
    blocks = ShardBlocks(open_shards(folder, what="x"), step=400)

    assert blocks.sizes == (250, 250, 0, 300, 300, 300, 400, 400, 400, 400)
    read = np.concatenate([blocks.block(i).read() for i in range(len(blocks.sizes))])
    np.testing.assert_array_equal(read, data.two["image"])
    other = blocks.split((1000, 2000))
    np.testing.assert_array_equal(other.block(1).read(), data.two["image"][1000:])
    rows = np.array([0, 499, 500, 2999])
    np.testing.assert_array_equal(blocks.take(rows).read(), data.two["image"][rows])


@pytest.fixture
def model(data, tmp_path):
    hasher = dh.DiffHash(n_bits=11).fit(data.two, dh.Pairs.aligned(N))
    hasher.save(tmp_path / "model.dhm")
    return hasher


def codes_in(folder):
    return {path.name: np.load(path) for path in sorted(folder.glob("*.npy"))}


def test_every_shard_becomes_a_file_of_codes(address, data, shards, model, tmp_path):
    result = dh.cluster.encode_shards(
        tmp_path / "model.dhm", shards["text"], tmp_path / "codes", scheduler=address
    )

    codes = codes_in(tmp_path / "codes")
    assert [len(part) for part in codes.values()] == [900, 1600, 500]
    np.testing.assert_array_equal(
        np.concatenate(list(codes.values())), model.encode(data.two["text"], "text")
    )
    assert (result.shards, result.resumed, result.rows, result.modality) == (3, 0, N, "text")


def test_encoding_goes_on_where_it_ended(address, data, shards, model, tmp_path):
    arguments = tmp_path / "model.dhm", shards["image"], tmp_path / "codes"
    dh.cluster.encode_shards(*arguments, scheduler=address)
    lost, changed, kept = ((tmp_path / "codes" / f"part-00{i}.npy") for i in (0, 2, 3))
    before = kept.stat().st_mtime_ns
    lost.unlink()
    np.save(shards["image"] / "part-002.npy", data.two["image"][:900])
    os.utime(changed, ns=(1, 1))

    result = dh.cluster.encode_shards(*arguments, scheduler=address)

    assert (result.shards, result.resumed) == (4, 2)
    assert kept.stat().st_mtime_ns == before
    np.testing.assert_array_equal(np.load(changed), model.encode(data.two["image"][:900], "image"))


def test_codes_of_another_model_are_not_mixed(address, data, shards, model, tmp_path):
    dh.cluster.encode_shards(tmp_path / "model.dhm", shards["text"], tmp_path / "codes", scheduler=address)
    other = dh.DiffHash(n_bits=11, gamma=0.5).fit(data.two, dh.Pairs.aligned(N))
    other.save(tmp_path / "other.dhm")
    arguments = tmp_path / "other.dhm", shards["text"], tmp_path / "codes"

    with pytest.raises(OptionError, match="has codes of another model"):
        dh.cluster.encode_shards(*arguments, scheduler=address)
    result = dh.cluster.encode_shards(*arguments, scheduler=address, overwrite=True)

    assert result.resumed == 0
    np.testing.assert_array_equal(
        np.concatenate(list(codes_in(tmp_path / "codes").values())), other.encode(data.two["text"], "text")
    )


def test_a_killed_worker_does_not_change_the_codes(client, address, data, model, tmp_path):
    folder = write_shards(tmp_path / "image", data.two["image"], range(50, N, 50))
    worker = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill(step):
        if step.done > 500 and not killed:
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    dh.cluster.encode_shards(
        tmp_path / "model.dhm", folder, tmp_path / "codes", scheduler=address, progress=kill
    )

    assert killed
    codes = np.concatenate(list(codes_in(tmp_path / "codes").values()))
    np.testing.assert_array_equal(codes, model.encode(data.two["image"], "image"))
    assert not list((tmp_path / "codes").glob("*.part"))


def test_errors_name_shard_and_row(address, data, model, tmp_path):
    X = data.two["image"].copy()
    X[17 * 100 + 5, 2] = np.nan
    views = {
        "image": write_shards(tmp_path / "image", X, range(100, N, 100)),
        "text": write_shards(tmp_path / "text", data.two["text"], [2000]),
    }

    with pytest.raises(
        dh.errors.NonFiniteError, match=r"nan in row 5 of shard 17 \(.*part-017.npy\), feature 2"
    ):
        dh.cluster.fit_shards(views, tmp_path / "new.dhm", scheduler=address, learning=DIFF)
    with pytest.raises(dh.errors.NonFiniteError, match=r"part-017.npy: there is nan in row 5, feature 2"):
        dh.cluster.encode_shards(
            tmp_path / "model.dhm", views["image"], tmp_path / "codes", scheduler=address
        )
    assert not (tmp_path / "new.dhm").exists()
    assert not (tmp_path / "codes" / "part-017.npy").exists()


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("width", dh.errors.FeatureCountError, r"part-001.npy has 5 features, but .*part-000.npy has 24"),
        (
            "missing",
            dh.errors.InputFileError,
            r"part-002.npy is missing; the shards are numbered from 0 to 3",
        ),
        ("rows", OptionError, r"image 3,000, text 2,000"),
        ("no folder", dh.errors.InputFileError, "is not a folder"),
        ("no files", dh.errors.InputFileError, "there are no .npy or .parquet or .zarr files"),
        ("no rows", dh.errors.InputFileError, "have no rows"),
        ("damaged", dh.errors.InputFileError, "part-001.npy"),
    ],
)
def test_bad_folders_are_refused_before_any_work(data, tmp_path, what, error, message):
    image = write_shards(tmp_path / "image", data.two["image"], [500, 1000, 1500])
    text = write_shards(tmp_path / "text", data.two["text"], [2000])
    if what == "width":
        np.save(image / "part-001.npy", np.zeros((10, 5)))
    elif what == "missing":
        (image / "part-002.npy").unlink()
    elif what == "rows":
        (text / "part-001.npy").unlink()
    elif what == "no folder":
        image = image / "part-000.npy"
    elif what == "damaged":
        (image / "part-001.npy").write_bytes(b"nothing")
    else:
        for path in image.iterdir():
            path.unlink()
        if what == "no rows":
            np.save(image / "a.npy", np.zeros((0, 24)))

    with pytest.raises(error, match=message):
        dh.cluster.fit_shards(
            {"image": image, "text": text}, tmp_path / "m.dhm", scheduler="tcp://127.0.0.1:1", learning=DIFF
        )


def test_objects_by_id_may_be_in_different_shards(address, data, small_sample, tmp_path):
    """Rows with the same id are found in all shards, not only in those of the same number."""
    order = np.random.default_rng(3).permutation(N)
    views = {"image": data.two["image"], "text": data.two["text"][order]}
    folders = {m: write_shards(tmp_path / m, X, [1000, 2000]) for m, X in views.items()}
    ids = {"image": np.arange(N), "text": order}
    for m, values in ids.items():
        np.save(tmp_path / f"{m}_ids.npy", values)
    alone = dh.DiffHash(n_bits=8, random_state=0).fit(views, dh.Pairs.from_ids(ids))

    result = dh.cluster.fit_shards(
        folders,
        tmp_path / "m.dhm",
        scheduler=address,
        pair_files=PairFiles(ids={m: tmp_path / f"{m}_ids.npy" for m in ids}),
        learning=DIFF,
    )

    assert equal_bits(alone, dh.load(result.path), views) >= 0.9999


def test_a_scheduler_that_is_not_there_is_a_clear_error(shards, tmp_path, monkeypatch):
    monkeypatch.setattr("diffhash.cluster.clients._TIMEOUT", 0.5)

    with pytest.raises(dh.errors.ClusterError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        dh.cluster.fit_shards(shards, tmp_path / "m.dhm", scheduler="tcp://127.0.0.1:1", learning=DIFF)
    assert not (tmp_path / "m.dhm").exists()


def test_the_commands_work_on_a_cluster(address, capsys, data, shards, tmp_path):
    views = [f"--view={m}={folder}" for m, folder in shards.items()]
    on = ["--scheduler", address, "--json"]
    model = tmp_path / "cli.dhm"

    status, out, err = run(capsys, "fit", *views, "--method", "diff", "--bits", "8", "-o", model, *on)
    assert status == 0, err
    assert json.loads(out)["learned from"] == "3,000 aligned rows"
    assert "1 pass over 3,000 aligned rows" in err
    status, out, err = run(capsys, "encode", model, shards["image"], "-o", tmp_path / "codes", *on)
    assert status == 0, err
    assert json.loads(out)["shards"] == 4
    status, out, err = run(capsys, "encode", model, "--view=image=x", "-o", tmp_path / "codes", *on)
    assert status == 2
    assert "--scheduler goes with FEATURES" in err
    status, out, err = run(capsys, "fit", *views, "--calibrate", "-o", tmp_path / "n.dhm", *on)
    assert status == 2
    assert "--calibrate needs all rows in memory" in err
