"""The search routes: plain ASGI, because a typed FastAPI route would take several times as long as the search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from .answers import Receive, Scope, Send, json_bytes, respond_json
from .asking import Answer, ask_pictures, with_fields
from .bodies import ARROW, JSON, NPY, PICTURES, check_picture, media_type, parse, read_arrow, read_npy
from .planning import Plan, check_number_of_hits, checked_k, plan_batch, plan_search
from .problems import RefusedError
from .requests import BatchSearch, Options, SearchRequest
from .state import State

__all__ = ["answer_batch", "answer_search", "check_no_query", "query_options", "query_pairs", "read_body"]

#: Bytes that are read and thrown away after a body that is too long, so that the client sees the answer.
_DRAIN = 2**26
_MOST_PARAMETERS = 100
#: Options whose values are plain text in a query string.
_PLAIN = ("modality", "into", "rank")


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], most: int) -> bytes:
    """The body of a request.

    Raises
    ------
    RefusedError
        413 if it is too long, 400 if the client went away before its end.
    """
    declared = headers.get(b"content-length", b"")
    too_long = declared.isdigit() and (len(declared) > 18 or int(declared) > most)
    message = await receive()
    if not too_long and message["type"] == "http.request" and not message.get("more_body"):
        body = message.get("body", b"")
        if len(body) <= most:
            return body  # type: ignore[no-any-return]
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] != "http.request":
            raise RefusedError(400, "RequestError", "The body is incomplete.")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            too_long, parts = True, []
        elif not too_long:
            parts.append(part)
        if not message.get("more_body") or (too_long and size > most + _DRAIN):
            break
        message = await receive()
    if too_long:
        raise RefusedError(413, "RequestError", f"The body may have {most:,} bytes.")
    return b"".join(parts)


async def answer_search(
    state: State, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
) -> None:
    """``POST /v1/search``: one query."""
    limits = state.settings.limits
    kind = media_type(headers.get(b"content-type", b""))
    if kind != JSON and kind not in PICTURES:
        raise RefusedError(
            415, "RequestError", f"The body must be {JSON} or a picture ({', '.join(PICTURES)})."
        )
    body = await read_body(receive, headers, limits.body_bytes)
    if kind == JSON:
        check_no_query(scope)
        request = parse(SearchRequest, body)
        plan = plan_search(request, state.store.current.n_bits, limits)
    else:
        request = parse(SearchRequest, orjson.dumps(query_options(scope, Options.model_fields)))
        plan = _plan_picture(request, body, state)
    (answer,) = await _answers(state, plan)
    check_number_of_hits([answer], request, limits)
    hits = answer.hits if request.fields is None else with_fields(answer.hits, request.fields)
    await respond_json(send, json_bytes({"hits": hits, "reason": answer.reason, "notes": answer.notes}))


def _plan_picture(request: SearchRequest, body: bytes, state: State) -> Plan:
    k = checked_k(request, 1, state.settings.limits)
    most = state.settings.limits.picture_pixels

    def ask(store: Any) -> list[Answer]:
        check_picture(body, most)
        return ask_pictures(store, request, [body], k)

    return Plan(function=ask)


async def answer_batch(
    state: State, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
) -> None:
    """``POST /v1/search/batch``: many queries of one kind."""
    limits = state.settings.limits
    kind = media_type(headers.get(b"content-type", b""))
    if kind not in (JSON, NPY, ARROW):
        raise RefusedError(415, "RequestError", f"The body must be {JSON}, {NPY} or {ARROW}.")
    body = await read_body(receive, headers, limits.body_bytes)
    n_bits = state.store.current.n_bits
    if kind == JSON:
        check_no_query(scope)
        request = parse(BatchSearch, body)
        plan = plan_batch(request, n_bits, limits)
    else:
        options = query_options(scope, {*Options.model_fields, "arrays"})
        request = parse(BatchSearch, orjson.dumps(options))
        array = read_npy(body) if kind == NPY else read_arrow(body).vectors
        plan = plan_batch(request, n_bits, limits, array)
    answers = await _answers(state, plan)
    check_number_of_hits(answers, request, limits)
    if request.arrays:
        ids = [answer.hits[0] for answer in answers]
        distances = [answer.hits[1] for answer in answers]
        await respond_json(send, json_bytes({"ids": ids, "distances": distances}))
        return
    fields = request.fields
    found = [a.hits if fields is None else with_fields(a.hits, fields) for a in answers]
    await respond_json(send, json_bytes({"results": found}))


async def _answers(state: State, plan: Plan) -> list[Answer]:
    if plan.group is not None:
        return await state.searches.submit(plan.group, list(plan.queries))
    assert plan.function is not None
    return await state.read(plan.function)


def check_no_query(scope: Scope) -> None:
    """Raise if a request with a JSON body has options in its address, too."""
    if scope["query_string"]:
        raise RefusedError(
            422, "RequestError", "Options of a request in JSON stand in its body, not in the address."
        )


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """Names and values of a query string.

    Raises
    ------
    RefusedError
        422 if there are too many.
    """
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise RefusedError(
            422, "RequestError", f"An address may have {_MOST_PARAMETERS} parameters."
        ) from None


def query_options(scope: Scope, known: Collection[str]) -> dict[str, Any]:
    """Options of a request whose body is not JSON: in the query string, as plain text or as JSON.

    Raises
    ------
    RefusedError
        422 if an option is not known, or is not JSON.
    """
    values: dict[str, Any] = {}
    for name, text in query_pairs(scope["query_string"]):
        if name not in known:
            raise RefusedError(422, "RequestError", f"The option {name[:50]!r} is not known.")
        values[name] = text if name in _PLAIN else _json(name, text)
    return values


def _json(name: str, text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise RefusedError(
            422, "RequestError", f"The option {name!r} must be JSON, got {text[:50]!r}."
        ) from None
