"""Running the service: the socket, the signals, and the order in which things start and stop."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtraError, ParameterError
from .settings import ServeSettings

__all__ = ["run"]

_NEEDED = ("fastapi", "httptools", "orjson", "prometheus_client", "uvicorn")
#: The search thread and the event loop take turns more often than Python's default of 5 ms.
_SWITCH_SECONDS = 0.0005


def run(address: str, settings: ServeSettings) -> None:
    """Serve a store until the process gets SIGINT or SIGTERM; see :func:`diffhash.service.serve`."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"serve: {' and '.join(missing)} is missing. Run: pip install 'diffhash[serve]'"
        )
    import uvicorn

    from ..workflows.model_files import open_collection
    from .gate import Gate
    from .logs import log_event, set_up_logs
    from .protocol import guarded_protocol, watch_connections
    from .routes import make_routes
    from .serving_store import ServedStore
    from .state import State

    listener = _listen(settings)
    try:
        state = State(ServedStore(lambda: open_collection(address, writable=settings.writable)), settings)
    except BaseException:
        listener.close()
        raise
    set_up_logs()
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
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(settings.limits.seconds) + 1,
        backlog=2048,
    )
    server = uvicorn.Server(config)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        state.start()
        watching = asyncio.create_task(watch_connections(server.server_state.connections))
        host, port = listener.getsockname()[:2]
        log_event(logging.INFO, "started", host=host, port=port, writable=settings.writable)
        try:
            yield
        finally:
            watching.cancel()
            # Threads are finished in a thread: answers are given in this loop.
            await asyncio.to_thread(state.stop)
            log_event(logging.INFO, "stopped")

    routes.router.lifespan_context = lifespan
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run(sockets=[listener])
    finally:
        sys.setswitchinterval(before)
        listener.close()


def _listen(settings: ServeSettings) -> socket.socket:
    """The socket, before the store is opened: an address in use is noticed at once."""
    host = settings.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise ParameterError(
            f"serve: cannot listen on {settings.host} port {settings.port} ({error.strerror}). Choose another --port."
        ) from error
    listener.setblocking(False)
    return listener
