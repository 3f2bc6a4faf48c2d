"""Synthetic graphs: the same seed gives the same graph, on every machine."""

from __future__ import annotations

import numpy as np

from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.order import spread_bits


def road_grid(side: int, seed: int = 1, keep: float = 0.62) -> Graph:
    """Return a grid of streets with faster roads on some of its lines, like a road network.

    Streets are two-way; their weights are travel times of 61 to 240, divided by 1.8 on every 16th line and by 3.5 on
    every 128th. Of the ordinary streets a random part is missing, so that the grid has dead ends, detours and islands.
    Nodes are numbered in Z-order.

    Parameters
    ----------
    side : int
        Nodes along a side, 2 to 65535; the graph has side * side nodes.
    seed : int
        Seed of the random choices.
    keep : float
        Part of the ordinary streets that is there.

    Raises
    ------
    QueryError
        If `side` is out of range.
    """
    if not 2 <= side <= 65535:
        raise QueryError(f"side is {side}; give 2 to 65535")
    rng = np.random.default_rng(seed)
    speed = np.ones(side)
    speed[::16] = 1.8
    speed[::128] = 3.5
    place = spread_bits(np.arange(side, dtype=np.uint64))
    node = ((place[:, None] << np.uint64(1)) | place[None, :]).astype(np.uint32)
    if side & (side - 1):
        # Z-order leaves gaps unless the side is a power of two.
        rank = np.empty(side * side, np.uint32)
        rank[np.argsort(node, axis=None)] = np.arange(side * side, dtype=np.uint32)
        node = rank.reshape(side, side)
    tails, heads, weights = [], [], []
    for tail, head, fast in ((node[:-1], node[1:], speed[None, :]), (node[:, :-1], node[:, 1:], speed[:, None])):
        there = (rng.random(tail.shape, dtype=np.float32) < keep) | (fast > 1)
        weight = (rng.integers(60, 240, tail.shape) / fast).astype(np.uint32) + 1
        tails.append(tail[there])
        heads.append(head[there])
        weights.append(weight[there])
    return Graph.from_edges(
        np.concatenate(tails), np.concatenate(heads), np.concatenate(weights), num_nodes=side * side, undirected=True
    )
