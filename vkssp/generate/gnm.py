"""The random graph of a given number of edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.checks import flag
from vkssp.errors import QueryError
from vkssp.generate.checks import Weights, draw_weights, fits, nodes, stream, weight_range, whole
from vkssp.graph import Graph
from vkssp.graph.large import graph_from_arcs

Uint64s = npt.NDArray[np.uint64]


def _distinct(rng: np.random.Generator, count: int, total: int) -> Uint64s:
    """Return `count` different numbers below `total` in ascending order, every such set equally probable."""
    if count > total - count:
        # Most of what is drawn would be there already, so those left out are drawn instead.
        there = np.ones(total, np.bool_)
        there[_distinct(rng, total - count, total)] = False
        return np.flatnonzero(there).astype(np.uint64)
    found = np.zeros(0, np.uint64)
    while len(found) < count:
        found = np.concatenate([found, rng.integers(0, total, count - len(found), np.uint64)])
        found.sort()
        found = found[np.concatenate([[True], found[1:] != found[:-1]])]
    return found


def gnm(
    num_nodes: int, num_edges: int, seed: int = 1, *, weights: Weights = (1, 100), undirected: bool = True
) -> Graph:
    """Return a graph drawn from all those with the given numbers of nodes and edges (G(n, m); Erdos and Renyi 1959).

    The edges are all different, and none is a loop.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    num_edges : int
        Number of edges.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; all between are equally probable.
    undirected : bool
        Whether each edge is an arc both ways, of one weight. Otherwise both directions can be there independently.

    Raises
    ------
    QueryError
        If an argument is out of range, or there are more edges than pairs of nodes.
    """
    num_nodes, undirected = nodes(num_nodes), flag(undirected, "undirected")
    pairs = num_nodes * (num_nodes - 1) // (2 if undirected else 1)
    num_edges = whole("num_edges", num_edges, 0, 2**32 - 1)
    if num_edges > pairs:
        raise QueryError(f"num_edges is {num_edges}; give 0 to {pairs}, the number of pairs of {num_nodes} nodes")
    fits(num_nodes, num_edges * (2 if undirected else 1), f"num_edges {num_edges}", "fewer")
    weights = weight_range(weights)
    rng = stream(seed)
    code = _distinct(rng, num_edges, pairs)
    if undirected:
        # The triangle below the diagonal, folded into a rectangle: its row k and its row num_nodes - k fill a line.
        row, column = np.divmod(code, np.uint64(num_nodes))
        row += np.uint64(1)
        low = column < row
        tail = np.where(low, row, np.uint64(num_nodes) - row)
        head = np.where(low, column, column - row)
    else:
        tail, head = np.divmod(code, np.uint64(max(num_nodes - 1, 1)))
        head += head >= tail  # steps over the diagonal
    tails, heads = tail.astype(np.uint32), head.astype(np.uint32)
    return graph_from_arcs(num_nodes, tails, heads, draw_weights(rng, weights, num_edges), both_ways=undirected)
