"""A new collection takes the place of an old one only where nobody is writing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionBusyError
from diffhash.workflows.new_collection import new_collection

CODES = np.zeros((3, 2), dtype=np.uint8)


def test_what_somebody_writes_to_is_not_replaced(tmp_path, files):
    path = tmp_path / "c.dh"
    with dh.Collection.create(path, files.hasher) as writer:
        writer.add_codes(CODES, modality="x")
        with (
            pytest.raises(CollectionBusyError, match=r"being written to .* Wait until that one has finished"),
            new_collection(path, files.hasher.model_),
        ):
            pytest.fail("it went to work")
        writer.add_codes(CODES, modality="x")
        assert len(writer) == 6
    assert [file.name for file in tmp_path.iterdir()] == ["c.dh"]


def test_nobody_begins_to_write_to_what_is_being_replaced(tmp_path, files):
    path = tmp_path / "c.dh"
    dh.Collection.create(path, files.hasher).close()
    for suffix in ("-wal", "-shm", "-lock"):  # as a killed writer leaves them
        Path(f"{path}{suffix}").write_bytes(b"of the old file")
    with new_collection(path, files.hasher.model_) as new:
        new.add_codes(CODES, modality="x")
        with pytest.raises(CollectionBusyError):
            dh.Collection.open(path, writable=True)
    assert [file.name for file in tmp_path.iterdir()] == ["c.dh"]
    with dh.Collection.open(path, writable=True) as again:
        assert len(again) == 3
