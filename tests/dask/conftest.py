"""What tests of dask share: one cluster in this process, whose workers use the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import cluster_here
from vkssp import Graph, read_graph
from vkssp.dask.worker_solvers import SOLVERS


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A cluster of one worker with two threads, in this process."""
    pytest.importorskip("distributed")
    with cluster_here() as opened:
        yield opened


@pytest.fixture(scope="session")
def andorra(andorra_path: Path) -> Graph:
    """The graph of Andorra."""
    return read_graph(andorra_path)


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    SOLVERS.configure("cpu")
    yield
    SOLVERS.close()
    SOLVERS.configure()
