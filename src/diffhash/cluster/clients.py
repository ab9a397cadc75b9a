"""Connections to a cluster, and our way to start one on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import ClusterError
from ..threads import thread_count
from ..validation import check_count
from .dask_import import require_dask

__all__ = ["MALLOC_SETTINGS", "connected", "dashboard_link", "local_cluster"]

#: Environment of workers. Dask's own setting gives memory back to the system early, and NumPy then spends much of the
#: time on page faults. glibc reads these when a process starts.
MALLOC_SETTINGS = {"MALLOC_TRIM_THRESHOLD_": "134217728", "MALLOC_MMAP_THRESHOLD_": "33554432"}
#: Seconds after which a scheduler that does not answer is not there.
_TIMEOUT = 10


def local_cluster(n_workers: int | None = None, *, memory_limit: str | int = "auto") -> Any:
    """Start a cluster of processes on this machine, which listens on the loopback address only.

    Parameters
    ----------
    n_workers : int, optional
        Number of processes, each with one thread. By default the number of CPUs that this process may use.
    memory_limit : str or int
        Memory of each worker, as Dask takes it.

    Returns
    -------
    distributed.LocalCluster
        A context manager. Connect to it with ``cluster.get_client()``.

    Notes
    -----
    Processes are started afresh (spawn), so a script needs ``if __name__ == "__main__":``. Workers have settings of
    malloc with which NumPy is fast, see the page about clusters.

    Examples
    --------
    >>> with local_cluster(2) as cluster, cluster.get_client() as client:  # doctest: +SKIP
    ...     hasher.fit(views, pairs)
    """
    require_dask("local_cluster")
    import dask
    from distributed import LocalCluster

    if n_workers is not None:
        check_count(n_workers, "n_workers", caller="local_cluster")
    settings = {f"distributed.nanny.pre-spawn-environ.{name}": v for name, v in MALLOC_SETTINGS.items()}
    with dask.config.set(settings), _environment(MALLOC_SETTINGS):
        return LocalCluster(
            n_workers=n_workers or thread_count(None, caller="local_cluster"),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=memory_limit,
        )


@contextmanager
def connected(scheduler: str, *, n_workers: int | None = None) -> Iterator[Any]:
    """Context manager: a client of a scheduler, or of a cluster that is started here and stopped at the end.

    Parameters
    ----------
    scheduler : str
        Address such as ``tcp://10.0.0.5:8786``, or ``"local"``.
    n_workers : int, optional
        Number of processes of a local cluster.

    Raises
    ------
    ClusterError
        If the scheduler does not answer, or has no workers.
    """
    require_dask("connected")
    from distributed import Client

    if scheduler == "local":
        with local_cluster(n_workers) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_TIMEOUT)
    except (OSError, ValueError, ImportError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {scheduler!r} ({error!s:.200}). Start one with: dask scheduler, or use "
            '"local".'
        ) from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise ClusterError(
                f"the scheduler at {scheduler!r} has no workers. Start some with: dask worker {scheduler}"
            )
        yield client


def dashboard_link(client: Any) -> str | None:
    """Address of the dashboard of a cluster; None if bokeh, which shows it, is not installed."""
    from importlib.util import find_spec

    return str(client.dashboard_link) if find_spec("bokeh") is not None else None


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old
