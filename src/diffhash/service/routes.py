"""All routes but the searches, which :mod:`.search_route` answers."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from ..errors import DiffhashError
from ..stores import Item
from ..validation import known_modality
from ..workflows.objects import stored_id
from ..workflows.options import THUMBNAIL
from ..workflows.picture_reader import is_thumbnail
from .answers import json_bytes
from .arrow_body import ArrowRows
from .bodies import ARROW, JSON, NPY, media_type, parse, read_arrow, read_npy
from .describing import describe_calibration, describe_fields, describe_item, describe_store
from .openapi import describe_api
from .page_routes import add_page
from .problems import FAULT, RefusedError, problem_of
from .requests import AddRequest, DeleteRequest, GetRequest, LimitRequest
from .search_route import check_no_query, query_options, read_body
from .state import State
from .writing import write_objects

__all__ = ["make_routes"]


def make_routes(state: State) -> FastAPI:
    """The FastAPI application behind the gate."""
    # The pages that FastAPI makes of the document load scripts from elsewhere.
    app = FastAPI(
        title="diffhash", version="1", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    _add_errors(app)
    _add_health(app, state)
    _add_descriptions(app, state)
    _add_reading(app, state)
    _add_writing(app, state)
    add_page(app, state)

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return _json(describe_api(state))

    return app


def _json(value: Any, status: int = 200) -> Response:
    return Response(json_bytes(value), status, media_type=JSON)


def _add_errors(app: FastAPI) -> None:
    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            problem = RefusedError(error.status_code, "RequestError", f"{error.detail}.")
        elif isinstance(error, RequestValidationError):
            problem = RefusedError(422, "RequestError", "A parameter of the path or the query is not valid.")
        else:
            problem = problem_of(error) or FAULT
        headers = {name.decode(): value.decode() for name, value in problem.headers}
        if problem.status == 405:
            headers["allow"] = _methods(app, request)
        return Response(orjson.dumps(problem.body), problem.status, headers, JSON)

    for kind in (
        HTTPException,
        RequestValidationError,
        RefusedError,
        DiffhashError,
        OSError,
        TimeoutError,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


def _methods(app: FastAPI, request: Request) -> str:
    """The methods of a path, of all routes together."""
    found: set[str] = set()
    for route in app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            found |= set(route.methods or ())
    return ", ".join(sorted(found))


async def _body(request: Request, state: State, kinds: tuple[str, ...]) -> tuple[str, bytes]:
    """Type and body of a request."""
    kind = media_type(request.headers.get("content-type", "").encode("latin-1"))
    if kind not in kinds:
        raise RefusedError(415, "RequestError", f"The body must be {' or '.join(kinds)}.")
    headers = {b"content-length": request.headers.get("content-length", "").encode("latin-1")}
    return kind, await read_body(request.receive, headers, state.settings.limits.body_bytes)


def _add_health(app: FastAPI, state: State) -> None:
    @app.get("/healthz")
    async def healthz() -> Response:
        """Whether the process runs."""
        return _json({"status": "ok"})

    @app.get("/readyz")
    async def readyz() -> Response:
        """Whether the service answers searches: 503 if it stops, or if the collection cannot be read."""
        if state.stopping:
            raise RefusedError(503, "BusyError", "The service is stopping.")
        await state.read(lambda store: store.n_bits + len(store))
        return _json({"status": "ready"})

    @app.get("/metrics")
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_descriptions(app: FastAPI, state: State) -> None:
    @app.get("/v1/collection")
    async def collection() -> Response:
        """Sizes, modalities, the model, and the limits of the service."""
        return _json(
            await state.read(lambda store: describe_store(store, state.settings, state.model_tag(store)))
        )

    @app.get("/v1/count")
    async def count() -> Response:
        """Number of objects."""
        return _json(await state.read(_counts))

    @app.get("/v1/model")
    async def model() -> Response:
        """The model, as a file (.dhm): clients encode with it."""
        return Response(await state.read(_model_bytes), media_type="application/octet-stream")

    @app.post("/v1/limit")
    async def limit(request: Request) -> Response:
        """The radius within which a query has at most so many wrong hits."""
        _, body = await _body(request, state, (JSON,))
        wanted = parse(LimitRequest, body).model_dump()
        found = await state.read(lambda store: store.match_limit(**wanted))
        return _json({"radius": found.radius, "false_matches": found.false_matches})

    @app.get("/v1/fields")
    async def fields() -> Response:
        """Fields of the payloads, from a sample, and their most frequent values."""
        return _json(await state.read(describe_fields))

    @app.get("/v1/evaluation")
    async def evaluation() -> Response:
        """How good searches are, from the calibration of the model."""
        return _json(await state.read(describe_calibration))


def _counts(store: Any) -> dict[str, Any]:
    return {"objects": len(store), "id_kind": store.id_kind}


def _model_bytes(store: Any) -> bytes:
    return bytes(store.model.to_bytes())


def _add_reading(app: FastAPI, state: State) -> None:
    @app.get("/v1/ids")
    async def ids(modality: str | None = None) -> Response:
        """Ids of all objects, in the order in which they were added."""
        return _json({"ids": await state.read(lambda store: _ids(store, modality))})

    @app.get("/v1/thumbnails/{id:path}")
    async def thumbnail(id: str) -> Response:  # noqa: A002 - it is called id everywhere else too
        """The small picture in the payload of an object; 404 if it has none."""
        found = await state.read(lambda store: store.get([stored_id(store, id)])[0].payload.get(THUMBNAIL))
        if not is_thumbnail(found):
            raise RefusedError(404, "UnknownIdError", "This object has no thumbnail.")
        kind, _, data = found.removeprefix("data:").partition(";base64,")
        return Response(base64.b64decode(data), media_type=kind)

    @app.get("/v1/items/{id:path}")
    async def item(id: str) -> Response:  # noqa: A002 - as above
        """One object."""
        return _json(await state.read(lambda store: describe_item(store.get([stored_id(store, id)])[0])))

    @app.post("/v1/get")
    async def get(request: Request) -> Response:
        """Objects by their ids."""
        _, body = await _body(request, state, (JSON,))
        wanted = parse(GetRequest, body)
        _check_count(len(wanted.ids), state.settings.limits.write_batch)

        def read(store: Any) -> list[Item]:
            if wanted.missing == "skip":
                return _present(store, wanted.ids, wanted.modality)
            return list(store.get(wanted.ids, modality=wanted.modality))

        return _json({"items": [describe_item(each) for each in await state.read(read)]})


def _ids(store: Any, modality: str | None) -> list[Any]:
    if hasattr(store, "ids"):
        return list(store.ids(modality))
    return [item.id for block in store.iterate(modality) for item in block]


def _present(store: Any, ids: list[Any], modality: str | None) -> list[Item]:
    """Objects that are there, with all their codes or those of one modality."""
    found: list[Item] = [item for item in store.find(ids) if item is not None]
    if modality is None:
        return found
    name = known_modality(modality, store.modalities, caller="get")
    return [Item(item.id, {name: item.codes[name]}, item.payload) for item in found if name in item.codes]


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise RefusedError(422, "ParameterError", f"A request may have {most:,} ids, got {count:,}.")


def _add_writing(app: FastAPI, state: State) -> None:
    async def put(request: Request, *, replace: bool) -> Response:
        kind, body = await _body(request, state, (JSON, NPY, ARROW))
        rows = None
        if kind == JSON:
            check_no_query(request.scope)
            wanted = parse(AddRequest, body)
        else:
            options = query_options(request.scope, ("modality", "unless_within"))
            wanted = parse(AddRequest, orjson.dumps(options))
            rows = read_arrow(body) if kind == ARROW else ArrowRows(read_npy(body), None, None)
        limits = state.settings.limits

        def write(store: Any) -> dict[str, Any]:
            if wanted.model_sha256 is not None and wanted.model_sha256 != state.model_tag(store):
                raise RefusedError(409, "ModelChangedError", "The store has another model now. Encode again.")
            return write_objects(store, wanted, limits, replace=replace, rows=rows)

        return _json(await state.write(write))

    @app.post("/v1/items")
    async def add(request: Request) -> Response:
        """Add objects. When this answers, they are on the disk."""
        return await put(request, replace=False)

    @app.put("/v1/items")
    async def upsert(request: Request) -> Response:
        """Add objects, and replace those that exist."""
        return await put(request, replace=True)

    @app.post("/v1/delete")
    async def delete_many(request: Request) -> Response:
        """Remove objects."""
        _, body = await _body(request, state, (JSON,))
        wanted = parse(DeleteRequest, body)
        _check_count(len(wanted.ids), state.settings.limits.write_batch)
        removed = await state.write(lambda store: store.delete(wanted.ids, modality=wanted.modality))
        return _json({"deleted": removed})

    @app.delete("/v1/items/{id:path}")
    async def delete_one(id: str) -> Response:  # noqa: A002 - as above
        """Remove one object."""
        removed = await state.write(lambda store: store.delete([stored_id(store, id)]))
        if not removed:
            raise RefusedError(404, "UnknownIdError", "There is no object with this id.")
        return _json({"deleted": removed})
