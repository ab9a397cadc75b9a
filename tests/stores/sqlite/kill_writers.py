"""Kills writing processes at random moments and checks the file: ``kill_writers.py FILE KILLS SEED``.

A writer announces an operation, does it, and acknowledges it. Afterwards every acknowledged operation
must be in the file, and an operation that was only announced must be there completely or not at all. Prints
a JSON object with the counts and the problems. Processes are forked, because importing takes a second.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

import numpy as np

import diffhash as dh

State = dict[int, int]


def codes_of(ids, version):
    """Codes from which the write that made them can be told."""
    numbers = (np.asarray(ids, dtype=np.int64) * 7919 + version * 104729) & 0xFFFF
    return numbers.astype("<u2").view(np.uint8).reshape(-1, 2)


def apply(state: State, operation) -> State:
    """Content after an operation: versions by id."""
    kind, first, count, version = operation
    changed = dict(state)
    for i in range(first, first + count):
        if kind == "delete":
            changed.pop(i, None)
        elif kind in ("add", "upsert"):
            changed[i] = version
    return changed


def choose(rng: random.Random, state: State, version: int):
    largest = max(state, default=-1)
    kind = rng.choices(["add", "upsert", "delete", "compact"], [6, 3, 3, 0.5])[0]
    count = rng.choice([1, 2, 7, 40, 300])
    if kind == "add":
        return [kind, largest + 1, count, version]
    if len(state) > 2000:
        return ["delete", 0, largest - 200, version]
    return [kind, rng.randrange(largest + 2), count, version]


def run(collection, operation) -> None:
    kind, first, count, version = operation
    ids = list(range(first, first + count))
    if kind == "add":
        collection.add_codes(
            codes_of(ids, version),
            modality="x",
            ids=ids,
            payloads=[{"v": version, "even": i % 2} for i in ids],
        )
    elif kind == "upsert":
        collection.upsert_codes(
            codes_of(ids, version),
            modality="x",
            ids=ids,
            payloads=[{"v": version, "even": i % 2} for i in ids],
        )
    elif kind == "delete":
        collection.delete(ids)
    else:
        collection.compact()


def write_for_ever(path: str, pipe: int, state: State, version: int, seed: int) -> None:
    rng = random.Random(seed)
    collection = dh.Collection.open(path, writable=True, timeout=10)
    while True:
        version += 1
        operation = choose(rng, state, version)
        os.write(pipe, f"begin {json.dumps(operation)}\n".encode())
        run(collection, operation)
        os.write(pipe, b"done\n")
        state = apply(state, operation)


def kill_one(path: str, state: State, version: int, rng: random.Random):
    """Start a writer and kill it; returns the acknowledged content and the operation that was running."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write_for_ever(path, writing, state, version, rng.randrange(2**32))
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        # One in ten is killed while it opens the file, the others while they write, however slow the machine is.
        first = "" if rng.random() < 0.1 else pipe.readline()
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        lines = [line for line in (first + pipe.read()).split("\n") if line]
    begun = None
    for line in lines:
        if line == "done":
            state, begun = apply(state, begun), None
        else:
            begun = json.loads(line.removeprefix("begin "))
    said = sum(line == "done" for line in lines)
    return state, begun, said, os.WIFSIGNALED(status)


def look(path: str, writable: bool) -> tuple[State, list[str]]:
    """Content of the file, and problems in it."""
    problems = []
    with dh.Collection.open(path, writable=writable) as collection:
        problems += collection.verify().problems
        found = {}
        for item in (item for block in collection.iterate() for item in block):
            version = item.payload["v"]
            if item.codes["x"].tobytes() != codes_of([item.id], version).tobytes():
                problems.append(f"{item.id} has the payload of version {version}, and another code")
            found[item.id] = version
        evens, _ = collection.search_arrays(codes_of([0], 0), into="x", k=10**6, where={"even": 0})
        if set(evens[0].tolist()) != {i for i in found if i % 2 == 0}:
            problems.append("the indexed field finds other objects")
    return found, problems


def main() -> None:
    path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng, state, version = random.Random(seed), {}, 0
    report = {"seed": seed, "kills": 0, "done": 0, "within": 0, "within_and_stored": 0, "problems": []}
    while report["kills"] < kills and not report["problems"]:
        state, begun, said, killed = kill_one(path, state, version, rng)
        report["kills"] += killed
        report["done"] += said
        version += said + 1
        found, problems = look(path, writable=rng.random() < 0.5)
        report["problems"] += problems
        if not killed:
            report["problems"].append("a writer ended by itself")
        if begun is not None:
            report["within"] += 1
            if found == apply(state, begun) and found != state:
                report["within_and_stored"] += 1
                state = found
        if found != state:
            missing, strange = len(state.items() - found.items()), len(found.items() - state.items())
            report["problems"].append(
                f"{missing} acknowledged are missing, {strange} unacknowledged are there"
            )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
