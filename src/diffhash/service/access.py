"""Who may ask: tokens, names of the host, and web pages."""

from __future__ import annotations

import hmac

from .problems import RefusedError
from .settings import ServeSettings, is_loopback

__all__ = ["Access"]

_OPEN = frozenset({"/healthz", "/readyz"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Access:
    """The rules, from the settings.

    Without a token the service trusts everybody who can reach it. A web page in a browser on this machine can reach
    it, too: by a name of its own that leads here (DNS rebinding), or by a form. So the ``Host`` header must be one
    of the names of the service, and requests of other origins are refused.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._token = None if settings.token is None else settings.token.encode()
        self._write_token = None if settings.write_token is None else settings.write_token.encode()
        self._writable = settings.writable
        self._origins = frozenset(origin.encode() for origin in settings.origins)
        names = {name.lower() for name in (settings.host, *settings.host_names)}
        if is_loopback(settings.host):
            names |= _LOOPBACK_NAMES
        #: None: any name. Programs reach a service that listens on all addresses by names that it does not know.
        self._names = None if settings.host in ("0.0.0.0", "::") and not settings.host_names else names

    def check(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        """Raise a problem unless the request is allowed.

        Raises
        ------
        RefusedError
            401 without a right token, 403 if the token, the host name or the origin does not allow this.
        """
        if self._token is None:
            self._check_host(headers.get(b"host", b""))
        origin = headers.get(b"origin")
        if origin is not None and origin not in self._origins and method not in _READS:
            host = headers.get(b"host", b"")
            if origin.partition(b"://")[2] != host:
                raise RefusedError(403, "OriginError", "Requests from pages of other origins are refused.")
        if path in _OPEN or not (path.startswith("/v1/") or path == "/metrics"):
            return
        writes = _is_write(method, path)
        if self._token is not None:
            self._check_token(headers.get(b"authorization", b""), writes)
        if writes and not self._writable:
            raise RefusedError(
                403, "ReadOnlyCollectionError", "This service does not write. Start it with --writable."
            )

    def _check_host(self, host: bytes) -> None:
        if self._names is None:
            return
        text = host.decode("latin-1").lower()
        name = text.partition("]")[0] + "]" if text.startswith("[") else text.partition(":")[0]
        if name not in self._names and name.strip("[]") not in self._names:
            raise RefusedError(
                403,
                "HostError",
                "This service is not known by that name. Name it with --host-name, or use a token.",
            )

    def _check_token(self, header: bytes, writes: bool) -> None:
        scheme, _, given = header.partition(b" ")
        given = given.strip() if scheme.lower() == b"bearer" else b""
        # Both are always compared, so that the time tells nothing.
        reader = hmac.compare_digest(given, self._token or b"")
        writer = self._write_token is not None and hmac.compare_digest(given, self._write_token)
        if not reader and not writer:
            raise RefusedError(401, "TokenError", "A valid token is needed: Authorization: Bearer TOKEN.")
        if writes and not writer:
            raise RefusedError(403, "TokenError", "This token allows reading only.")


def _is_write(method: str, path: str) -> bool:
    """Whether a request writes, if its route exists; the router refuses methods that a path does not have."""
    if path == "/v1/items":
        return method in ("POST", "PUT")
    return (method == "POST" and path == "/v1/delete") or (
        method == "DELETE" and path.startswith("/v1/items/")
    )
