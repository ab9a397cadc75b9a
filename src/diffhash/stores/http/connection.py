"""Requests to a service: tokens, errors as errors of diffhash, and retries where they are safe.

Requests that read are repeated if the connection fails or the service is busy. A request that writes is
repeated only if the service has certainly not begun it: no connection, or refused because too much waits.
"""

from __future__ import annotations

import ipaddress
import json
import time
from typing import Any

import httpx

from ... import errors
from ...errors import (
    DiffhashError,
    InputError,
    StoreAccessError,
    StoreServerError,
    StoreUnavailableError,
)

__all__ = ["Connection"]

#: Seconds before each repetition.
_PAUSES = (0.1, 0.4, 1.5)
_LONGEST_PAUSE = 5.0
#: Shorter than the service keeps idle connections, so that none is closed while a request is sent.
_IDLE_SECONDS = 20.0
_SECONDS = 60.0
_UNKNOWN = "Whether the change was made is not known: look, and repeat the call if it was not."
#: Errors that cannot be made from a message alone.
_SPECIAL = frozenset({"UnreadablePicturesError"})


class Connection:
    """A service.

    Parameters
    ----------
    url : str
        Without user and options.
    shown : str
        The address for people.
    token : str or None
    timeout : float or None
        Seconds to wait for an answer.
    """

    def __init__(self, url: str, shown: str, *, token: str | None, timeout: float | None) -> None:
        self.shown = shown
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(
            base_url=url,
            headers={"User-Agent": "diffhash", **headers},
            timeout=_SECONDS if timeout is None else timeout,
            limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
            follow_redirects=False,
            # A proxy of the environment is not for this machine.
            trust_env=not _is_local(url),
        )

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def read(self, method: str, path: str, *, caller: str, **request: Any) -> Any:
        """JSON of an answer to a request that changes nothing."""
        return self._json(self._send(method, path, caller, writes=False, **request), caller)

    def read_bytes(self, path: str, *, caller: str) -> bytes:
        """The content of a file of the service."""
        return self._send("GET", path, caller, writes=False).content

    def write(self, method: str, path: str, body: str, *, caller: str) -> Any:
        """JSON of an answer to a request that writes."""
        content, headers = body.encode(), {"Content-Type": "application/json"}
        return self._json(
            self._send(method, path, caller, writes=True, content=content, headers=headers), caller
        )

    def _json(self, answer: httpx.Response, caller: str) -> Any:
        try:
            return json.loads(answer.content)
        except ValueError as error:
            raise StoreServerError(
                f"{caller}: {self.shown} answers something else than JSON. Is it a service of diffhash?"
            ) from error

    def _send(self, method: str, path: str, caller: str, *, writes: bool, **request: Any) -> httpx.Response:
        for pause in (*_PAUSES, None):
            try:
                answer = self._client.request(method, path, **request)
            except httpx.TransportError as error:
                # Only then is it sure that nothing of the request has arrived.
                unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
                if pause is None or (writes and not unsent):
                    raise self._lost(error, caller, writes and not unsent) from error
                time.sleep(pause)
                continue
            except (httpx.InvalidURL, RuntimeError) as error:
                raise StoreUnavailableError(f"{caller}: {self.shown} cannot be asked ({error}).") from error
            if answer.status_code < 400:
                return answer
            kind, message = _problem(answer)
            busy = answer.status_code == 429 or (
                answer.status_code == 503 and (not writes or kind == "BusyError")
            )
            if writes and answer.status_code == 503 and kind == "LateError":
                # What the service has begun, it finishes.
                raise StoreUnavailableError(f"{caller}: {self.shown} took too long. {_UNKNOWN}")
            if not busy or pause is None:
                raise self._error(answer.status_code, kind, message, caller)
            time.sleep(min(max(pause, _retry_after(answer)), _LONGEST_PAUSE))
        raise AssertionError  # the last round returns or raises

    def _lost(self, error: Exception, caller: str, unknown: bool) -> DiffhashError:
        what = f"{caller}: {self.shown} does not answer ({type(error).__name__}: {error})."
        return StoreUnavailableError(f"{what} {_UNKNOWN}" if unknown else what)

    def _error(self, status: int, kind: str, message: str, caller: str) -> DiffhashError:
        """The error that the store itself would have raised."""
        if kind in ("TokenError", "HostError", "OriginError"):
            return StoreAccessError(f"{caller}: {self.shown} refuses this. {message}")
        if status in (429, 503):
            return StoreUnavailableError(f"{caller}: {self.shown} is too busy or not ready. {message}")
        known = getattr(errors, kind, None)
        if isinstance(known, type) and issubclass(known, DiffhashError) and kind not in _SPECIAL:
            return known(message)
        if status in (400, 413, 415, 422):
            return InputError(f"{caller}: {self.shown} refuses this. {message}")
        return StoreServerError(f"{caller}: {self.shown} answers with status {status}. {message}")


def _problem(answer: httpx.Response) -> tuple[str, str]:
    """Type and message of an error; empty if the answer is not one of a service of diffhash."""
    try:
        found = json.loads(answer.content)["error"]
        return str(found["type"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        return "", ""


def _retry_after(answer: httpx.Response) -> float:
    try:
        return float(answer.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0


def _is_local(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
