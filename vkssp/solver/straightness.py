"""Straightness of the paths from nodes: straight distances over those along shortest paths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.geo import EARTH_RADIUS
from vkssp.memory import require
from vkssp.prepared.aggregates import COUNTED, STRAIGHT, Straightness
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import nodes_of
from vkssp.solver.accessibility import aggregated_rows
from vkssp.solver.tables import RowSource

# Arcs that are looked at together.
_ARCS = 1 << 20

Floats = npt.NDArray[np.float64]


def straightness(source: RowSource, sources: npt.ArrayLike | None, limit: float | None) -> Floats:
    """Return the straightness of nodes; see `vkssp.Solver.straightness`."""
    graph = source.graph
    most = graph.units.limit(limit)
    points = _points(graph)
    nodes = np.arange(graph.num_nodes, dtype=np.uint32) if sources is None else nodes_of(graph, sources, "sources")
    require(32 * len(nodes), f"the straightness of {len(nodes):,} nodes", "ask for fewer")
    exponent = 62 - max(1, graph.num_nodes).bit_length() - int(np.frexp(_most(graph, points))[1])
    scale = float(np.ldexp(1.0, exponent))
    aggregate = Straightness(points, scale, min(most, UNREACHABLE - 1))
    found = aggregated_rows(source, Groups.of_nodes(nodes), (aggregate,), most).T
    none = np.full(len(nodes), np.nan)
    mean: Floats = np.divide(found[STRAIGHT] / scale, found[COUNTED], out=none, where=found[COUNTED] > 0)
    return mean if graph.scale is None else mean / graph.scale


def _most(graph: Graph, points: Floats) -> float:
    """Return a bound of straight distances over those along paths.

    No path is faster than its fastest arc, and no two nodes are farther apart than the diagonal of the box around all.
    """
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    fastest = 0.0
    for first in range(0, graph.num_arcs, _ARCS):
        arcs = slice(first, first + _ARCS)
        straight = np.linalg.norm(points[graph.tail[arcs]] - points[graph.head[arcs]], axis=1)
        if straight[graph.weight[arcs] == 0].any():
            return diagonal
        fastest = max(fastest, float((straight / np.maximum(1, graph.weight[arcs])).max(initial=0.0)))
    return min(diagonal, (1 + 1e-9) * fastest)


def _points(graph: Graph) -> Floats:
    """Return the places of nodes in space, in metres, shape (num_nodes, 3)."""
    if graph.lat is None or graph.lon is None:
        raise QueryError("the graph has no coordinates, which straight distances need; give it lat and lon")
    lat, lon = np.radians(graph.lat), np.radians(graph.lon)
    columns = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)
    return np.ascontiguousarray(EARTH_RADIUS * np.stack(columns, axis=1))
