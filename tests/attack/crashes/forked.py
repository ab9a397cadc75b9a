"""Functions in forked processes. The library runs only there: the worker has no threads and can fork again."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["ForkedError", "forked"]

#: Seconds after which a forked process ends by itself.
_PATIENCE = 50


class ForkedError(Exception):
    """A function raised an error in its forked process."""


def forked(function: Callable[[Callable[[str], None]], Any]) -> tuple[list[str], Any, bool]:
    """Run a function in a forked process.

    Parameters
    ----------
    function : function of one argument
        It may call its argument with texts, which arrive even if the process is killed afterwards.

    Returns
    -------
    said : list of str
    result : what the function returned, through JSON; None if it was killed
    killed : bool

    Raises
    ------
    ForkedError
        If the function raised an error.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(_PATIENCE)

        def send(kind: str, value: Any) -> None:
            data = json.dumps([kind, value]).encode() + b"\n"
            while data:
                data = data[os.write(writing, data) :]

        try:
            send("result", function(lambda text: send("said", text)))
        except BaseException:
            send("error", traceback.format_exc())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        messages = [json.loads(line) for line in pipe if line.endswith("\n")]
    _, status = os.waitpid(child, 0)
    for kind, value in messages:
        if kind == "error":
            raise ForkedError(value)
    killed = os.WIFSIGNALED(status)
    if killed and os.WTERMSIG(status) != signal.SIGKILL:
        raise ForkedError(f"the process ended with signal {os.WTERMSIG(status)}")
    said = [value for kind, value in messages if kind == "said"]
    results = [value for kind, value in messages if kind == "result"]
    return said, results[0] if results else None, killed
