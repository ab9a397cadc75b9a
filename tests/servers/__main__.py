"""Run a command in a network namespace that has only the loopback interface: ``python -m tests.servers COMMAND``.

Milvus listens on all interfaces, so its tests run where there is only one. The namespace is one of this
process and its children: nothing remains of it when they have ended. It takes the rights of root to make
one; without them the command runs as it is, and the tests of Milvus say why they cannot.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_NEW_NAMESPACES = 0x40000000 | 0x00020000  # CLONE_NEWNET, and CLONE_NEWNS for small file systems of tests
_PRIVATE = 0x4000 | 0x40000  # MS_REC, MS_PRIVATE
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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m tests.servers COMMAND [ARGUMENT...]")
    try:
        enter_namespaces()
    except (OSError, AttributeError) as problem:
        print(f"no network namespace, so no Milvus: {problem}", file=sys.stderr)
    os.execvp(sys.argv[1], sys.argv[1:])
