"""Files that are read in blocks give the model of all of their rows."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputFileError, NonFiniteError
from diffhash.files import open_features
from diffhash.files.rows import FileRows
from diffhash.learning import block_source, sample_keys
from diffhash.workflows import learn_blocks
from diffhash.workflows.options import LearningOptions, PairFiles

N = 300


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(learn_blocks, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", 100)
    monkeypatch.setattr(sample_keys, "MIN_SAMPLE_ROWS", 50)
    original = block_source.BlockSource.__init__

    def small(self, *arguments, **options):
        original(self, *arguments, **options | {"block_bytes": 4000})
        assert self.n_batches > 3

    monkeypatch.setattr(block_source.BlockSource, "__init__", small)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 5))
    return {
        "x": (z @ rng.normal(size=(5, 9)) + 0.3 * rng.normal(size=(N, 9))).astype(np.float32),
        "y": (z @ rng.normal(size=(5, 7)) + 0.3 * rng.normal(size=(N, 7))).astype(np.float32),
    }


def write(folder, views, ending):
    files = {name: folder / f"{name}{ending}" for name in views}
    for name, X in views.items():
        if ending == ".npy":
            np.save(files[name], X)
        elif ending == ".npz":
            np.savez_compressed(files[name], X)
        else:
            pyarrow = pytest.importorskip("pyarrow")
            parquet = pytest.importorskip("pyarrow.parquet")
            table = pyarrow.table({f"c{k}": column for k, column in enumerate(X.T)})
            parquet.write_table(table, files[name], row_group_size=70)
    return files


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet"])
@pytest.mark.parametrize("method", ["diff", "kernel", "refined"])
@pytest.mark.parametrize("kind", ["aligned", "labels", "pairs"])
def test_blocks_give_the_model_of_all_rows(ending, method, kind, views, tmp_path):
    files = write(tmp_path, views, ending)
    rng = np.random.default_rng(1)
    if kind == "labels":
        labels = (views["x"][:, 0] > 0) + 2 * (views["x"][:, 1] > 0)
        np.save(tmp_path / "l.npy", labels)
        pair_files, pairs = PairFiles(labels=tmp_path / "l.npy"), dh.Pairs.from_labels(labels, labels)
    elif kind == "pairs":
        rows = rng.permutation(N)[:200]
        (tmp_path / "p.csv").write_text("x,y\n" + "".join(f"{r},{r}\n" for r in rows))
        pair_files, pairs = PairFiles(pairs=tmp_path / "p.csv"), dh.Pairs((rows, rows))
    else:
        pair_files, pairs = PairFiles(), dh.Pairs.aligned(N)
    hasher, settings = {
        "diff": (dh.DiffHash(3), {}),
        "kernel": (dh.KernelDiffHash(3, n_landmarks=30), {"n_landmarks": 30}),
        "refined": (dh.RefinedHash(3, features="linear"), {"features": "linear"}),
    }[method]
    steps = []

    result = dh.workflows.fit(
        files,
        tmp_path / "m.dhm",
        pair_files=pair_files,
        learning=LearningOptions(method=method, n_bits=3, settings=settings),
        progress=steps.append,
    )

    hasher.fit(views, pairs)
    model = dh.load(tmp_path / "m.dhm")
    for m, X in views.items():
        assert np.bitwise_count(hasher.encode(X, modality=m) ^ model.encode(X, modality=m)).sum() <= 1
    assert "a sample" not in result.learned_from
    assert (steps[-1].done, steps[-1].total) == (2 * N, 2 * N)


def test_a_value_that_is_not_finite_is_named_with_its_file_and_row(views, tmp_path):
    views["y"][217, 4] = np.inf
    files = write(tmp_path, views, ".npy")

    with pytest.raises(NonFiniteError, match=r"y\.npy: there is inf in row 217, feature 4"):
        dh.workflows.fit(files, tmp_path / "m.dhm", learning=LearningOptions(method="diff", n_bits=3))

    assert not (tmp_path / "m.dhm").exists()


def test_a_sample_is_drawn_if_it_is_asked_for(views, tmp_path):
    files = write(tmp_path, views, ".npy")

    result = dh.workflows.fit(
        files, tmp_path / "m.dhm", learning=LearningOptions(method="diff", n_bits=3, sample=50)
    )

    assert result.learned_from.startswith("a sample of 50")


def test_a_file_that_shrinks_while_it_is_read_is_refused(views, tmp_path):
    files = write(tmp_path, views, ".npy")
    rows = FileRows(open_features(files["x"]))
    rows.read(slice(0, 100))
    np.save(files["x"], views["x"][:150])
    with pytest.raises(InputFileError):
        rows.read(slice(100, 200))
