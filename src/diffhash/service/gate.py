"""The service as one ASGI application: checks, the search route, and FastAPI for everything else."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from .access import Access
from .answers import HEADERS, Message, Receive, Scope, Send, respond, respond_problem
from .logs import log_event
from .page_routes import FIND, asks_for_json
from .problems import FAULT, RefusedError, problem_of
from .search_route import answer_batch, answer_search
from .state import State

__all__ = ["Gate"]

#: What a page of a named origin may send.
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST, PUT, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
]
_SEARCHES = {"/v1/search": answer_search, "/v1/search/batch": answer_batch}


class Gate:
    """Every request comes here first.

    Parameters
    ----------
    state : State
        Store, threads and settings.
    routes : ASGI application
        All routes that are not searches.
    """

    def __init__(self, state: State, routes: Any) -> None:
        self._state, self._routes = state, routes
        self._access = Access(state.settings)
        self._log_requests = state.settings.log_requests
        self._origins = frozenset(origin.encode() for origin in state.settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        if asks_for_json(scope, dict(scope["headers"])):
            # Before the access is checked: the page itself is open to all, its searches are not.
            scope = {**scope, "path": FIND, "raw_path": FIND.encode()}
        path, method = scope["path"], scope["method"]
        if self._origins:
            send = self._with_origin(scope, send)
        search = _SEARCHES.get(path) if method == "POST" else None
        try:
            headers = dict(scope["headers"])
            if method == "OPTIONS" and headers.get(b"origin") in self._origins:
                await respond(counted, 204, b"", b"text/plain", _PREFLIGHT)
                return
            self._access.check(method, path, headers)
            if path in _SEARCHES and search is None:
                raise RefusedError(405, "RequestError", "Method Not Allowed.")
            if search is not None:
                await search(self._state, scope, headers, receive, counted)
            else:
                await self._routes(scope, receive, _with_headers(counted))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            problem = problem_of(error)
            if problem is None or problem.status == 503:
                log_event(logging.ERROR, "request failed", error=error, route=path if search else "other")
            if not status:  # the answer has not begun
                await respond_problem(counted, problem or FAULT)
        finally:
            seconds = time.perf_counter() - start
            route = path if search is not None else _route_of(scope)
            self._state.metrics.count(route, status, seconds)
            if self._log_requests:
                facts = {"method": method, "route": route, "status": status, "seconds": round(seconds, 6)}
                log_event(logging.INFO, "request", **facts)

    def _with_origin(self, scope: Scope, send: Send) -> Send:
        """Let the page of a named origin read the answer."""
        origin = dict(scope["headers"]).get(b"origin")
        if origin not in self._origins:
            return send

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message["headers"] if pair[0] != b"cross-origin-resource-policy"]
                more = [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
                message = {**message, "headers": own + more}
            await send(message)

        return wrapped


def _route_of(scope: Scope) -> str:
    """The route as it is declared: the path itself may contain an id."""
    route = scope.get("route")
    return str(getattr(route, "path", "other"))


def _with_headers(send: Send) -> Send:
    """Add the headers that every answer has, unless the route has set them itself."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            names = {name.lower() for name, _ in own}
            message = {**message, "headers": own + [pair for pair in HEADERS if pair[0] not in names]}
        await send(message)

    return wrapped
