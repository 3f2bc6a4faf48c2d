"""A grid of streets."""

from __future__ import annotations

import numpy as np

from vkssp import Graph

STEP = 0.01  # degrees between the junctions of a grid, some 1 100 m


def street_grid(side: int, *, one_way: bool = False) -> Graph:
    """A grid of straight streets at the equator, 1 000 to travel each."""
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel()])
    head = np.concatenate([node[1:].ravel(), node[:, 1:].ravel()])
    lat, lon = np.divmod(np.arange(side * side), side)
    weight = np.full(len(tail), 1000)
    return Graph.from_edges(tail, head, weight, undirected=not one_way, lat=lat * STEP, lon=lon * STEP)
