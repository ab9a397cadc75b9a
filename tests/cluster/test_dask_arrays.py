"""Dask arrays in fit and encode: the model of one machine, and errors that name the block."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import diffhash as dh
from diffhash.cluster.clients import MALLOC_SETTINGS
from tests.cluster.conftest import N, equal_bits

dask = pytest.importorskip("dask", reason="the extra 'cluster' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'cluster' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")


def chunked(views, rows=(500, 700, 0, 800, 1000)):
    """Dask arrays with other chunks for every view, also of the features, and one without rows."""
    return {
        name: da.from_array(X, chunks=(rows if number == 0 else 450 + 50 * number, 7))
        for number, (name, X) in enumerate(views.items())
    }


HASHERS = {
    "diff": dh.DiffHash(n_bits=8),
    "whitened": dh.DiffHash(n_bits=8, whiten=True),
    "median": dh.DiffHash(n_bits=8, thresholds="median"),
    "kernel": dh.KernelDiffHash(n_bits=8, n_landmarks=40),
    "boosted": dh.BoostedHash(n_bits=4),
}


@pytest.mark.parametrize("name", HASHERS)
def test_two_processes_learn_the_model_of_one_machine(client, data, small_sample, name):
    hasher = HASHERS[name]
    pairs = dh.Pairs.aligned(N)
    # BoostedHash learns from a sample, which does not depend on how rows are split.
    # Whitening float32 rows rounds more: a few thresholds change to the next gap, on one machine too.
    views = {m: X.astype(np.float64) if name == "whitened" else X for m, X in data.two.items()}
    alone = clone(hasher)
    if name == "boosted":
        halves = [
            ({m: X[rows] for m, X in views.items()}, dh.Pairs.aligned(N // 2))
            for rows in (slice(0, N // 2), slice(N // 2, N))
        ]
        alone.fit_batches(halves)
    else:
        alone.fit(views, pairs)

    together = clone(hasher).fit(chunked(views), pairs)

    assert equal_bits(alone, together, views) >= 0.9999


@pytest.mark.parametrize("form", ["aligned", "labels", "three modalities", "ids"])
def test_two_processes_learn_the_refined_hash_of_one_machine(client, data, small_sample, form):
    """Its settings come from the same sample, and its regressions or directions from sums over all rows."""
    order = np.random.default_rng(1).permutation(N)
    views = dict(data.views) if form == "three modalities" else dict(data.two)
    pairs = dh.Pairs.aligned(N)
    if form in ("labels", "three modalities"):
        pairs = dh.Pairs.from_labels(dict.fromkeys(views, data.labels))
    elif form == "ids":
        views["text"] = views["text"][order]
        pairs = dh.Pairs.from_ids({"image": np.arange(N), "text": order})
    hasher = dh.RefinedHash(n_bits=8, n_landmarks=40, max_iter=3)
    alone = clone(hasher).fit(views, pairs)

    together = clone(hasher).fit(chunked(views), pairs)

    assert equal_bits(alone, together, views) >= 0.9999
    assert alone.report_.chosen == together.report_.chosen


@pytest.mark.parametrize("form", ["labels", "ids", "listed", "couples"])
def test_every_form_of_pairs_gives_the_model_of_one_machine(client, data, small_sample, form):
    """Labels, ids and listed pairs may be between rows of different blocks."""
    order = np.random.default_rng(1).permutation(N)
    views = dict(data.views) if form in ("labels", "couples") else dict(data.two)
    if form == "labels":
        pairs = dh.Pairs.from_labels(dict.fromkeys(views, data.labels))
    elif form == "ids":
        views["text"] = views["text"][order]
        pairs = dh.Pairs.from_ids({"image": np.arange(N), "text": order})
    elif form == "listed":
        views["text"] = views["text"][order]
        where = np.argsort(order)
        pairs = dh.Pairs((np.arange(N), where), (np.arange(N), np.roll(where, 17)))
    else:
        pairs = {("image", "text"): dh.Pairs.aligned(N), ("image", "speech"): dh.Pairs.aligned(N)}
    alone = dh.DiffHash(n_bits=8).fit(views, pairs)

    together = dh.DiffHash(n_bits=8).fit(chunked(views), pairs)

    assert equal_bits(alone, together, views) >= 0.9999


def test_labels_may_be_dask_arrays(client, data):
    views = {m: X[:600] for m, X in data.two.items()}
    labels = data.labels[:600]
    alone = dh.DiffHash(n_bits=4).fit(views, dh.Pairs.from_labels(labels, labels))

    lazy = da.from_array(labels, chunks=250)
    together = dh.DiffHash(n_bits=4).fit(chunked(views, 200), dh.Pairs.from_labels(lazy, lazy))

    assert equal_bits(alone, together, views) >= 0.9999


def test_codes_of_a_dask_array_are_a_dask_array(client, data):
    hasher = dh.DiffHash(n_bits=11).fit(data.two, dh.Pairs.aligned(N))
    lazy = chunked(data.two)["image"]

    codes, values = hasher.encode(lazy, modality="image"), hasher.project(lazy, modality="image")

    assert codes.shape == (N, 2)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes.compute(), hasher.encode(data.two["image"], modality="image"))
    np.testing.assert_allclose(
        values.compute(), hasher.project(data.two["image"], modality="image"), atol=1e-5
    )


def test_without_a_client_the_blocks_run_in_threads(data, small_sample):
    alone = dh.DiffHash(n_bits=8).fit(data.two, dh.Pairs.aligned(N))
    with dask.config.set(scheduler="threads"):
        together = dh.DiffHash(n_bits=8).fit(chunked(data.two), dh.Pairs.aligned(N))

    assert equal_bits(alone, together, data.two) >= 0.9999


def test_sparse_blocks(data, small_sample):
    dense = {m: np.where(X > 2, X, 0) for m, X in data.two.items()}
    sparse = {m: scipy.sparse.csr_array(X) for m, X in dense.items()}
    lazy = {
        m: da.from_array(X, chunks=(500, -1)).map_blocks(scipy.sparse.csr_array) for m, X in dense.items()
    }
    pairs = dh.Pairs.aligned(N)
    alone = dh.DiffHash(n_bits=8).fit(sparse, pairs)

    with dask.config.set(scheduler="threads"):
        together = dh.DiffHash(n_bits=8).fit(lazy, pairs)
        with pytest.raises(dh.errors.InputError, match="between rows of different blocks need dense arrays"):
            dh.DiffHash(n_bits=8).fit(lazy, dh.Pairs((np.arange(N), np.arange(N)[::-1])))

    assert equal_bits(alone, together, sparse) >= 0.9999


def killing(block, marker, at):
    """A block that ends its worker when it is read for the ``at``-th time."""
    # Never this process: outside of a worker this raises.
    distributed.get_worker()
    path = Path(marker)
    count = len(path.read_bytes()) if path.exists() else 0
    with path.open("ab") as file:
        file.write(b"x")
    if count + 1 == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize(
    ("hasher", "at"),
    [
        (dh.DiffHash(n_bits=8), 1),
        (dh.DiffHash(n_bits=8), 3),
        (dh.KernelDiffHash(n_bits=8, n_landmarks=40), 2),
        (dh.RefinedHash(n_bits=8, n_landmarks=40, max_iter=3), 2),
    ],
    ids=["diff, first pass", "diff, last pass", "kernel", "refined"],
)
def test_a_killed_worker_does_not_change_the_model(client, data, small_sample, tmp_path, hasher, at):
    """A worker is killed in the middle of a pass; its results are lost and computed again."""
    pairs = dh.Pairs.aligned(N)
    alone = clone(hasher).fit(data.two, pairs)
    views = {m: da.from_array(X, chunks=(200, -1)) for m, X in data.two.items()}
    image = views["image"]
    marked = image.blocks[9].map_blocks(killing, str(tmp_path / "reads"), at, meta=image._meta)
    views["image"] = da.concatenate([image.blocks[:9], marked, image.blocks[10:]])

    together = clone(hasher).fit(views, pairs)

    assert (tmp_path / "reads").stat().st_size > at
    assert equal_bits(alone, together, data.two) >= 0.9999


def test_the_number_of_passes_is_said_before(client, data, small_sample, caplog):
    with caplog.at_level(logging.INFO, "diffhash.cluster"):
        dh.DiffHash(n_bits=8).fit(chunked(data.two), dh.Pairs.aligned(N))

    assert "DiffHash.fit: 3 passes over the rows (3,000 of image, 3,000 of text) in 4 blocks" in caplog.text


def test_workers_have_the_malloc_settings(client):
    for name, value in MALLOC_SETTINGS.items():
        assert set(client.run(os.environ.get, name).values()) == {value}


def test_an_error_names_block_and_row(client, data):
    broken = data.two["image"].copy()
    broken[1205, 3] = np.nan
    views = {"image": da.from_array(broken, chunks=(400, 10)), "text": da.from_array(data.two["text"])}

    with pytest.raises(dh.errors.NonFiniteError, match=r"'image' has nan in row 5 of block 3, feature 3"):
        dh.DiffHash(n_bits=4).fit(views, dh.Pairs.aligned(N))


def bad_views(data, kind):
    image, text = (da.from_array(X, chunks=(1000, -1)) for X in data.two.values())
    if kind == "unknown sizes":
        image = image[image[:, 0] > -np.inf]
    if kind == "one dimension":
        image = image[:, 0]
    if kind == "text":
        image = image.astype(str)
    if kind == "list":
        text = data.two["text"].tolist()
    return {"image": image, "text": text}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("unknown sizes", r"compute_chunk_sizes\(\)"),
        ("one dimension", "two dimensions"),
        ("text", "real numbers"),
        ("list", "expected a Dask array like the other views"),
    ],
)
def test_bad_arrays_are_refused(data, kind, message):
    with pytest.raises(dh.errors.InputError, match=message):
        dh.DiffHash(n_bits=4).fit(bad_views(data, kind), dh.Pairs.aligned(N))


def test_bad_pairs_and_calibration_are_refused(data):
    views = chunked(data.two)
    with pytest.raises(dh.errors.PairsError, match="100 aligned rows need views with as many rows"):
        dh.DiffHash(n_bits=4).fit(views, dh.Pairs.aligned(100))
    with pytest.raises(dh.errors.ParameterError, match="calibrate=True needs the rows in memory"):
        dh.DiffHash(n_bits=4).fit(views, dh.Pairs.aligned(N), calibrate=True)
    hasher = dh.DiffHash(n_bits=4).fit(data.two, dh.Pairs.aligned(N))
    with pytest.raises(dh.errors.FeatureCountError, match="has 24 features"):
        hasher.encode(views["text"], modality="image")


def test_refined_hash_says_if_it_learns_from_a_sample(data, monkeypatch):
    """Views with very many features are collected in memory, which is bounded."""
    monkeypatch.setattr("diffhash.cluster.dask_source.MAX_COLLECTED_ROWS", 300)
    monkeypatch.setattr("diffhash.hashers.refined.row_survey.MAX_SUMMED_FEATURES", 20)
    views = {m: da.from_array(X[:500], chunks=(200, -1)) for m, X in data.two.items()}

    with pytest.warns(dh.errors.SampleWarning, match="a sample of 300 of the 500 rows"):
        dh.RefinedHash(n_bits=4, features="linear", max_iter=2).fit(views, dh.Pairs.aligned(500))
