"""A real server process on the loopback interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx

#: Seconds to wait for a server; the machine of a test may be busy.
PATIENCE = 120


class Server:
    """``diffhash serve`` as a process of its own, which is stopped at the end of the context.

    Parameters
    ----------
    address : collection
    options : str
        Options of the command.
    environment : dict, optional
        Added to the environment.
    prefix : list of str
        Put before the command, to run it in a network namespace.
    host : str
        The address to listen on.
    code : str, optional
        Python code that serves the collection, in place of the command.
    """

    def __init__(self, address, *options, environment=None, prefix=(), host="127.0.0.1", code=None):
        self.address, self.options, self.prefix, self.host = address, options, list(prefix), host
        self.environment, self.code = environment or {}, code
        self.lines: list[dict[str, object]] = []

    def start(self):
        command = [
            *self.prefix,
            sys.executable,
            "-W",
            "error",
            "-m",
            "diffhash",
            "serve",
            os.fspath(self.address),
        ]
        command += ["--port", "0", "--host", self.host, *map(str, self.options)]
        if self.code is not None:
            command = [sys.executable, "-c", self.code, os.fspath(self.address)]
        self.process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **self.environment},
        )
        self.lines, self.raw = [], []
        self._started = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._started.wait(PATIENCE), "the server did not start"
        started = [line for line in self.lines if line.get("event") == "started"]
        assert started, f"the server has ended: {self.raw}"
        self.port = started[0]["port"]
        self.url = f"http://{self.host}:{self.port}"
        return self

    def _read(self):
        for line in self.process.stderr:
            self.raw.append(line)
            with suppress(ValueError):
                self.lines.append(json.loads(line))
                if self.lines[-1].get("event") == "started":
                    self._started.set()
        self._started.set()

    def stop(self):
        """Ask the process to end; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """End the process at once."""
        self.process.kill()
        return self.wait()

    def wait(self):
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(PATIENCE)
        self.process.stderr.close()
        return status

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if not self.process.stderr.closed:
            self.stop()

    def client(self, **options):
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def memory(self):
        """Resident memory in bytes."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_for(condition, seconds=PATIENCE):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)
