"""Routes of the page: its files, and the searches that it makes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response

from .answers import Scope, json_bytes
from .bit_shares import describe_bits
from .bodies import JSON, PICTURES, media_type
from .finding import describe_page, find, read_question
from .problems import RefusedError
from .search_route import read_body
from .state import State

__all__ = ["FIND", "add_page", "asks_for_json"]

#: Where the search of the page is. ``/`` leads there for programs.
FIND = "/v1/find"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def asks_for_json(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether a program asks for the address of the page. Browsers say that they accept HTML."""
    return (
        scope["path"] == "/"
        and scope["method"] in ("GET", "HEAD")
        and b"text/html" not in headers.get(b"accept", b"")
    )


def add_page(app: FastAPI, state: State) -> None:
    """Add the routes."""
    contents = _read_files()

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        """The page."""
        return Response(contents["index.html"], media_type=_TYPES["html"])

    @app.get("/page/{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        """A file of the page. Only files that were there at the start can be asked for."""
        if name not in contents:
            raise RefusedError(404, "RequestError", "Not Found.")
        return Response(contents[name], media_type=_TYPES[name.rpartition(".")[2]])

    @app.get("/v1/page")
    async def about() -> Response:
        """What can be typed and drawn, and sizes."""
        return _json(await state.read(describe_page))

    @app.get("/v1/bits")
    async def bits() -> Response:
        """How often each bit is one, from a sample."""
        return _json(await state.read(describe_bits))

    @app.get(FIND)
    async def ask(request: Request) -> Response:
        """Search with the question in the address."""
        question = read_question(request.scope["query_string"])
        limits = state.settings.limits
        return _json(await state.read(lambda store: find(store, question, limits)))

    @app.post(FIND)
    async def ask_with_picture(request: Request) -> Response:
        """Search with the picture in the body, and the options in the address."""
        question = read_question(request.scope["query_string"])
        if question.kind != "none":
            raise RefusedError(
                422, "RequestError", "A picture is a query by itself. Leave q, item and draw out."
            )
        kind = media_type(request.headers.get("content-type", "").encode("latin-1"))
        if kind not in PICTURES:
            raise RefusedError(415, "RequestError", f"The body must be a picture ({', '.join(PICTURES)}).")
        limits = state.settings.limits
        headers = {b"content-length": request.headers.get("content-length", "").encode("latin-1")}
        body = await read_body(request.receive, headers, limits.body_bytes)
        return _json(await state.read(lambda store: find(store, question, limits, body)))


def _read_files() -> dict[str, bytes]:
    """The files of the page, by name."""
    folder = files(__package__).joinpath("page")
    return {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES
    }


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type=JSON)
