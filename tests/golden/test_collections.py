"""Collections of every format version can be opened and written, and have the same contents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.stores.sqlite.schema import FORMAT_VERSION

from .make_collections import IDS, contents, views

FILES = sorted(Path(__file__).parent.glob("*.dh"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request, tmp_path):
    """A copy of the file, so that the file itself is never changed, and the expected contents."""
    copy = tmp_path / request.param.name
    shutil.copy(request.param, copy)
    return copy, json.loads(request.param.with_suffix(".json").read_text())


def test_a_golden_collection_has_the_same_contents(golden):
    path, expected = golden
    with dh.Collection.open(path) as collection:
        assert collection.verify().problems == ()
        assert json.loads(json.dumps(contents(collection))) == expected
        if not collection.has_model:
            with pytest.raises(dh.errors.NoModelError):
                _ = collection.hasher
            return
        assert collection.hasher.encode(views()["x"][:3], modality="x").shape == (3, 1)


def test_a_golden_collection_can_be_written_to(golden):
    path, expected = golden
    with dh.Collection.open(path, writable=True) as collection:
        first = expected["items"][0][0]
        collection.upsert_codes(np.array([[2]], np.uint8), modality="y", ids=[first], payloads=[{"n": "new"}])
        collection.compact()
        assert collection.get(first)[0].payload == {"n": "new"}
        assert len(collection) == len(expected["items"])
        assert collection.verify().problems == ()


def test_there_are_golden_collections_of_the_current_format():
    names = {path.stem for path in FILES}
    assert names >= {f"collection-{kind}-v{FORMAT_VERSION}" for kind in IDS}
