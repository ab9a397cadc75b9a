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
from diffhash.paths import check_path, without_passwords

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


@pytest.mark.parametrize("call", [dh.open, dh.load], ids=["open", "load"])
def test_an_address_as_a_path_is_to_be_given_as_text(call):
    with pytest.raises(AddressError, match=r"postgresql://….*take addresses, as text and not as a Path\.$"):
        call(Path(ADDRESS))


@pytest.mark.parametrize("path", ["a.dh", "photos:/a.dh", "C:/a.dh", "C:\\a.dh", "a:b/c.dh", "/a://b"])
def test_names_of_files_are_no_addresses(path):
    assert check_path(path, caller="test") == Path(path)


def test_a_path_in_a_folder_whose_name_ends_in_a_colon_is_accepted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos:").mkdir()
    dh.Collection.create(Path("photos:") / "a.dh", n_bits=8, modalities=("x",)).close()

    with dh.Collection.open(Path("photos:/a.dh")) as collection:
        assert len(collection) == 0


def test_as_text_two_slashes_after_a_colon_are_an_address_also_if_there_is_such_a_folder(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos:").mkdir()

    assert check_path("photos:/a.dh", caller="test") == Path("photos:/a.dh")
    with pytest.raises(AddressError, match="photos://…"):
        check_path("photos://a.dh", caller="test")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("got 'x=postgresql://ann:pw@host:1/db'", "got 'x=postgresql://ann:***@host:1/db'"),
        ("Path: postgresql:/ann:pw@host/db", "Path: postgresql:/ann:***@host/db"),
        ("milvus://:pw@host and http://b:pw@host.", "milvus://:***@host and http://b:***@host."),
        ("postgresql://ann@corp:p/w@p@host/db", "postgresql://ann@corp:***@host/db"),
        ("postgresql://ann:123/4@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://ann:p w p@host/db", "postgresql://ann:***@host/db"),
        ("http://host:80/a?x=1&token=pw&k=2#f", "http://host:80/a?x=1&token=***&k=2#f"),
        ("postgresql://host?password=pw', next", "postgresql://host?password=***', next"),
    ],
)
def test_passwords_in_a_text_are_hidden(text, expected):
    assert without_passwords(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "C:/ann:pw@host",
        "C:\\a b@c",
        "http://localhost:8080 does not answer. Ask ann@example.org",
        "postgresql://ann@host/db?collection=birds",
        "x.npy#a: mail ann:b@example.org",
    ],
)
def test_texts_without_a_password_stay(text):
    assert without_passwords(text) == text
