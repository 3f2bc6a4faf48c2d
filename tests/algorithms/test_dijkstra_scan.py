"""Dijkstra's algorithm on a device: the order in which it settles nodes."""

from __future__ import annotations

import numpy as np

from tests.support.graphs import check_counters, grid
from vkssp import Solver
from vkssp.gpu.device import Device


def test_dijkstra_on_the_device_settles_nodes_in_the_order_of_their_distances(device: Device) -> None:
    graph = grid(8, seed=2)
    with Solver(graph, "dijkstra_scan", device, order="natural", counters="trace") as solver:
        found = solver.distances(9)
        rows = check_counters(solver)
    order = np.lexsort((np.arange(64), found))
    assert rows["first_node"].tolist() == rows["last_node"].tolist() == order.tolist()
    assert rows["low"].tolist() == found[order].tolist()
    assert (rows["worked"] == 1).all() and (rows["visited"] == 64).all()
    assert rows["relaxed"].tolist() == np.diff(graph.first_out.astype(np.int64))[order].tolist()
