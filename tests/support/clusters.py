"""Clusters of dask in this process, which start in a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def cluster_here(workers: int = 1, threads: int = 2) -> Iterator[Any]:
    """Yield a client of a cluster whose workers are threads of this process."""
    from distributed import Client

    given = {"n_workers": workers, "threads_per_worker": threads, "dashboard_address": "127.0.0.1:0"}
    with Client(processes=False, set_as_default=False, **given) as client:
        yield client
