"""An address where the path of a file is needed is refused, and its password is never shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import AddressError
from diffhash.featurizers import PictureFeatures
from diffhash.files import open_features
from diffhash.paths import check_path

ADDRESS = "postgresql://ann:secret-password@localhost/photos"


def an_index():
    return dh.HammingIndex(np.zeros((2, 1), dtype=np.uint8))


TAKE_A_PATH = {
    "Collection.open": dh.Collection.open,
    "Collection.open for writing": lambda path: dh.Collection.open(path, writable=True),
    "Collection.create": lambda path: dh.Collection.create(path, n_bits=8, modalities=("x",)),
    "load": dh.load,
    "HashModel.load": dh.HashModel.load,
    "HammingIndex.load": dh.HammingIndex.load,
    "HammingIndex.save": lambda path: an_index().save(path),
    "HammingIndex.from_parquet": dh.HammingIndex.from_parquet,
    "HammingIndex.to_parquet": lambda path: an_index().to_parquet(path),
    "PictureFeatures.transform": lambda path: PictureFeatures().transform([path]),
    "files.open_features": open_features,
    "workflows.encode": lambda path: workflows.encode("model.dhm", "x.npy", path),
    "datasets.files.load_split": dh.datasets.files.load_split,
    "datasets.files.load_wiki": dh.datasets.files.load_wiki,
}


@pytest.mark.parametrize("made", [str, Path], ids=["text", "Path"])
@pytest.mark.parametrize("call", TAKE_A_PATH.values(), ids=TAKE_A_PATH.keys())
def test_an_address_is_refused_without_its_password(call, made):
    with pytest.raises(AddressError, match=r"postgresql://….*diffhash\.open") as caught:
        call(made(ADDRESS))

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("path", ["a.dh", "C:/a.dh", "C:\\a.dh", "a:b/c.dh", "/a://b"])
def test_names_of_files_are_no_addresses(path):
    assert check_path(path, caller="test") == Path(path)


def test_a_path_in_a_folder_whose_name_ends_in_a_colon_is_accepted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos:").mkdir()
    dh.Collection.create(Path("photos:") / "a.dh", n_bits=8, modalities=("x",)).close()

    with dh.Collection.open(Path("photos:/a.dh")) as collection:
        assert len(collection) == 0
