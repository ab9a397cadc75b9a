"""Small files in the format of the Wikipedia articles: reading, splitting, and errors for bad files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io

import diffhash as dh
from diffhash.datasets.files import load_wiki
from diffhash.errors import InputError


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


def test_the_split_of_the_files_is_kept(wiki):
    folder, arrays = wiki

    data = load_wiki(folder)

    np.testing.assert_array_equal(data.train.views["image"], arrays["I_tr"])
    np.testing.assert_array_equal(data.test.views["text"], arrays["T_te"])
    assert list(data.test.labels["image"]) == [i % 10 + 1 for i in range(9)]
    assert data.database is None
    # A hasher can be fitted on the result as it is.
    pairs = dh.Pairs.from_labels(data.train.labels["image"], data.train.labels["text"])
    hasher = dh.DiffHash(n_bits=3).fit(data.train.views, pairs)
    assert hasher.encode(data.test.views["text"], modality="text").shape == (9, 1)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: (f / "raw_features.mat").unlink(), r".*raw_features\.mat does not exist"),
        (lambda f: (f / "testset_txt_img_cat.list").unlink(), ".*testset.* does not exist"),
        (lambda f: (f / "testset_txt_img_cat.list").write_text("a\tb\t1\n"), "9 rows of image.* 1 rows of testset"),
        (lambda f: (f / "testset_txt_img_cat.list").write_text("a\tb\tart\n"), "line 1 of .* with a class number"),
        (lambda f: (f / "raw_features.mat").write_bytes(b"no file of MATLAB"), "cannot be read"),
        (lambda f: scipy.io.savemat(f / "raw_features.mat", {"x": [1]}), "must have one of the arrays I_tr; it has x"),
    ],
)  # fmt: skip
def test_errors_name_the_bad_file(wiki, spoil, words):
    spoil(wiki[0])

    with pytest.raises(InputError, match=words):
        load_wiki(wiki[0])
