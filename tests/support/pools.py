"""A graph and a table for pools of devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.support.graphs import grid, scipy_dijkstra

GRAPH = grid(20, seed=3)


SOURCES = np.random.default_rng(1).integers(0, 400, 60)


TARGETS = np.arange(0, 400, 7)


WHOLE = np.stack([scipy_dijkstra(GRAPH, source) for source in SOURCES.tolist()])


KINDS = pytest.mark.parametrize("algorithm", ["block_resident", "near_far"])


def all_rows(blocks: Iterator[np.ndarray]) -> np.ndarray:
    return np.concatenate(list(blocks))
