"""Plugin of dask's workers: it chooses their devices, and closes their solvers when they end."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from distributed.diagnostics.plugin import WorkerPlugin

from vkssp.dask.worker_solvers import SOLVERS

#: Name by which clusters know the plugin.
NAME = "vkssp-solvers"
_change = threading.Lock()


class SolversPlugin(WorkerPlugin):
    """Closes the solvers of a process when the last of its workers ends.

    Attributes
    ----------
    workers : set of str
        Addresses of the workers of this process.
    """

    idempotent = True
    workers: ClassVar[set[str]] = set()

    def __init__(self, cores: int | None = None) -> None:
        self._cores = cores

    def setup(self, worker: Any) -> None:
        """Let a worker use its share of the cores."""
        with _change:
            self.workers.add(worker.address)
        if self._cores is not None:
            SOLVERS.configure(cores=self._cores)

    def teardown(self, worker: Any) -> None:
        """Close the solvers if no worker of this process is left."""
        with _change:
            self.workers.discard(worker.address)
            is_last = not self.workers
        if is_last:
            SOLVERS.close()
