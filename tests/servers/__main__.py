"""Run a command in a network namespace that has only the loopback interface: ``python -m tests.servers COMMAND``.

Milvus listens on all interfaces, so its tests run where there is only one. The namespace is one of this
process and its children: nothing remains of it when they have ended. It takes the rights of root to make
one; without them the command runs as it is, and the tests of Milvus say why they cannot.

With ``--milvus`` before the command, a Milvus is started first and stopped at the end. All processes of the command
share it. That is for tests on several processes, which wait for it most of the time.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys

from .milvus import QUICK, MilvusServer
from .processes import MILVUS_HOST, children

_NEW_NAMESPACES = 0x40000000 | 0x00020000  # CLONE_NEWNET, and CLONE_NEWNS for small file systems of tests
_PRIVATE = 0x4000 | 0x40000  # MS_REC, MS_PRIVATE
_BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP


def enter_namespaces() -> None:
    """Leave the network and the mounts of the machine; OSError if this process may not."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NAMESPACES):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # Mounts of here do not appear outside.
    if libc.mount(b"none", b"/", None, _PRIVATE, None):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, _GET_FLAGS, struct.pack("16sh14x", b"lo", 0))
        _, flags = struct.unpack("16sh14x", request)
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def run(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Run a command; whatever it leaves running, also if it was killed, is ended by its process id."""
    # Orphans become children of this process, and not of the first one of the machine.
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})})
    try:
        return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        raise
    finally:
        for pid in [*children(process.pid), process.pid]:
            _kill(pid)
        process.wait()
        for pid in children(os.getpid()):
            _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def run_with_milvus(command: list[str]) -> int:
    """Start a Milvus, run a command, and stop the Milvus."""
    server = MilvusServer(QUICK)
    try:
        server.start()
        return run(command, {MILVUS_HOST: server.host})
    finally:
        server.close()


if __name__ == "__main__":
    shared = sys.argv[1:2] == ["--milvus"]
    command = sys.argv[1 + shared :]
    if not command:
        raise SystemExit("usage: python -m tests.servers [--milvus] COMMAND [ARGUMENT...]")
    try:
        enter_namespaces()
    except (OSError, AttributeError) as problem:
        print(f"no network namespace, so no Milvus: {problem}", file=sys.stderr)
        shared = False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A shell starts background jobs with SIGINT ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit((run_with_milvus if shared else run)(command))
