"""The PostgreSQL of the tests runs, survives a kill, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from .processes import children

pytestmark = pytest.mark.server


def test_it_has_the_vector_extension(postgres_server):
    postgres_server.run("CREATE EXTENSION IF NOT EXISTS vector")

    assert postgres_server.run("SELECT B'0110' <~> B'0000'") == "2"
    assert postgres_server.run("SHOW listen_addresses") == "127.0.0.1"


def test_what_was_committed_is_there_after_a_kill(own_postgres_server):
    server = own_postgres_server
    server.run("CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")

    server.kill()
    assert not server.accepts_connections()
    server.start()

    assert server.run("SELECT n FROM kept") == "7"


def test_it_leaves_no_process_and_no_file(own_postgres_server):
    server = own_postgres_server
    pid = server._process.pid
    family = [pid, *children(pid)]
    assert len(family) > 3

    server.close()

    assert not any(Path(f"/proc/{pid}").exists() for pid in family)
    assert not server.folder.exists()
