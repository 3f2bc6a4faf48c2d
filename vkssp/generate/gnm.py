"""Generator of random graphs with a given number of edges."""

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
    """Return `count` different numbers below `total` in ascending order; all such sets are equally probable."""
    if count > total - count:
        # Most draws would repeat earlier ones, so the numbers that are left out are drawn instead.
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
    """Return a random graph with the given numbers of nodes and edges (G(n, m); Erdos and Renyi 1959).

    All such graphs without loops and parallel edges are equally probable.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    num_edges : int
        Number of edges.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.
    undirected : bool
        Whether each edge becomes two arcs of the same weight, one in each direction. Otherwise each edge is one arc,
        and both directions may occur.

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
        # The triangle below the diagonal is folded into a rectangle: its rows k and num_nodes - k fill one line.
        row, column = np.divmod(code, np.uint64(num_nodes))
        row += np.uint64(1)
        low = column < row
        tail = np.where(low, row, np.uint64(num_nodes) - row)
        head = np.where(low, column, column - row)
    else:
        tail, head = np.divmod(code, np.uint64(max(num_nodes - 1, 1)))
        head += head >= tail  # skips the diagonal
    tails, heads = tail.astype(np.uint32), head.astype(np.uint32)
    return graph_from_arcs(num_nodes, tails, heads, draw_weights(rng, weights, num_edges), both_ways=undirected)
