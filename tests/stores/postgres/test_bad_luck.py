"""Several writers, tables that somebody else changed, models of other releases, a full disk."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import diffhash as dh
from diffhash.errors import (
    CollectionBusyError,
    CollectionFileError,
    CollectionWriteError,
    NewerCollectionError,
    NewerFormatError,
)
from diffhash.model.file import FORMAT_VERSION

GOLDEN = Path(__file__).parents[2] / "golden"
CODES = np.arange(40, dtype=np.uint8).reshape(40, 1)


@pytest.fixture
def store(address):
    with dh.create(address, n_bits=8, modalities=("a", "b"), timeout=30) as made:
        yield made


WRITER = """
    import sys, numpy as np, diffhash as dh
    with dh.open(sys.argv[1], writable=True) as store:
        for call in range(30):
            ids = store.add_codes(np.zeros((7, 1), np.uint8), modality="a", payloads=[{"by": sys.argv[2]}] * 7)
            print(*ids, flush=True)
"""


def test_two_writers_take_turns_and_lose_nothing(store, address):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), address, name], stdout=subprocess.PIPE, text=True
        )
        for name in ("first", "second")
    ]
    outputs = [writer.communicate(timeout=120)[0] for writer in writers]

    assert [writer.returncode for writer in writers] == [0, 0]
    ids = [[int(number) for number in output.split()] for output in outputs]
    assert sorted(ids[0] + ids[1]) == list(range(420))
    for name, given in zip(("first", "second"), ids, strict=True):
        assert {item.payload["by"] for item in store.get(given)} == {name}
    assert store.verify().problems == ()


def test_of_two_writers_with_the_same_ids_one_is_refused(store, address):
    errors = []

    def write(other):
        try:
            other.add_codes(CODES, modality="a", ids=[f"id {n}" for n in range(40)])
        except dh.errors.InputError as error:
            errors.append(str(error))

    with dh.open(address, writable=True) as second:
        threads = [threading.Thread(target=write, args=(each,)) for each in (store, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(errors) == 1
    assert "exists already" in errors[0]
    assert len(store) == 40
    assert store.id_kind == "str"


def test_threads_share_a_store(store):
    store.add_codes(CODES, modality="a")
    wrong = []

    def work(number):
        for _ in range(20):
            (hits,) = store.search_codes(CODES[number : number + 1], into="a", k=1)
            if hits[0].id != number:
                wrong.append(hits)
            store.upsert_codes(CODES[number : number + 1], modality="b", ids=[number])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert store.verify().problems == ()


def test_a_writer_that_waits_too_long_is_told_that_the_collection_is_busy(store, address, collection_name):
    with dh.open(address, writable=True, timeout=0.3) as second:
        inside, leave = threading.Event(), threading.Event()

        def hold():
            def work():
                inside.set()
                leave.wait(30)

            store._write(work, caller="test")

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            assert inside.wait(30)
            with pytest.raises(CollectionBusyError, match="written to by somebody else"):
                second.add_codes(CODES, modality="a")
            # Readers do not wait.
            assert len(second) == 0
        finally:
            leave.set()
            thread.join()
        assert second.add_codes(CODES[:1], modality="a") == [0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DROP TABLE {c}_codes_1", "_codes_1"),
        ("ALTER TABLE {c}_objects DROP COLUMN payload", "payload"),
        ("ALTER TABLE {c}_objects RENAME COLUMN id TO name", "id"),
        ("ALTER TABLE {c}_codes_0 ALTER COLUMN code TYPE bit(16) USING code::bit(16)", "bit"),
        ("DROP TABLE {c} CASCADE", "does not exist"),
        ("DELETE FROM {c}", "another collection"),
    ],
)
def test_a_schema_that_somebody_changed_is_reported(
    store, address, postgres_server, collection_name, change, problem
):
    store.add_codes(CODES, modality="a")
    postgres_server.run(change.format(c=collection_name(address)))
    seen = []
    for act in (
        lambda: store.search_codes(CODES[:1]),
        lambda: store.upsert_codes(CODES, modality="b", ids=range(40), payloads=[{}] * 40),
        lambda: store.get([1]),
        lambda: dh.open(address),
    ):
        try:
            act()
        except dh.errors.CollectionError as error:
            seen.append(str(error))
    assert any(problem in text for text in seen), seen
    with pytest.raises((CollectionFileError, dh.errors.CollectionNotFoundError)):
        dh.open(address)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DELETE FROM {c}_codes_0 WHERE position = 3", "there should be 40 codes of 'a', and there are 39"),
        ("DELETE FROM {c}_objects WHERE position = 3", "1 codes of 'a' belong to no object"),
        ("UPDATE {c} SET n_objects = 7", "there should be 7 objects"),
        ("UPDATE {c}_model SET data = 'x'", None),
    ],
)
def test_verify_finds_what_somebody_changed(
    store, address, postgres_server, collection_name, change, problem
):
    store.add_codes(CODES, modality="a")
    assert store.verify().ok
    postgres_server.run(change.format(c=collection_name(address)))
    report = store.verify()
    assert report.ok == (problem is None)  # a collection without a model has no row to damage
    if problem is not None:
        assert any(problem in text for text in report.problems), report.problems


def test_more_columns_and_indexes_do_no_harm(store, address, postgres_server, collection_name):
    name = collection_name(address)
    postgres_server.run(f"ALTER TABLE {name}_objects ADD COLUMN seen timestamptz DEFAULT now()")
    postgres_server.run(f"CREATE INDEX ON {name}_objects USING gin (payload)")
    store.add_codes(CODES, modality="a", payloads=[{"n": 1}] * 40)
    with dh.open(address) as other:
        assert other.verify().ok
        assert len(other.search_codes(CODES[:1], where={"n": 1}, k=50)[0]) == 40


@pytest.mark.parametrize(
    "golden", sorted(path.name for path in GOLDEN.glob("*.dhm") if "distance" not in path.name)
)
def test_models_of_earlier_releases_are_kept_and_read(address, golden):
    model = dh.HashModel.load(GOLDEN / golden)
    dh.create(address, model).close()
    with dh.open(address) as store:
        assert store.model.to_bytes() == model.to_bytes()
        assert (store.n_bits, store.modalities) == (model.n_bits, model.modalities)


def test_a_model_of_a_later_release_is_refused(address, hasher, postgres_server, collection_name):
    later = json.dumps({"format_version": FORMAT_VERSION + 1})
    data = safetensors.numpy.save({"a": np.zeros(2)}, {"diffhash": later, "sha256": "0"})
    name = collection_name(address)
    with dh.create(address, hasher) as store:
        old = store.description.model_sha256
        postgres_server.run(f"UPDATE {name}_model SET data = '\\x{data.hex()}'")
        new = hashlib.sha256(data).hexdigest()
        postgres_server.run(f"UPDATE {name} SET description = replace(description, '{old}', '{new}')")
    with pytest.raises(NewerFormatError, match="Upgrade"):
        dh.open(address)


def test_a_collection_of_a_later_release_is_refused(store, address, postgres_server, collection_name):
    postgres_server.run(
        f"""UPDATE {collection_name(address)} SET description = replace(description, '"format": 1', '"format": 2')"""
    )
    with pytest.raises(NewerCollectionError, match="Install a newer release"):
        dh.open(address)


def test_a_damaged_model_is_not_used(address, hasher, postgres_server, collection_name):
    with dh.create(address, hasher) as store:
        name = collection_name(address)
        postgres_server.run(f"UPDATE {name}_model SET data = set_byte(data, 100, get_byte(data, 100) # 1)")
        assert any("checksum is wrong" in problem for problem in store.verify().problems)
    with pytest.raises(CollectionFileError, match="checksum is wrong"):
        dh.open(address)


@contextmanager
def small_disk(megabytes):
    """A file system of a few megabytes, in a folder that the user of the server can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        if done.returncode:
            pytest.skip(f"a small file system cannot be mounted: {done.stderr.strip()}")
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
    finally:
        folder.rmdir()


def test_a_full_disk_is_reported_and_loses_nothing(postgres_server):
    """The tables are on a small disk, and the rest of the server on another one."""
    with small_disk(40) as disk:
        (disk / "tables").mkdir(mode=0o700)
        shutil.chown(disk / "tables", "nobody")
        postgres_server.run(f"CREATE TABLESPACE small LOCATION '{disk / 'tables'}'")
        postgres_server.run("CREATE DATABASE small TABLESPACE small")
        # A full disk has no room for the temporary files of a large sort.
        postgres_server.run("ALTER DATABASE small SET temp_tablespaces = pg_default")
        try:
            _fill(postgres_server.address("small"))
        finally:
            postgres_server.run("DROP DATABASE small WITH (FORCE)")
            postgres_server.run("DROP TABLESPACE small")


def _fill(address):
    rng = np.random.default_rng(0)
    with dh.create(address, n_bits=64, modalities=("a",), timeout=60) as store:

        def add():
            codes = rng.integers(0, 256, (2000, 8), dtype=np.uint8)
            store.add_codes(
                codes, modality="a", payloads=[{"text": rng.bytes(300).hex()} for _ in range(2000)]
            )

        def add_until_full():
            for _ in range(100):
                add()

        with pytest.raises(CollectionWriteError, match=r"disk of the server.*Nothing was changed"):
            add_until_full()
        stored = len(store)
        assert stored
        assert stored % 2000 == 0
        assert store.verify().problems == ()
        store.delete(range(0, stored, 2))
        assert len(store) == stored // 2
