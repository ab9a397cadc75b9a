"""A process with many services, for tests that need a new one for each of hundreds of stores.

``python -m tests.service.many_servers`` reads paths of collections, one a line, and writes the port of the service that
it has started for each. The services run in threads, and end with the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time


def main():
    """Start a service for each line."""
    from diffhash.service.server import listen, make_server
    from diffhash.service.settings import ServeSettings

    for line in sys.stdin:
        settings = ServeSettings(port=0, writable=True, delay=0.0)
        listener = listen(settings)
        server = make_server(line.rstrip("\n"), settings, listener)
        threading.Thread(target=server.run, args=([listener],), daemon=True).start()
        while not server.started:
            time.sleep(0.002)
        print(listener.getsockname()[1], flush=True)


class ManyServers:
    """The process, as the tests use it."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.many_servers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return self

    def serve(self, path):
        """The address of a new service for a collection."""
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        return f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait(60)
        self._process.stdin.close()
        self._process.stdout.close()


if __name__ == "__main__":
    main()
