"""Acknowledged writes survive a killed process, and are synced before they are acknowledged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import diffhash as dh

HERE = Path(__file__).parent
posix = pytest.mark.skipif(os.name != "posix", reason="signals and forks of POSIX")
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@posix
def test_a_hundred_killed_writers_lose_nothing_and_leave_no_partial_write(path, collection):
    collection.index_payload("even")
    collection.close()

    done = subprocess.run(
        [sys.executable, HERE / "kill_writers.py", path, "100", str(os.getpid())],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["problems"] == []
    assert report["kills"] == 100
    # The test would prove nothing if all writers died before or after their work.
    assert report["done"] > 20
    assert report["within"] > 20


# Logs every write to a file of the collection, every sync, and the acknowledgement.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t (*real_write)(int, const void*, size_t);

static void note(const char* what, int fd) {
    char link[64], path[4096], line[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return;
    path[n] = 0;
    const char* folder = getenv("SHIM_FOLDER");
    if (!folder || strncmp(path, folder, strlen(folder)) != 0) return;
    if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
    int log = open(getenv("SHIM_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (log < 0) return;
    int length = snprintf(line, sizeof line, "%s %s\n", what, strrchr(path, '/') + 1);
    real_write(log, line, length);
    close(log);
}

ssize_t write(int fd, const void* data, size_t n) {
    if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
    note("write", fd);
    return real_write(fd, data, n);
}
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t at) {
    static ssize_t (*real)(int, const void*, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    note("write", fd);
    return real(fd, data, n, at);
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    note("sync", fd);
    return result;
}
int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    int result = real(fd);
    note("sync", fd);
    return result;
}
"""

WRITER = """
import os, sys
import numpy as np
import diffhash as dh

collection = dh.Collection.open(sys.argv[1], writable=True)
if sys.argv[3] == "careless":
    collection._db.execute("PRAGMA synchronous = NORMAL")
ack = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
codes = np.arange(400, dtype=np.uint8).reshape(-1, 2)
for number in range(5):
    collection.add_codes(codes, modality="x")
    os.write(ack, b"added")
collection.upsert_codes(codes[:1], modality="x", ids=[3])
os.write(ack, b"replaced")
collection.delete([4])
os.write(ack, b"removed")
os._exit(0)
"""


def unsynced_acknowledgements(log: list[str]) -> tuple[int, int]:
    """Number of acknowledgements, and of those that came before everything was synced."""
    waiting, given, early = set(), 0, 0
    for line in log:
        what, name = line.split(" ", 1)
        if name == "ack":
            given += 1
            early += bool(waiting)
        elif what == "sync":
            waiting.discard(name)
        elif not name.endswith(("-shm", "-lock")):  # shared memory and locks are not data
            waiting.add(name)
    return given, early


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs LD_PRELOAD and a C compiler to see the calls",
)
@pytest.mark.parametrize("care", ["as it is", "careless"])
def test_the_disk_is_synced_before_the_acknowledgement(path, collection, tmp_path_factory, care):
    """A killed process loses nothing even without a sync, so the order of the system calls is checked.

    With the sync turned off the same check must find acknowledgements that come too early.
    """
    collection.close()
    tools = tmp_path_factory.mktemp("shim")
    (tools / "shim.c").write_text(SHIM)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", tools / "shim.so", tools / "shim.c", "-ldl"], check=True
    )
    log = tools / "log"
    environment = ENVIRONMENT | {
        "LD_PRELOAD": os.fspath(tools / "shim.so"),
        "SHIM_LOG": os.fspath(log),
        "SHIM_FOLDER": os.fspath(path.parent),
    }

    subprocess.run(
        [sys.executable, "-c", WRITER, path, path.parent / "ack", care],
        env=environment,
        check=True,
        timeout=60,
    )

    lines = log.read_text().splitlines()
    assert f"write {path.name}-wal" in lines
    given, early = unsynced_acknowledgements(lines)
    assert given == 7
    assert early == (0 if care == "as it is" else 7)
    with dh.Collection.open(path) as reader:
        assert len(reader) == 999
