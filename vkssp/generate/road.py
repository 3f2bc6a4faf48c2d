"""Generator of grids of streets that behave like a road network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.generate.checks import fits, fraction, stream, whole
from vkssp.graph import Graph, Uint32s
from vkssp.graph.csr import MOST_ARCS
from vkssp.graph.order import spread_bits

Int64s = npt.NDArray[np.int64]
Uint64s = npt.NDArray[np.uint64]


def _z_code(x: Int64s, y: Int64s) -> Uint64s:
    """Return the positions of points on the Z-order curve (Morton 1966)."""
    return (spread_bits(x.astype(np.uint64)) << np.uint64(1)) | spread_bits(y.astype(np.uint64))


def road_grid(side: int, seed: int = 1, keep: float = 0.62, shape_nodes: int = 0) -> Graph:
    """Return a grid of streets with faster roads on some of its lines, like a road network.

    Streets are two-way. Their weights are travel times of 61 to 240, divided by 1.8 on every 16th line and by 3.5 on
    every 128th. A random part of the ordinary streets is missing, so that the grid has dead ends, detours and islands.
    Nodes are numbered in Z-order.

    Parameters
    ----------
    side : int
        Number of junctions along a side, 2 to 65535; the grid has side * side junctions.
    seed : int
        Seed of the random choices.
    keep : float
        Probability with which each ordinary street exists.
    shape_nodes : int
        Number of nodes of degree two along each street, as in maps where streets bend. They add nodes and arcs, while
        the streets and their total weights stay the same: a street's weight is split among its arcs as evenly as whole
        numbers allow, and no arc has weight 0 unless the street has more arcs than its weight.

    Raises
    ------
    QueryError
        If an argument is out of range.
    """
    side = whole("side", side, 2, 65535)
    keep = fraction("keep", keep)
    parts = whole("shape_nodes", shape_nodes, 0, 65535) + 1
    if parts > 1 and 4 * side * (side - 1) * parts > MOST_ARCS:
        most = MOST_ARCS // (4 * side * (side - 1)) - 1
        raise QueryError(f"shape_nodes is {shape_nodes}; give 0 to {max(most, 0)} for a side of {side}")
    fits(side * side, int(keep * 4 * side * (side - 1) * parts), f"side {side}", "a smaller side, or fewer shape nodes")
    rng = stream(seed)
    speed = np.ones(side)
    speed[::16] = 1.8
    speed[::128] = 3.5
    # For each of the two directions of the grid: coordinates of the first end of each street, and its weight.
    streets: list[tuple[Int64s, Int64s, Uint32s]] = []
    for shape, fast in (((side - 1, side), speed[None, :]), ((side, side - 1), speed[:, None])):
        there = (rng.random(shape, dtype=np.float32) < keep) | (fast > 1)
        weight = (rng.integers(60, 240, shape) / fast).astype(np.uint32) + 1
        x, y = np.nonzero(there)
        streets.append((x, y, weight[there]))
    line = np.arange(side, dtype=np.int64) * parts
    codes = [_z_code(line[:, None], line[None, :]).reshape(-1)]
    # Nodes of each street from its first end over its shape nodes to its other end, shape (streets, parts + 1).
    along = np.arange(parts + 1, dtype=np.int64)
    (x, y, down_weight), (u, v, across_weight) = streets
    down = _z_code(x[:, None] * parts + along, y[:, None] * parts)
    across = _z_code(u[:, None] * parts, v[:, None] * parts + along)
    codes += [chain[:, 1:-1].reshape(-1) for chain in (down, across)]
    node = np.sort(np.concatenate(codes))
    tails, heads, weights = [], [], []
    for chain, weight in ((down, down_weight), (across, across_weight)):
        rank = chain if int(node[-1]) == len(node) - 1 else np.searchsorted(node, chain)
        tails.append(rank[:, :-1].astype(np.uint32).reshape(-1))
        heads.append(rank[:, 1:].astype(np.uint32).reshape(-1))
        split = weight[:, None].astype(np.int64) * along // parts
        weights.append(np.diff(split, axis=1).astype(np.uint32).reshape(-1))
    return Graph.from_edges(
        np.concatenate(tails), np.concatenate(heads), np.concatenate(weights), num_nodes=len(node), undirected=True
    )
