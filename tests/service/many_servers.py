"""A process with many services, for tests that need a new one for each of hundreds of stores.

``python -m tests.service.many_servers`` reads addresses of collections, one a line, and writes the port of the service
that it has started for each. The services run in threads. They end with the process, or after a line ``stop PORT``.
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

    running = {}
    for line in sys.stdin:
        if line.startswith("stop "):
            server, thread = running.pop(int(line.split()[1]))
            server.should_exit = True
            thread.join()
            print("stopped", flush=True)
            continue
        settings = ServeSettings(port=0, writable=True, delay=0.0)
        listener = listen(settings)
        server = make_server(line.rstrip("\n"), settings, listener)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.002)
        port = listener.getsockname()[1]
        running[port] = server, thread
        print(port, flush=True)


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

    def serve(self, address):
        """The address of a new service for a collection."""
        return f"http://127.0.0.1:{int(self._ask(address))}"

    def stop(self, url):
        """Stop the service at an address."""
        assert self._ask(f"stop {url.rpartition(':')[2]}") == "stopped\n"

    def _ask(self, line):
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait(60)
        self._process.stdin.close()
        self._process.stdout.close()


if __name__ == "__main__":
    main()
