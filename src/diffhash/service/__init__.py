"""An HTTP service in front of a store: ``diffhash serve``.

FastAPI describes the routes. The search route does not pass through it: it is plain ASGI, and concurrent
queries share one pass over the codes (:mod:`.batching`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .settings import Limits, ServeSettings

__all__ = ["Limits", "ServeSettings", "serve"]


def serve(
    address: str,
    settings: ServeSettings | None = None,
    *,
    featurizers: Mapping[str, Any] | None = None,
) -> None:
    """Serve a store over HTTP until the process gets SIGINT or SIGTERM.

    Parameters
    ----------
    address : str
        A collection (.dh), or the address of another store.
    settings : ServeSettings, optional
        By default it listens on 127.0.0.1:8080 and does not write.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with: objects, or names
        (:func:`~diffhash.featurizers.load_featurizer`).

    Raises
    ------
    MissingExtraError
        If the packages of the extra ``serve`` are not installed.
    ParameterError
        If the settings would let strangers in: another address than loopback, and no token.
    """
    from .server import run

    run(address, settings or ServeSettings(), featurizers)
