"""Generators of random graphs whose nodes all have the same number of outgoing, or of incoming, arcs."""

from __future__ import annotations

import numpy as np

from vkssp.generate.checks import Weights, draw_weights, fits, nodes, stream, weight_range, whole
from vkssp.graph import Graph
from vkssp.graph.csr import transposed
from vkssp.graph.large import graph_of


def uniform_random(num_nodes: int, degree: int, seed: int = 1, *, weights: Weights = (1, 100)) -> Graph:
    """Return a directed graph in which `degree` arcs leave every node, each to a node drawn from all nodes.

    Sizes, degrees and weights follow the synthetic graphs of Ortega-Arranz, Torres, Llanos and Gonzalez-Escribano
    (2013). The heads are drawn independently, so that there may be loops and parallel arcs.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    degree : int
        Number of arcs that leave each node.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.

    Raises
    ------
    QueryError
        If an argument is out of range.
    """
    num_nodes = nodes(num_nodes)
    degree = whole("degree", degree, 0, 2**32 - 1)
    num_arcs = num_nodes * degree
    fits(num_nodes, num_arcs, f"degree {degree} for {num_nodes} nodes", "less of either")
    weights = weight_range(weights)
    rng = stream(seed)
    head = rng.integers(0, num_nodes, num_arcs, np.uint32)
    return graph_of(np.arange(num_nodes + 1, dtype=np.int64) * degree, head, draw_weights(rng, weights, num_arcs))


def martin(num_nodes: int, predecessors: int = 7, seed: int = 1, *, weights: Weights = (1, 10)) -> Graph:
    """Return a directed graph in which every node has exactly `predecessors` incoming arcs (Martin et al. 2009).

    The tails are drawn independently, so that there may be loops and parallel arcs.

    Parameters
    ----------
    num_nodes : int
        Number of nodes; Martin, Torres and Gavilanes use up to 11 * 2**20.
    predecessors : int
        Number of arcs that lead to each node.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.

    Raises
    ------
    QueryError
        If an argument is out of range.
    """
    num_nodes = nodes(num_nodes)
    predecessors = whole("predecessors", predecessors, 0, 2**31 - 1)
    num_arcs = num_nodes * predecessors
    # All arcs are sorted at once, with signed 32-bit offsets.
    whole("num_nodes * predecessors", num_arcs, 0, 2**31 - 1)
    fits(num_nodes, num_arcs, f"predecessors {predecessors} for {num_nodes} nodes", "less of either")
    weights = weight_range(weights)
    rng = stream(seed)
    tail = rng.integers(0, num_nodes, num_arcs, np.uint32)
    incoming = (np.arange(num_nodes + 1, dtype=np.int64) * predecessors).astype(np.int32)
    rows = transposed(incoming, tail.view(np.int32), draw_weights(rng, weights, num_arcs), num_nodes)
    return graph_of(rows.indptr, rows.indices.view(np.uint32), rows.data)
