"""The attack notices what it is there to notice; otherwise its silence would mean nothing."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3

import pytest

import diffhash as dh
from tests.golden.make import manhattan

from . import report
from .campaign import Counts, run_campaign
from .crashes.disk import CREATE, RENAME, SYNC, SYNC_FOLDER, WRITE, Change, Disk
from .mutate import json_bytes, mutate_bytes, mutate_json
from .paths import GOLDEN
from .targets.collection_files import bases
from .targets.collection_sql import right_checksums
from .targets.model_files import pack, split


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("crash", "crash"),
        ("foreign-error", "foreign error"),
        ("wrong-answer", "wrong answer"),
        ("memory", "memory"),
        ("memory-that-is-not-used", "memory"),
        ("hang", "hang"),
        ("refused", "refused"),
        ("accepted", "accepted"),
    ],
)
def test_every_kind_of_finding_is_noticed(worker, action, outcome):
    result = worker.run(f"sabotage-{action}", 0)

    assert result.outcome == outcome, result.detail
    assert result.is_finding == (outcome not in ("refused", "accepted"))


def test_a_case_is_the_same_every_time(worker):
    assert [worker.run("npz", seed) for seed in range(20)] == [worker.run("npz", seed) for seed in range(20)]


def test_a_long_attack_counts_all_cases_and_names_each_place_once(capsys):
    counts = run_campaign(["sabotage-foreign-error", "sabotage-accepted"], 8, n_workers=1, seed=3, turn=0.5)

    assert counts.findings.keys() == {"sabotage-foreign-error: foreign error: KeyError in sabotage.py:_use"}
    assert counts.outcomes["sabotage-foreign-error"]["foreign error"] > 1
    assert counts.outcomes["sabotage-accepted"].keys() == {"accepted"}
    assert capsys.readouterr().out.count("python -m tests.attack --case sabotage-foreign-error:3") == 1


def test_the_counts_replace_the_table_on_the_page(tmp_path, monkeypatch):
    page = tmp_path / "SECURITY.md"
    page.write_text("before\n<!-- attack: begin -->\nold\n<!-- attack: end -->\nafter\n")
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.setattr(report, "NUMBERS", tmp_path / "attack.json")
    counts = Counts(7, 120.0, findings={"model: crash": "model:8"})
    counts.outcomes["model"].update({"accepted": 1500, "refused": 20, "crash": 2})

    report.write_report(counts)

    text = page.read_text()
    assert "| model | 1,522 | 1,500 | 20 | 2 |" in text
    assert text.startswith("before\n<!-- attack: begin -->\n")
    assert text.endswith("\n<!-- attack: end -->\nafter\n")
    assert "old" not in text
    assert json.loads((tmp_path / "attack.json").read_text())["findings"] == {"model: crash": "model:8"}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.dhm")), ids=lambda path: path.stem)
def test_a_model_that_is_packed_again_without_a_change_is_accepted(path, tmp_path):
    """Otherwise every changed model would be refused for its checksum, and nothing behind it would be attacked."""
    again = tmp_path / "again.dhm"
    again.write_bytes(pack(*split(path.read_bytes())))

    kernel = {"x": manhattan} if path.stem.startswith("distance-") else None
    assert (
        dh.load(again, kernel=kernel).get_params().keys() == dh.load(path, kernel=kernel).get_params().keys()
    )


def test_a_collection_whose_checksums_are_made_again_without_a_change_is_accepted(tmp_path):
    for base, _ in bases():
        path = tmp_path / base.name
        shutil.copy(base, path)
        connection = sqlite3.connect(path, isolation_level=None)
        # Wrong ones first, to see that they are made again.
        connection.execute("UPDATE segments SET crc = 0")
        connection.execute("UPDATE payloads SET crc = 0")
        right_checksums(connection)
        connection.close()

        with dh.Collection.open(path) as collection:
            assert collection.verify().problems == ()


def test_mutations_change_something():
    rng = random.Random(0)
    tree, data = {"a": [1, 2, {"b": "text"}], "c": 1.5}, bytes(range(200))

    assert sum(json_bytes(mutate_json(rng, tree)) != json_bytes(tree) for _ in range(200)) > 150
    assert sum(mutate_bytes(rng, data) != data for _ in range(200)) > 180
    assert tree == {"a": [1, 2, {"b": "text"}], "c": 1.5}


def contents_after(changes, n=200):
    disk = Disk({"old": (1, b"old content")})
    for change in changes:
        disk.apply(change)
    rng = random.Random(0)
    return [{name: data for name, (_, data) in disk.after_power_cut(rng).items()} for _ in range(n)]


def test_a_power_cut_may_drop_or_tear_a_write_that_was_not_synced():
    found = contents_after([Change(WRITE, 1, 0, "old", b"x" * 1024)])

    contents = {files["old"] for files in found}
    assert {b"old content", b"x" * 1024} <= contents
    # Only the second sector arrived.
    assert b"old content".ljust(512, b"\0") + b"x" * 512 in contents


def test_a_power_cut_keeps_what_was_synced():
    changes = [Change(WRITE, 1, 0, "old", b"new"), Change(SYNC, 1, 0, "old", b"new content")]

    assert all(files == {"old": b"new content"} for files in contents_after(changes))


def test_a_power_cut_may_undo_a_renaming_until_the_folder_is_synced():
    changes = [
        Change(CREATE, 2, 0, "part", b""),
        Change(WRITE, 2, 0, "part", b"new"),
        Change(SYNC, 2, 0, "part", b"new"),
        Change(RENAME, 2, 0, "part", b"old"),
    ]

    before = contents_after(changes)
    assert {files["old"] for files in before} == {b"old content", b"new"}
    after = contents_after([*changes, Change(SYNC_FOLDER, 9, 0, "", b"")])
    assert all(files == {"old": b"new"} for files in after)


def test_a_writer_that_does_not_sync_is_found_by_power_cuts(crash_worker):
    results = [crash_worker.run("sabotage-power", seed) for seed in range(40)]

    assert sum(result.outcome == "wrong answer" for result in results) > 3
    assert {result.outcome for result in results} <= {"wrong answer", "accepted"}
