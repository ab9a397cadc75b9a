"""Small files in the text format of NUS-WIDE: reading, splitting, and errors for bad files."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.datasets.files import load_nuswide_features
from diffhash.errors import InputError

CONCEPTS = {"sky": 0.8, "cat": 0.5, "sun": 0.1}


@pytest.fixture
def nuswide(tmp_path, rng):
    """Lines end as in the original files: a space after features, a tab after tags."""
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
        (lambda f: (f / "Test_Normalized_CH.dat").unlink(), r"there is no file Test_Normalized_CH\.dat"),
        (lambda f: (f / "Train_Normalized_CH.dat").write_text("1 2 x\n"), "not a table of numbers"),
        (lambda f: (f / "Train_Normalized_CH.dat").write_text(""), "not a table of numbers"),
        (lambda f: (f / "Train_Tags1k.dat").write_text("0\t1\n0\n"), "line 2 of .* has 1 numbers, the first has 2"),
        (lambda f: (f / "Train_Tags1k.dat").write_text(""), "is empty"),
        (lambda f: (f / "Train_Tags1k.dat").write_text("a\tb\n"), "not a number"),
    ],
)  # fmt: skip
def test_errors_name_the_bad_file(nuswide, spoil, words):
    spoil(nuswide[0])

    with pytest.raises(InputError, match=words):
        load_nuswide_features(nuswide[0], concepts=2, features=("CH", "CM55"))


def test_too_many_concepts_are_an_error(nuswide):
    with pytest.raises(InputError, match=r"cannot select 21 concepts, .* has 3 files"):
        load_nuswide_features(nuswide[0], concepts=21)
