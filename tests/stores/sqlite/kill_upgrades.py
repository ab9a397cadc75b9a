"""Kills upgrades at random moments and checks the file: ``kill_upgrades.py FILE KILLS SEED``.

FILE is a collection of format 1. Each time a copy of it is upgraded and the process is killed. Afterwards the
file must have format 1 or format 2, verify, and hold the same objects. Prints a JSON object with the counts and
the problems. Processes are forked, because importing takes a second.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import diffhash as dh
from diffhash.stores.sqlite.schema import BESIDE


def contents(collection):
    items = (item for block in collection.iterate() for item in block)
    return [(item.id, {m: c.tobytes() for m, c in item.codes.items()}, item.payload) for item in items]


def upgrade_in_child(path, pipe):
    with dh.Collection.open(path, writable=True) as collection:
        os.write(pipe, b"begin\n")
        collection.upgrade()
        os.write(pipe, b"done\n")


def kill_one(path, delay, after_done=False):
    """Upgrade in another process and kill it ``delay`` seconds after it began or was done; returns what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            upgrade_in_child(path, writing)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.readline() + (pipe.readline() if after_done else "")
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return (said + pipe.read()).split()


def main() -> None:
    original, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    with dh.Collection.open(original) as collection:
        expected = contents(collection)
    path = f"{original}.copy"
    shutil.copy(original, path)
    start = time.perf_counter()
    with dh.Collection.open(path, writable=True) as collection:
        collection.upgrade()
    duration = time.perf_counter() - start
    report = {"seed": seed, "kills": 0, "format 1": 0, "format 2": 0, "done": 0, "problems": []}
    while report["kills"] < kills and not report["problems"]:
        for suffix in ("", *BESIDE):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        shutil.copy(original, path)
        # One in eight is killed while it closes the file, the first at once, however slow the machine is.
        if report["kills"] % 8 == 7:
            said = kill_one(path, rng.uniform(0.0, 0.01), after_done=True)
        else:
            said = kill_one(path, rng.uniform(0.0, 1.2 * duration) if report["kills"] else 0.0)
        report["kills"] += 1
        report["done"] += "done" in said
        writable = rng.random() < 0.5
        if rng.random() < 0.3:  # the next writer is killed too, before the log is moved into the file
            kill_one(path, 0.0)
        with dh.Collection.open(path, writable=writable) as collection:
            version = collection.stats().format_version
            report[f"format {version}"] += 1
            report["problems"] += collection.verify().problems
            if contents(collection) != expected:
                report["problems"].append("the objects are not the same")
            if "done" in said and version != 2:
                report["problems"].append("an upgrade was acknowledged and is not there")
            if writable:
                collection.upgrade()
                report["problems"] += collection.verify().problems
    print(json.dumps(report))


if __name__ == "__main__":
    main()
