"""How many threads linear algebra may use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads"]


def blas_threads(limit: int | None) -> AbstractContextManager[Any]:
    """While it lasts, BLAS uses at most ``limit`` threads; None for as many as it likes.

    Examples
    --------
    >>> with blas_threads(1):
    ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=limit, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes a millisecond; NumPy's and SciPy's are there once they are imported.
    return ThreadpoolController()
