"""From format 1 to format 2: the same content, at once or not at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.cli.app import run_app
from diffhash.errors import CollectionBusyError, CollectionFileError, InputFileError, ReadOnlyCollectionError
from tests.golden.make_collections import contents

from .helpers import codes, posix, sql, to_format_1

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("collection-*-v1.dh"))


@pytest.fixture
def old(path, filled):
    """A collection of format 1 with a bit of everything."""
    filled.index_payload("n")
    filled.delete([3, 4])
    filled.close()
    to_format_1(path)
    return path


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_an_upgraded_golden_collection_has_the_same_content(golden, tmp_path):
    path = tmp_path / "c.dh"
    shutil.copy(golden, path)
    expected = json.loads(golden.with_suffix(".json").read_text())

    assert workflows.upgrade(path).to_dict() == {"file": str(path), "old_format": 1, "new_format": 2}
    assert not workflows.upgrade(path).upgraded

    with dh.Collection.open(path) as collection:
        assert collection.stats().format_version == 2
        assert collection.verify().problems == ()
        assert json.loads(json.dumps(contents(collection))) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["c.dh"]


def test_a_file_of_format_1_is_written_in_format_1(old):
    """Older releases can still read it."""
    with dh.Collection.open(old, writable=True) as collection:
        collection.add_codes(codes(5), modality="x", payloads=[{"n": 7}] * 5)
        collection.upsert_codes(codes(2), modality="y", ids=[5, 6], payloads=[{"n": 1}, None])
        collection.delete([9])
        collection.compact()
        assert collection.stats().format_version == 1
        assert collection.verify().problems == ()
    with dh.Collection.open(old) as collection:
        assert (collection.stats().format_version, len(collection)) == (1, 62)


def test_the_upgraded_collection_can_be_used_at_once(old, views):
    with dh.Collection.open(old, writable=True) as collection:
        before = collection.search(views["y"], modality="y", into="x", k=5, where={"n": {"lt": 30}})
        assert collection.upgrade()
        assert not collection.upgrade()
        assert collection.search(views["y"], modality="y", into="x", k=5, where={"n": {"lt": 30}}) == before
        collection.add_codes(codes(5), modality="x", payloads=[{"n": 7}] * 5)
        assert collection.verify().problems == ()
    with dh.Collection.open(old) as collection:
        assert (len(collection), collection.verify().problems) == (63, ())


def test_a_reader_is_told_to_open_the_file_again(old):
    with dh.Collection.open(old) as reader:
        assert len(reader) == 58
        workflows.upgrade(old)
        with pytest.raises(CollectionFileError, match=r"upgraded to format version 2 .*Open it again"):
            reader.search_codes(codes(1))
    with dh.Collection.open(old) as reader:
        assert len(reader) == 58


def test_a_reader_of_an_older_release_is_told_to_open_the_file_again(old):
    """It only looks at the identity; a new one means another collection."""
    with dh.Collection.open(old) as reader:
        before = reader._snapshot.identity
    workflows.upgrade(old)
    with dh.Collection.open(old) as reader:
        assert reader._snapshot.identity != before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE payloads SET payload = '{}' WHERE key = 7",
        "UPDATE segments SET crc = crc + 1 WHERE stream = 3",
        "DELETE FROM field_values WHERE key = 7",
        "UPDATE meta SET value = x'00' WHERE name = 'model'",
        "UPDATE meta SET value = 59 WHERE name = 'next_key'",
    ],
)
def test_a_damaged_file_is_not_upgraded(old, statement):
    """New checksums would say that the damage is right."""
    sql(old, statement)
    before = old.read_bytes()
    with pytest.raises(CollectionFileError, match="damaged"):
        workflows.upgrade(old)
    sql(old, "PRAGMA journal_mode = DELETE")
    with pytest.raises(CollectionFileError, match="damaged"):
        workflows.upgrade(old)
    assert sqlite_content(old) == sqlite_content_of(before, old.with_name("before"))


def sqlite_content(path):
    connection = sqlite3.connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def sqlite_content_of(data, path):
    path.write_bytes(data)
    return sqlite_content(path)


def test_an_upgrade_needs_the_right_to_write(old):
    with dh.Collection.open(old) as reader, pytest.raises(ReadOnlyCollectionError):
        reader.upgrade()
    with dh.Collection.open(old, writable=True), pytest.raises(CollectionBusyError):
        workflows.upgrade(old)


def test_the_command_upgrades_and_says_so(old, tmp_path, capsys):
    assert run_app(["upgrade", str(old)]) == 0
    assert capsys.readouterr().out == f"{old}: upgraded from format 1 to 2\n"
    assert run_app(["upgrade", str(old)]) == 0
    assert capsys.readouterr().out == f"{old}: has the newest format already (2)\n"
    assert run_app(["upgrade", str(old), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(old), "old_format": 2, "new_format": 2}
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    assert run_app(["upgrade", str(tmp_path / "a.csv")]) == 1
    with pytest.raises(InputFileError, match="no such file"):
        workflows.upgrade(tmp_path / "none.dh")


@posix
def test_an_upgrade_that_is_killed_leaves_the_old_or_the_new_file(path, hasher):
    with dh.Collection.create(path, hasher) as collection:
        for _ in range(4):
            ids = collection.add_codes(codes(500), modality="x", payloads=[{"n": n} for n in range(500)])
        collection.add_codes(codes(500), modality="y", ids=ids)
        collection.index_payload("n")
        collection.delete(ids[::7])
    to_format_1(path)
    script = Path(__file__).with_name("kill_upgrades.py")

    done = subprocess.run(
        [sys.executable, script, path, "40", "1"], capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["problems"] == []
    assert report["kills"] == 40
    assert report["format 1"] > 0
    assert report["format 2"] > 0
