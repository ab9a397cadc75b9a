"""Functions that take all their arguments by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import PositionalArgumentError

__all__ = ["keyword_only"]

P = ParamSpec("P")
R = TypeVar("R")


def keyword_only(call: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function refuse positional arguments, with an error that shows the right call.

    For functions of two arrays of the same type: if they were swapped, no error would occur and
    the answer would be wrong.

    Parameters
    ----------
    call : str
        The right call, such as ``"add(a=..., b=...)"``.

    Examples
    --------
    >>> @keyword_only("subtract(a=..., b=...)")
    ... def subtract(*, a, b):
    ...     return a - b
    >>> subtract(a=3, b=2)
    1
    >>> subtract(3, 2)
    Traceback (most recent call last):
    diffhash.errors.PositionalArgumentError: subtract takes its arguments by name, because ...
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if args:
                raise PositionalArgumentError(
                    f"{function.__name__} takes its arguments by name, because two arrays in the wrong order "
                    f"would give wrong answers. Write {call}."
                )
            return function(*args, **kwargs)

        return checked

    return decorate
