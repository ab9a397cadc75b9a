"""Dask, or an error with the install line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ..errors import ClusterError, DiffhashError, MissingExtraError

__all__ = ["cluster_errors", "require_dask"]


def require_dask(caller: str) -> None:
    """Raise MissingExtraError unless Dask and its scheduler can be imported."""
    if any(find_spec(name) is None for name in ("dask", "distributed")):
        raise MissingExtraError(f"{caller}: clusters need Dask. Run: pip install 'diffhash[cluster]'")


@contextmanager
def cluster_errors(caller: str) -> Iterator[None]:
    """Turn errors of the cluster itself into a ClusterError; errors about the input stay as they are."""
    try:
        yield
    except DiffhashError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                f"{caller}: several workers died at the same task, most likely because their memory was full. Use "
                "smaller blocks (chunks or shards with fewer rows), or give the workers more memory."
            ) from error
        raise ClusterError(
            f"{caller}: the cluster failed ({type(error).__name__}: {error!s:.300})."
        ) from error
