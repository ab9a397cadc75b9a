"""``diffhash serve``: an HTTP service in front of a collection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Featurizers, featurizers_by_name

__all__ = ["serve"]

_WHO = "Who may ask"
_LIMITS = "Limits"
#: Variables that hold tokens. An option would show them to everybody who can list processes.
_TOKEN, _WRITE_TOKEN = "DIFFHASH_TOKEN", "DIFFHASH_WRITE_TOKEN"


def serve(
    *,
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="A collection (.dh), or the address of another store.")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Another one than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.")] = 8080,
    writable: Annotated[
        bool, typer.Option("--writable", help="Objects can be added, replaced and deleted.")
    ] = False,
    featurizer: Featurizers = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"File with the token for readers. Or set the variable {_TOKEN}.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    write_token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"File with the token for writers. Or set the variable {_WRITE_TOKEN}.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    allow_anyone: Annotated[
        bool,
        typer.Option(
            "--allow-anyone",
            help="Listen on another address without a token: everybody who can reach the port may read and, "
            "with --writable, write.",
            rich_help_panel=_WHO,
        ),
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name under which the service is reached, if it has no token. Repeat for more.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Web pages of this origin may use the service: https://example.org. Repeat for more.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    max_body: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Size of a request.", rich_help_panel=_LIMITS)
    ] = 16,
    max_k: Annotated[int, typer.Option(min=1, help="Hits for each query.", rich_help_panel=_LIMITS)] = 1_000,
    max_batch: Annotated[
        int, typer.Option(min=1, help="Queries of a request.", rich_help_panel=_LIMITS)
    ] = 1_000,
    max_pixels: Annotated[
        int, typer.Option(min=1, help="Pixels of a picture.", rich_help_panel=_LIMITS)
    ] = 50_000_000,
    max_queue: Annotated[
        int, typer.Option(min=1, help="Queries that wait.", rich_help_panel=_LIMITS)
    ] = 1_000,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Open connections.", rich_help_panel=_LIMITS)
    ] = 1_000,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a request may take.", rich_help_panel=_LIMITS)
    ] = 30.0,
    delay: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1000.0,
            metavar="MS",
            help="Milliseconds that a query waits at most for others, to share a pass with them.",
        ),
    ] = 0.5,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log a line of JSON for each request.")
    ] = False,
) -> None:
    """Serve a collection over HTTP, with a page for people, until Ctrl-C or SIGTERM.

    It listens on this machine only, and does not write, unless you say so. Logs are lines of JSON on stderr.

    For example:

        diffhash serve photos.dh --open

        diffhash serve photos.dh --port 9000 --writable

        DIFFHASH_TOKEN=... diffhash serve photos.dh --host 0.0.0.0
    """
    from ..service import Limits, ServeSettings
    from ..service import serve as run

    settings: dict[str, Any] = {
        "host": host,
        "port": port,
        "writable": writable,
        "token": _token(token_file, _TOKEN),
        "write_token": _token(write_token_file, _WRITE_TOKEN),
        "allow_anyone": allow_anyone,
        "host_names": tuple(host_name or ()),
        "origins": tuple(allow_origin or ()),
        "delay": delay / 1000,
        "log_requests": log_requests,
        "open_page": open_page,
        "limits": Limits(
            body_bytes=max_body * 2**20,
            k=max_k,
            batch=max_batch,
            picture_pixels=max_pixels,
            queue=max_queue,
            connections=max_connections,
            seconds=timeout,
        ),
    }
    run(address, ServeSettings(**settings), featurizers=featurizers_by_name(featurizer))


def _token(file: Path | None, variable: str) -> str | None:
    """A token from a file, or from a variable."""
    if file is None:
        return os.environ.get(variable) or None
    from ..errors import InputFileError
    from ..input_files import check_regular_file, reading

    with reading(file, InputFileError):
        check_regular_file(file, InputFileError)
        return file.read_text("ascii", "replace").strip()
