"""Files of the forms that the field uses, made small here: read, split, and refused when they are wrong."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import diffhash as dh
from diffhash.datasets.files import (
    load_embeddings,
    load_mirflickr,
    load_nuswide,
    load_nuswide_features,
    load_split,
    load_wiki,
)
from diffhash.errors import InputError, MissingExtraError

SMALL = {"n_test": 10, "n_train": 25}


def rows_of(part, whole):
    """Row of each object of a part in the whole, found by its features."""
    return [int(np.flatnonzero((whole == row).all(axis=1))[0]) for row in part]


# --- Wikipedia -------------------------------------------------------------------------------------------------------


@pytest.fixture
def wiki(tmp_path, rng):
    arrays = {
        "I_tr": rng.random((30, 12)),
        "T_tr": rng.random((30, 4)),
        "I_te": rng.random((9, 12)),
        "T_te": rng.random((9, 4)),
    }
    scipy.io.savemat(tmp_path / "raw_features.mat", arrays)
    for name, n in (("trainset", 30), ("testset", 9)):
        lines = [f"{i:032x}-{i}\t{i:032x}\t{i % 10 + 1}\n" for i in range(n)]
        (tmp_path / f"{name}_txt_img_cat.list").write_text("".join(lines))
    return tmp_path, arrays


def test_wiki_has_its_own_split(wiki):
    folder, arrays = wiki

    data = load_wiki(folder)

    np.testing.assert_array_equal(data.train.views["image"], arrays["I_tr"])
    np.testing.assert_array_equal(data.test.views["text"], arrays["T_te"])
    assert list(data.test.labels["image"]) == [i % 10 + 1 for i in range(9)]
    assert data.database is None
    # What comes can be learned from as it is.
    pairs = dh.Pairs.from_labels(data.train.labels["image"], data.train.labels["text"])
    hasher = dh.DiffHash(n_bits=3).fit(data.train.views, pairs)
    assert hasher.encode(data.test.views["text"], modality="text").shape == (9, 1)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "raw_features.mat").unlink(), r"there is no .*raw_features\.mat"),
        (lambda f: (f / "testset_txt_img_cat.list").unlink(), "there is no .*testset"),
        (lambda f: (f / "testset_txt_img_cat.list").write_text("a\tb\t1\n"), "9 rows of image.* 1 rows of testset"),
        (lambda f: (f / "testset_txt_img_cat.list").write_text("a\tb\tart\n"), "line 1 of .* number of a class"),
        (lambda f: (f / "raw_features.mat").write_bytes(b"no file of MATLAB"), "cannot be read"),
        (lambda f: scipy.io.savemat(f / "raw_features.mat", {"x": [1]}), "must hold one of I_tr, it has x"),
    ],
)  # fmt: skip
def test_wiki_says_what_is_wrong(wiki, spoil, words):
    spoil(wiki[0])

    with pytest.raises(InputError, match=words):
        load_wiki(wiki[0])


# --- MIRFlickr and NUS-WIDE ------------------------------------------------------------------------------------------


@pytest.fixture
def flickr(rng):
    return {
        "XAll": rng.random((60, 16)).astype(np.float32),
        "YAll": (rng.random((60, 50)) < 0.05).astype(np.uint8),
        "LAll": (rng.random((60, 6)) < 0.4).astype(np.uint8),
    }


def test_flickr_from_one_file(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "mirflickr.mat", flickr)

    data = load_mirflickr(tmp_path / "mirflickr.mat", **SMALL)

    test, train, database = (
        rows_of(part.views["image"], flickr["XAll"]) for part in (data.test, data.train, data.database)
    )
    assert (len(test), len(train), len(database)) == (10, 25, 50)
    assert sorted(test + database) == list(range(60))
    assert set(train) < set(database)
    np.testing.assert_array_equal(data.test.labels["text"], flickr["LAll"][test].astype(bool))
    np.testing.assert_array_equal(data.train.views["text"].toarray(), flickr["YAll"][train])
    assert scipy.sparse.issparse(data.train.views["text"])


def test_flickr_from_a_folder_of_files(tmp_path, flickr):
    """As they were published: one file for each array, each in a folder of its own."""
    for name, array in flickr.items():
        (tmp_path / name).mkdir()
        scipy.io.savemat(tmp_path / name / f"mirflickr25k-{name.lower()}.mat", {name: array})

    one, again = (load_mirflickr(tmp_path, random_state=3, **SMALL) for _ in range(2))
    other = load_mirflickr(tmp_path, random_state=4, **SMALL)

    np.testing.assert_array_equal(one.test.views["image"], again.test.views["image"])
    assert (one.test.views["image"] != other.test.views["image"]).any()


def test_all_of_the_database_can_be_learned_from(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "m.mat", flickr)

    data = load_nuswide(tmp_path / "m.mat", n_test=10, n_train=None)

    assert data.train is data.database
    assert len(data.train.views["image"]) == 50


def test_pictures_in_place_of_features_are_featurized(tmp_path, flickr, rng):
    """MATLAB's shape is (height, width, 3, n)."""
    pictures = rng.integers(0, 256, (20, 30, 3, 60), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "m.mat", {"IAll": pictures, "YAll": flickr["YAll"], "LAll": flickr["LAll"]})

    data = load_mirflickr(tmp_path / "m.mat", **SMALL)

    expected = dh.featurizers.PictureFeatures().transform([pictures[..., i] for i in range(60)])
    rows = rows_of(data.test.views["image"], expected)
    np.testing.assert_array_equal(data.test.labels["image"], flickr["LAll"][rows])


def test_matlab_7_3_is_turned_the_right_way(tmp_path, flickr, rng):
    """HDF5 has the dimensions of a MATLAB array in reverse."""
    h5py = pytest.importorskip("h5py")
    pictures = rng.integers(0, 256, (20, 30, 3, 60), dtype=np.uint8)
    with h5py.File(tmp_path / "iall.mat", "w", userblock_size=512) as file:
        file["IAll"] = pictures.T
    with (tmp_path / "iall.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    scipy.io.savemat(tmp_path / "rest.mat", {"YAll": flickr["YAll"], "LAll": flickr["LAll"]})
    scipy.io.savemat(tmp_path / "v5.mat", {"IAll": pictures})
    (tmp_path / "v5").mkdir()
    (tmp_path / "v5.mat").rename(tmp_path / "v5" / "iall.mat")
    scipy.io.savemat(tmp_path / "v5" / "rest.mat", {"YAll": flickr["YAll"], "LAll": flickr["LAll"]})
    (tmp_path / "v73").mkdir()
    for name in ("iall.mat", "rest.mat"):
        (tmp_path / name).rename(tmp_path / "v73" / name)

    new, old = (load_mirflickr(tmp_path / folder, **SMALL) for folder in ("v73", "v5"))

    np.testing.assert_array_equal(new.test.views["image"], old.test.views["image"])


def test_missing_h5py_prints_the_install_line(tmp_path, monkeypatch):
    (tmp_path / "iall.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512))
    monkeypatch.setitem(sys.modules, "h5py", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[hdf5\]'"):
        load_mirflickr(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"LAll": None}, "no file of .* holds LAll"),
        ({"XAll": None}, "XAll or IAll or images"),
        ({"XAll": np.zeros((59, 4))}, "59 rows of image"),
        ({"LAll": np.full((60, 6), 0.5)}, "zeros and ones"),
        ({"XAll": np.zeros((4, 4, 3, 59), dtype=np.uint8)}, "must be uint8 of shape"),
        ({"XAll": np.array(["a", "b"], dtype=object)}, "array of numbers"),
    ],
)
def test_flickr_says_what_is_wrong(tmp_path, flickr, change, words):
    scipy.io.savemat(tmp_path / "m.mat", {k: v for k, v in (flickr | change).items() if v is not None})

    with pytest.raises(InputError, match=words):
        load_mirflickr(tmp_path / "m.mat", **SMALL)


def test_too_few_objects_for_the_split_are_told(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "m.mat", flickr)

    with pytest.raises(InputError, match="there are 60 objects, fewer than n_test=2000 and n_train=10000"):
        load_mirflickr(tmp_path / "m.mat")


def test_two_data_sets_in_one_folder_are_told(tmp_path, flickr):
    scipy.io.savemat(tmp_path / "a.mat", flickr)
    scipy.io.savemat(tmp_path / "b.mat", flickr)

    with pytest.raises(InputError, match=r"LAll is in .*a\.mat and in .*b\.mat"):
        load_mirflickr(tmp_path, **SMALL)
    with pytest.raises(InputError, match="there is no"):
        load_mirflickr(tmp_path / "nowhere")


# --- NUS-WIDE's own text files ---------------------------------------------------------------------------------------

CONCEPTS = {"sky": 0.8, "cat": 0.5, "sun": 0.1}


@pytest.fixture
def nuswide(tmp_path, rng):
    """Ends of lines as in the original: a space after features, a tab after tags."""
    kept = {}
    for half, n in (("Train", 40), ("Test", 15)):
        for name, width in (("CH", 5), ("CM55", 3)):
            kept[half, name] = rng.random((n, width)).round(4).astype(np.float32)
            lines = ["".join(f"{v:g} " for v in row) + "\n" for row in kept[half, name]]
            (tmp_path / f"{half}_Normalized_{name}.dat").write_text("".join(lines))
        kept[half, "tags"] = (rng.random((n, 20)) < 0.1).astype(int)
        lines = ["".join(f"{v}\t" for v in row) + "\n" for row in kept[half, "tags"]]
        (tmp_path / f"{half}_Tags1k.dat").write_text("".join(lines))
        folder = tmp_path / "Groundtruth" / "TrainTestLabels"
        folder.mkdir(parents=True, exist_ok=True)
        for concept, share in CONCEPTS.items():
            kept[half, concept] = (rng.random(n) < share).astype(int)
            (folder / f"Labels_{concept}_{half}.txt").write_text(
                "".join(f"{v}\n" for v in kept[half, concept])
            )
    return tmp_path, kept


def test_nuswide_text_files(nuswide):
    folder, kept = nuswide

    data = load_nuswide_features(folder, concepts=2, features=("CH", "CM55"))

    for half, part in (("Train", data.train), ("Test", data.test)):
        labels = np.column_stack([kept[half, "sky"], kept[half, "cat"]]).astype(bool)
        rows = labels.any(axis=1)
        np.testing.assert_array_equal(part.labels["image"], labels[rows])
        np.testing.assert_allclose(
            part.views["image"], np.hstack([kept[half, "CH"], kept[half, "CM55"]])[rows]
        )
        np.testing.assert_array_equal(part.views["text"].toarray(), kept[half, "tags"][rows])


def test_nuswide_concepts_by_name(nuswide):
    data = load_nuswide_features(nuswide[0], concepts=["sun", "cat"], features=["CH"])

    assert data.train.labels["text"].shape[1] == 2
    assert data.train.views["image"].shape[1] == 5


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "Test_Normalized_CH.dat").unlink(), r"there is no Test_Normalized_CH\.dat"),
        (lambda f: (f / "Train_Normalized_CH.dat").write_text("1 2 x\n"), "no table of numbers"),
        (lambda f: (f / "Train_Normalized_CH.dat").write_text(""), "no table of numbers"),
        (lambda f: (f / "Train_Tags1k.dat").write_text("0\t1\n0\n"), "line 2 of .* has 1 numbers, the first has 2"),
        (lambda f: (f / "Train_Tags1k.dat").write_text(""), "is empty"),
        (lambda f: (f / "Train_Tags1k.dat").write_text("a\tb\n"), "not of numbers"),
    ],
)  # fmt: skip
def test_nuswide_text_files_say_what_is_wrong(nuswide, spoil, words):
    spoil(nuswide[0])

    with pytest.raises(InputError, match=words):
        load_nuswide_features(nuswide[0], concepts=2, features=("CH", "CM55"))


def test_too_many_concepts_are_told(nuswide):
    with pytest.raises(InputError, match=r"21 concepts were asked for, .* has 3 files"):
        load_nuswide_features(nuswide[0], concepts=21)


# --- files with their own split --------------------------------------------------------------------------------------


@pytest.fixture
def parts(rng):
    return {
        "fourier_train": rng.random((12, 5)).astype(np.float32),
        "fourier_test": rng.random((4, 5)).astype(np.float32),
        "pixel_train": rng.integers(1, 7, (12, 9)).astype(np.uint8),
        "pixel_test": rng.integers(1, 7, (4, 9)).astype(np.uint8),
        "labels_train": np.arange(12) % 3,
        "labels_test": np.arange(4) % 3,
    }


@pytest.mark.parametrize("ending", ["npz", "mat", "h5"])
def test_names_with_train_and_test(tmp_path, parts, ending):
    path = tmp_path / f"digits.{ending}"
    if ending == "npz":
        np.savez(path, **parts)
    elif ending == "mat":
        scipy.io.savemat(path, parts)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, array in parts.items():
                file[name] = array

    data = load_split(path)

    assert sorted(data.train.views) == ["fourier", "pixel"]
    np.testing.assert_array_equal(data.train.views["pixel"], parts["pixel_train"])
    np.testing.assert_array_equal(data.test.labels["fourier"], parts["labels_test"])
    assert data.train.views["pixel"].dtype == np.float32
    assert list(load_split(path, modalities=("pixel",)).train.views) == ["pixel"]


@pytest.mark.parametrize(
    "names",
    [
        ("I_tr", "T_tr", "L_tr", "I_te", "T_te", "L_te"),
        ("XDatabase", "YDatabase", "databaseL", "XTest", "YTest", "testL"),
    ],
)
def test_names_of_matlab_code(tmp_path, parts, names):
    ours = ("fourier_train", "pixel_train", "labels_train", "fourier_test", "pixel_test", "labels_test")
    scipy.io.savemat(tmp_path / "m.mat", {name: parts[our] for name, our in zip(names, ours, strict=True)})

    data = load_split(tmp_path / "m.mat")

    np.testing.assert_array_equal(data.train.views["image"], parts["fourier_train"])
    np.testing.assert_array_equal(data.test.labels["text"], parts["labels_test"])


def test_split_files_say_what_is_wrong(tmp_path, parts):
    np.savez(tmp_path / "no.npz", a=np.zeros(3))
    np.savez(tmp_path / "yes.npz", **parts)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "yes.npz").read_bytes()[:300])
    with (tmp_path / "pickled.npy").open("wb") as file:
        pickle.dump({"a": 1}, file)
    (tmp_path / "notes.txt").write_text("no")

    for name, words in {
        "no.npz": "image_train, image_test, labels_train",
        "cut.npz": "cut.npz cannot be read",
        "pickled.npy": "pickled.npy cannot be read",
        "notes.txt": "must be a .npy, .npz, .mat",
        "none.npz": "there is no",
    }.items():
        with pytest.raises(InputError, match=words):
            load_split(tmp_path / name)
    with pytest.raises(InputError, match="no modality 'sound'; it has fourier, pixel"):
        load_split(tmp_path / "yes.npz", modalities=("sound",))


# --- embeddings ------------------------------------------------------------------------------------------------------


@pytest.fixture
def embeddings(rng):
    return {"image": rng.random((30, 6)).astype(np.float32), "text": rng.random((150, 6)).astype(np.float32)}


def test_captions_stay_with_their_pictures(tmp_path, embeddings):
    np.savez(tmp_path / "coco.npz", **embeddings)

    data = load_embeddings(tmp_path / "coco.npz", n_test=8, n_train=12)

    for part, n in ((data.test, 8), (data.train, 12), (data.database, 22)):
        assert part.views["image"].shape == (n, 6)
        pictures = rows_of(part.views["image"], embeddings["image"])
        captions = rows_of(part.views["text"], embeddings["text"])
        assert captions == [5 * picture + c for picture in pictures for c in range(5)]
        assert list(part.labels["image"]) == pictures
        assert list(part.labels["text"]) == [caption // 5 for caption in captions]
    pairs = dh.Pairs.from_labels(data.train.labels["image"], data.train.labels["text"])
    assert pairs.resolve(12, 60, caller="test").n_positive == 60


def test_one_file_each_with_labels(tmp_path, embeddings, rng):
    labels = rng.random((30, 8)) < 0.3
    np.save(tmp_path / "image.npy", embeddings["image"])
    np.save(tmp_path / "text.npy", embeddings["text"][:30])
    np.save(tmp_path / "labels.npy", labels)

    data = load_embeddings(
        tmp_path / "image.npy", tmp_path / "text.npy", labels=tmp_path / "labels.npy", n_test=5
    )

    rows = rows_of(data.test.views["image"], embeddings["image"])
    np.testing.assert_array_equal(data.test.labels["text"], labels[rows])
    assert data.train is data.database


def test_embeddings_say_what_is_wrong(tmp_path, embeddings):
    np.savez(tmp_path / "odd.npz", image=embeddings["image"], text=embeddings["text"][:149])
    np.savez(tmp_path / "few.npz", image=embeddings["image"], text=embeddings["text"][:29])
    np.savez(tmp_path / "other.npz", a=embeddings["image"], b=embeddings["text"])
    np.savez(tmp_path / "good.npz", **embeddings)
    np.save(tmp_path / "labels.npy", np.arange(29))

    with pytest.raises(InputError, match="149 captions cannot be the same number for each of 30"):
        load_embeddings(tmp_path / "odd.npz", n_test=5)
    with pytest.raises(InputError, match="29 captions"):
        load_embeddings(tmp_path / "few.npz", n_test=5)
    with pytest.raises(InputError, match=r"must hold one of .*image.* it has a, b"):
        load_embeddings(tmp_path / "other.npz", n_test=5)
    with pytest.raises(InputError, match="29 rows of labels"):
        load_embeddings(tmp_path / "good.npz", labels=tmp_path / "labels.npy", n_test=5)
    with pytest.raises(InputError, match="n_test=5000"):
        load_embeddings(tmp_path / "good.npz")
