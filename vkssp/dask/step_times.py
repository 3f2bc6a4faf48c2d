"""Times of the steps of tasks, which the dashboard of dask shows, and its scheduler adds up.

They are fine performance metrics of dask (https://distributed.dask.org/en/stable/fine-performance-metrics.html).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Steps of a task: waiting for a free device, making rows on it, and writing them until they are on the disk.
WAIT, SEARCH, WRITE = "vkssp-wait", "vkssp-search", "vkssp-write"
#: Steps of the threads that write its chunks: compressing and storing them, and waiting for the disk.
OF_CHUNKS = STORE, SYNCHRONIZE = "vkssp-store", "vkssp-synchronize"


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Count the time of the block as that of a step, if this thread works on a task of a cluster."""
    metrics = sys.modules.get("distributed.metrics")
    if metrics is None:
        yield
        return
    with metrics.context_meter.meter(step):
        yield


def count(step: str, seconds: float) -> None:
    """Count seconds of a step that other threads have taken for the task of this thread."""
    metrics = sys.modules.get("distributed.metrics")
    if metrics is not None:
        metrics.context_meter.digest_metric(step, seconds, "thread-seconds")
