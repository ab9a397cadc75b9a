"""Running the service: the socket, the signals, and the order in which things start and stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ParameterError
from ..threads import one_blas_thread
from .settings import ServeSettings

if TYPE_CHECKING:
    import uvicorn

__all__ = ["listen", "make_server", "run"]

_NEEDED = ("fastapi", "httptools", "orjson", "prometheus_client", "uvicorn")
#: The search thread and the event loop take turns more often than Python's default of 5 ms.
_SWITCH_SECONDS = 0.0005
#: Seconds for which a connection without a request stays open.
_KEEP_ALIVE = 30
#: Connections that wait to be accepted.
_BACKLOG = 2048


def run(address: str, settings: ServeSettings, featurizers: Mapping[str, Any] | None = None) -> None:
    """Serve a store until the process gets SIGINT or SIGTERM; see :func:`diffhash.service.serve`."""
    _check_installed()
    from .logs import set_up_logs

    listener = listen(settings)
    try:
        server = make_server(address, settings, listener, featurizers)
        set_up_logs()
        # uvicorn sends itself the signal again after it has stopped, which would end the process with an error.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        before = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        try:
            # Queries are a few rows: more threads of BLAS would only wait for each other.
            with one_blas_thread():
                server.run(sockets=[listener])
        finally:
            sys.setswitchinterval(before)
    finally:
        listener.close()


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise MissingExtraError(
            f"serve: {' and '.join(missing)} {are} missing. Run: pip install 'diffhash[serve]'"
        )


def make_server(
    address: str,
    settings: ServeSettings,
    listener: socket.socket,
    featurizers: Mapping[str, Any] | None = None,
) -> uvicorn.Server:
    """Open a store and make the server; ``server.run(sockets=[listener])`` runs it."""
    import uvicorn

    from ..workflows.model_files import open_store
    from .gate import Gate
    from .logs import log_event
    from .protocol import guarded_protocol, watch_connections
    from .routes import make_routes
    from .serving_store import ServedStore
    from .state import State

    own = _load_once(featurizers)

    def open_again() -> Any:
        # A database must not work for longer on a statement than anybody waits for the answer.
        seconds = settings.limits.seconds
        return open_store(address, writable=settings.writable, featurizers=own, timeout=seconds)

    state = State(ServedStore(open_again), settings)
    routes = make_routes(state)
    config = uvicorn.Config(
        Gate(state, routes),
        http=guarded_protocol(settings.limits),
        ws="none",
        lifespan="on",
        loop="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.limits.seconds) + 1,
        backlog=_BACKLOG,
    )
    server = uvicorn.Server(config)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        state.start()
        watching = asyncio.create_task(watch_connections(server.server_state.connections))
        host, port = listener.getsockname()[:2]
        log_event(logging.INFO, "started", host=host, port=port, writable=settings.writable)
        if settings.open_page:
            # In a thread: some browsers return only when they are closed.
            threading.Thread(
                target=webbrowser.open, args=(f"http://{_name_of(host)}:{port}/",), daemon=True
            ).start()
        try:
            yield
        finally:
            watching.cancel()
            # Threads are finished in a thread: answers are given in this loop.
            await asyncio.to_thread(state.stop)
            log_event(logging.INFO, "stopped")

    routes.router.lifespan_context = lifespan
    return server


def _load_once(featurizers: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Featurizers with settings as objects: they are not read again when a store is opened again."""
    from ..featurizers import load_featurizer

    def load(given: Any) -> Any:
        return load_featurizer(given) if str(given).endswith(".json") else given

    return None if featurizers is None else {name: load(given) for name, given in featurizers.items()}


def _name_of(host: str) -> str:
    """A host as it stands in an address. A browser on this machine reaches all addresses by loopback."""
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def listen(settings: ServeSettings) -> socket.socket:
    """The socket, before the store is opened: an address in use is noticed at once."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            # Connections wait from now on, also while a large store is being opened.
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise ParameterError(
            f"serve: cannot listen on {settings.host} port {settings.port} ({error.strerror}). Choose another --port."
        ) from error
    listener.setblocking(False)
    return listener
