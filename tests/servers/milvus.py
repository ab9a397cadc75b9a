"""A Milvus server, from the PyPI package milvus, in the network namespace of this process."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from .processes import ENVIRONMENT, ServerProcess, ServerUnavailableError, free_port, server_package

#: Settings for tests. A strong read waits for the next time tick of the server, by default 200 ms. After a kill, a
#: server waits until the session of the old one has ended, by default 30 s.
QUICK = {"proxy.timeTickInterval": 20, "common.session.ttl": 5}
#: Writes the configuration, and unpacks the programs; runs in the environment of the servers.
_PREPARE = """
import json, sys, milvus
folder, programs, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
milvus._initialize_data_files(programs)
config = milvus.MilvusServerConfig(data_dir=folder)
for name, value in settings.items():
    config.set(name, value)
config.resolve()
print(config.get("proxy_port"))
"""


def check_network() -> None:
    """Raise unless the loopback interface is the only one: Milvus listens on all interfaces."""
    listed = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    if listed != ["lo"]:
        raise ServerUnavailableError(
            f"Milvus listens on all interfaces, here {', '.join(listed)}. It runs only in a network namespace of its "
            "own: run make test-stores as root"
        )


class MilvusServer:
    """A Milvus server with its data in a temporary folder.

    Parameters
    ----------
    settings : dict, optional
        Settings of the server, such as ``{"proxy.timeTickInterval": 50}``.
    """

    def __init__(self, settings: Mapping[str, int | str] | None = None) -> None:
        server_package("milvus")
        check_network()
        self._process: ServerProcess | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="milvus"))
        # All servers share the programs, 300 MB unpacked.
        self._programs = ENVIRONMENT / "milvus"
        python = str(ENVIRONMENT / "bin" / "python")
        given = [str(self.folder), str(self._programs), json.dumps(dict(settings or {}))]
        command = [python, "-c", _PREPARE, *given]
        done = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
        # Another program may have the usual ports. A server keeps its ports when it is started again.
        self.host = f"127.0.0.1:{done.stdout.strip()}"
        self._health_port = free_port()

    def address(self, name: str) -> str:
        """Address of a store."""
        return f"milvus://{self.host}/{name}"

    def start(self, seconds: float = 120) -> MilvusServer:
        """Start the server and wait until it is healthy."""
        programs = self._programs / "bin"
        # The starter of the package takes other ports if old connections linger: after a kill, it would move.
        environment = {
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(self._health_port),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(programs),
        }
        self._process = ServerProcess(
            [str(programs / "milvus"), "run", "standalone"], self.folder / "log", self.folder, environment
        )
        self._process.wait_until(self._is_healthy, seconds)
        return self

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._health_port}/healthz", timeout=2) as answer:
                return b"OK" in answer.read()
        except (OSError, urllib.error.URLError):
            return False

    def kill(self) -> None:
        """End the server as a crash would: SIGKILL to all of its processes."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def close(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None:
            # It takes long to stop: it writes what it has in memory. Nobody needs its data any more.
            self._process.stop(signal.SIGTERM, 2)
            self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)


class RunningMilvus:
    """A Milvus server that another process has started."""

    def __init__(self, host: str) -> None:
        self.host = host

    def address(self, name: str) -> str:
        """Address of a store."""
        return f"milvus://{self.host}/{name}"
