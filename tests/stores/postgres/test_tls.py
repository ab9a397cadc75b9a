"""TLS: who the server is, is checked if the address asks for it.

The server of the tests is built without TLS, so a proxy speaks it.
"""

from __future__ import annotations

import secrets
import subprocess

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import StoreUnavailableError

from .proxy import Proxy


@pytest.fixture
def certificates(tmp_path):
    """Two certificates for 127.0.0.1 and their keys."""
    for name in ("server", "other"):
        command = ["openssl", "req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048"]
        command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        command += ["-out", f"{tmp_path}/{name}.crt", "-keyout", f"{tmp_path}/{name}.key"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    return tmp_path


def test_the_server_is_known_by_its_certificate(certificates, postgres_server):
    socket = postgres_server.folder / f".s.PGSQL.{postgres_server.port}"
    proxy = Proxy(socket, (certificates / "server.crt", certificates / "server.key"))
    try:
        place = postgres_server.loopback_address().replace(f":{postgres_server.port}/", f":{proxy.port}/")
        address = f"{place}?collection=c{secrets.token_hex(4)}&sslmode=verify-full&sslrootcert={certificates}"
        with dh.create(f"{address}/server.crt", n_bits=8, modalities=("a",)) as store:
            store.add_codes(np.zeros((2, 1), np.uint8), modality="a")
        assert proxy.n_encrypted >= 1
        with pytest.raises(StoreUnavailableError, match="certificate verify failed"):
            dh.open(f"{address}/other.crt", timeout=5)
        other_name = f"{address}/server.crt".replace("@127.0.0.1:", "@localhost:")
        with pytest.raises(StoreUnavailableError, match="does not match host name"):
            dh.open(other_name, timeout=5)
    finally:
        proxy.close()
