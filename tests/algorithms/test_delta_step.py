"""Delta-stepping: the ranges of ids that it sweeps."""

from __future__ import annotations

import numpy as np

from tests.support.graphs import check_counters, grid
from vkssp import Graph, Solver
from vkssp.gpu.device import Device


def counted(solver: Solver, source: int = 0) -> dict[str, int]:
    """Search from a node to all, and return what was counted."""
    solver.distances(source)
    assert solver.last is not None
    return solver.last.counters


def test_a_z_ordered_numbering_keeps_the_ranges_of_delta_step_short(device: Device) -> None:
    ordered = grid(60)
    name = np.random.default_rng(1).permutation(ordered.num_nodes)
    lat, lon = np.empty((2, ordered.num_nodes))
    assert ordered.lat is not None and ordered.lon is not None
    lat[name], lon[name] = ordered.lat, ordered.lon
    shuffled = Graph.from_edges(name[ordered.tail], name[ordered.head], ordered.weight, lat=lat, lon=lon)
    mean = {}
    for order in ("z", "natural"):
        with Solver(shuffled, "delta_step", device, order=order, counters="trace", delta=100) as solver:
            counted(solver, int(name[0]))
            rows = check_counters(solver)
        mean[order] = float((rows["last_node"].astype(np.int64) - rows["first_node"] + 1).mean())
    assert mean["z"] < 0.75 * mean["natural"]
