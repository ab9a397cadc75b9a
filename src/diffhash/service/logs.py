"""Structured logs: one JSON object a line. They contain no contents of requests, no ids, and no tokens."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

__all__ = ["LOG", "log_event", "set_up_logs"]

LOG = logging.getLogger("diffhash.service")


class _JsonLines(logging.Formatter):
    """A record as a line of JSON. Of an exception it has the type and the places, but not the message."""

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", None) or record.getMessage().splitlines()[0],
        }
        facts |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0] is not None:
            facts["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            facts["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
        return json.dumps(facts)


def log_event(level: int, event: str, *, error: BaseException | None = None, **facts: Any) -> None:
    """Log an event with plain facts."""
    if LOG.isEnabledFor(level):
        info = None if error is None else (type(error), error, error.__traceback__)
        LOG.log(level, event, extra={"event": event, "facts": facts}, exc_info=info)


def set_up_logs() -> None:
    """Write what the service and its HTTP server log to stderr, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    for name, level in (("diffhash.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
