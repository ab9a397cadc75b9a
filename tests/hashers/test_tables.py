"""Tables, tensors and categories as views and labels; names of columns; generators as seeds."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import FeatureNamesError, InputError, NonFiniteError, PairsError
from diffhash.validation import as_array, check_view

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


@pytest.fixture
def views(small_data):
    return {m: X[:, :6] for m, X in small_data.train.views.items()}


def names(modality):
    return [f"{modality}{column}" for column in range(6)]


def as_pandas(X, modality):
    return pd.DataFrame(X, columns=names(modality))


def as_polars(X, modality):
    return pl.DataFrame(X, schema=names(modality))


def as_arrow(X, modality):
    return pa.table(dict(zip(names(modality), X.T, strict=True)))


TABLES = {"pandas": as_pandas, "polars": as_polars, "pyarrow": as_arrow}


@pytest.fixture
def hasher(views):
    frames = {m: as_pandas(X, m) for m, X in views.items()}
    return dh.DiffHash(n_bits=2).fit(frames, dh.Pairs.aligned(400))


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_gives_the_model_and_the_codes_of_its_numbers(views, kind):
    tables = {m: TABLES[kind](X, m) for m, X in views.items()}
    expected = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(400))

    found = dh.DiffHash(n_bits=2).fit(tables, dh.Pairs.aligned(400))

    assert found.feature_names_in_ == {"x": tuple(names("x")), "y": tuple(names("y"))}
    for m, X in views.items():
        np.testing.assert_array_equal(found.encode(tables[m], modality=m), expected.encode(X, modality=m))


def test_reordered_columns_are_an_error_in_every_call(hasher, views, tmp_path):
    turned = as_pandas(views["x"], "x").iloc[:, ::-1]
    y = as_pandas(views["y"], "y")
    hasher.calibrate(views, dh.Pairs.aligned(400)).save(tmp_path / "model.dhm")
    loaded = dh.load(tmp_path / "model.dhm")
    pairs = dh.Pairs.aligned(400)
    with dh.Collection.create(tmp_path / "c.dh", hasher) as collection:
        calls = {
            "encode": lambda: hasher.encode(turned, modality="x"),
            "project": lambda: hasher.project(turned, modality="x"),
            "transform": lambda: hasher.transform({"x": turned}),
            "score": lambda: hasher.score({"x": turned, "y": y}, pairs),
            "encode_fused": lambda: hasher.encode_fused({"x": turned, "y": y}),
            "calibrate": lambda: hasher.calibrate({"x": turned, "y": y}, pairs),
            "extend": lambda: hasher.extend({"x": turned, "z": views["y"]}, pairs, modality="z"),
            "loaded": lambda: loaded.encode(turned, modality="x"),
            "add": lambda: collection.add(turned, modality="x"),
        }
        for call in calls.values():
            with pytest.raises(FeatureNamesError, match="column 0 is 'x5', expected 'x0'"):
                call()


def test_other_columns_are_named(hasher, views):
    frame = as_pandas(views["x"], "x").rename(columns={"x3": "new"})

    with pytest.raises(FeatureNamesError, match="without 'x3' and with the new 'new'"):
        hasher.encode(frame, modality="x")


def test_arrays_without_names_pass(hasher, views):
    codes = hasher.encode(as_polars(views["x"], "x"), modality="x")

    np.testing.assert_array_equal(hasher.encode(views["x"], modality="x"), codes)


def test_arrays_give_no_names(views):
    hasher = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(400))

    assert not hasattr(hasher, "feature_names_in_")
    assert hasher.encode(as_pandas(views["x"], "x"), modality="x").shape == (400, 1)


def test_names_of_a_new_modality_and_of_batches_are_kept(hasher, views):
    y = as_pandas(views["y"], "z")
    extended = hasher.extend({"x": views["x"], "z": y}, dh.Pairs.aligned(400), modality="z")
    assert extended.feature_names_in_["z"] == tuple(names("z"))

    frames = {m: as_pandas(X, m) for m, X in views.items()}
    batch = (frames, dh.Pairs.aligned(400))
    turned = ({**frames, "y": frames["y"].iloc[:, ::-1]}, dh.Pairs.aligned(400))
    assert dh.DiffHash(n_bits=2).fit_batches([batch]).feature_names_in_ == hasher.feature_names_in_
    with pytest.raises(FeatureNamesError, match="batch 1: modality 'y'"):
        dh.DiffHash(n_bits=2).fit_batches([batch, turned])


def test_names_that_are_partly_strings_are_refused(views):
    frame = pd.DataFrame(views["x"], columns=["a", 1, 2, 3, 4, 5])

    with pytest.raises(InputError, match="all strings or none, got 'a' and 1"):
        dh.DiffHash(n_bits=2).fit({"x": frame, "y": views["y"]}, dh.Pairs.aligned(400))


VECTORS = {
    "pandas": lambda X: pd.DataFrame({"vector": list(X)}),
    "polars array": lambda X: pl.DataFrame({"vector": X}),
    "polars list": lambda X: pl.DataFrame({"vector": X.tolist()}),
    "arrow list": lambda X: pa.table({"vector": pa.array(X.tolist(), pa.list_(pa.float32()))}),
    "arrow fixed": lambda X: pa.table(
        {"vector": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])}
    ),
    "arrow chunks": lambda X: pa.concat_tables(
        [
            pa.table({"vector": pa.array(part.tolist(), pa.list_(pa.float32()))})
            for part in np.array_split(X, 3)
        ]
    ),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_one_column_of_vectors_is_a_view(views, kind):
    found = check_view(VECTORS[kind](views["x"]), caller="test", modality="x")

    np.testing.assert_array_equal(found, views["x"])


def test_vectors_of_arrow_share_their_memory(views):
    X = np.ascontiguousarray(views["x"])
    found = check_view(VECTORS["arrow fixed"](X), caller="test", modality="x")

    assert found.__array_interface__["data"][0] == X.__array_interface__["data"][0]


BAD = {
    "text in pandas": (pd.DataFrame({"a": [1.0], "city": ["Bern"]}), "column 'city' holds"),
    "text in polars": (pl.DataFrame({"a": [1.0], "city": ["Bern"]}), "column 'city' holds String"),
    "text in arrow": (pa.table({"a": [1.0], "city": ["Bern"]}), "column 'city' holds string"),
    "lazy": (pl.LazyFrame({"a": [1.0]}), "LazyFrame. Call collect"),
    "lengths": (pl.DataFrame({"v": [[1.0], [1.0, 2.0]]}), "one length, got 1 and 2"),
    "null": (pa.table({"v": pa.array([[1.0], None], pa.list_(pa.float64()))}), "no vector"),
}


@pytest.mark.parametrize("kind", BAD)
def test_tables_without_numbers_say_why(kind):
    table, message = BAD[kind]

    with pytest.raises(InputError, match=re.escape(message)):
        check_view(table, caller="test", modality="x")


def test_missing_numbers_are_found():
    for table in (
        pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1, 2]}),
        pl.DataFrame({"a": [1, None], "b": [1, 2]}),
    ):
        with pytest.raises(NonFiniteError, match="NaN in row 1, feature 0"):
            check_view(table, caller="test", modality="x")


def test_sparse_columns_stay_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.eye_array(4, format="csr"), columns=list("abcd"))

    found = check_view(frame, caller="test", modality="x")

    assert scipy.sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), np.eye(4))


LABELS = {
    "categories": lambda names: pd.Categorical(names),
    "series of categories": lambda names: pd.Series(names, dtype="category"),
    "strings": lambda names: pd.Series(names),
    "polars": lambda names: pl.Series(names),
    "polars categories": lambda names: pl.Series(names, dtype=pl.Categorical),
    "nullable numbers": lambda names: pd.Series([ord(name) for name in names], dtype="Int64"),
    "codes of numbers": lambda names: pd.Categorical([ord(name) for name in names]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_tables_are_labels(kind):
    labels = LABELS[kind](list("abca"))

    groups = dh.Pairs.from_labels(labels, labels).resolve(4, 4)

    assert groups.n_positive == 6
    codes = np.array([[0], [1], [3], [0]], dtype=np.uint8)
    assert dh.evaluate(codes, codes, labels, labels).mean_average_precision == 1.0
    assert dh.Pairs.from_ids({"x": labels, "y": labels}).couple("x", "y").resolve(4, 4).n_positive == 6


def test_a_missing_label_is_named():
    for labels in (pd.Categorical(["a", None]), pd.Series([1, None], dtype="Int64"), pl.Series(["a", None])):
        with pytest.raises(PairsError, match=r"row 1 has no value|NaN in row 1"):
            dh.Pairs.from_labels(labels, labels)


class Tensor:
    """Like a tensor of torch: NumPy cannot read it while it requires grad, nor bfloat16."""

    def __init__(self, values, dtype="torch.float32", requires_grad=False):
        self.values, self.dtype, self.requires_grad = values, dtype, requires_grad

    def detach(self):
        return Tensor(self.values, self.dtype)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.values.astype(np.float32), "torch.float32", self.requires_grad)

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


Tensor.__module__ = "torch"


def test_tensors_that_require_grad_share_their_memory(views):
    found = as_array(Tensor(views["x"], requires_grad=True), "test")

    assert found is views["x"]


def test_bfloat16_becomes_float32(views):
    found = check_view(Tensor(views["x"], "torch.bfloat16", requires_grad=True), caller="test", modality="x")

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, views["x"])


HASHERS = {
    "rotated": dh.DiffHash(n_bits=2, rotate=True),
    "kernel": dh.KernelDiffHash(n_bits=2, n_landmarks=20, landmarks="kmeans"),
    "boosted": dh.BoostedHash(n_bits=2),
    "refined": dh.RefinedHash(
        n_bits=2, ridge=0.01, penalty=0.003, negative_target=-1.0, max_iter=5, features="linear"
    ),
}


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("hasher", HASHERS.values(), ids=HASHERS)
def test_a_generator_is_a_seed(hasher, make, views, small_pairs, tmp_path):
    first, again = (clone(hasher).set_params(random_state=make(3)) for _ in range(2))
    pairs = small_pairs
    first.fit(views, pairs)
    again.fit(views, pairs)

    np.testing.assert_array_equal(first.projections_["x"], again.projections_["x"])
    seed = first.model_.parameters["random_state"]
    assert isinstance(seed, int)
    assert not isinstance(first.random_state, int), "parameters are left as they were"
    assert first.fit(views, pairs).model_.parameters["random_state"] != seed, "the generator moves on"
    first.save(tmp_path / "model.dhm")
    np.testing.assert_array_equal(dh.load(tmp_path / "model.dhm").projections_["x"], first.projections_["x"])


def test_a_generator_draws_pairs():
    pairs = [dh.Pairs.aligned(50).sample(5, 5, random_state=np.random.default_rng(1)) for _ in range(2)]

    np.testing.assert_array_equal(pairs[0].positive, pairs[1].positive)
