"""Proof that distances from a node are shortest, without another search: the conditions of optimality.

If the source has distance 0, no arc leads from a node to a nearer distance than its head has, and each other node that
is reached has an arc into it that leads exactly to its distance, then all distances are those of shortest paths,
provided that weights are positive. All cores look at each arc once.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.graph import UNREACHABLE, Graph
from vkssp.jit import jit

# Parts of the nodes for each core, as nodes have different numbers of arcs.
_PARTS_EACH = 16


@jit
def _check_arcs(
    first_out: npt.NDArray[np.uint32],
    head: npt.NDArray[np.uint32],
    weight: npt.NDArray[np.uint32],
    distance: npt.NDArray[np.uint32],
    begin: int,
    end: int,
    is_tight: npt.NDArray[np.bool_],
) -> int:
    """Mark the nodes that an arc leads to exactly, and return the number of arcs that lead to less."""
    wrong = 0
    for tail in range(begin, end):
        from_tail = np.int64(distance[tail])
        if from_tail == UNREACHABLE:
            continue
        for arc in range(first_out[tail], first_out[tail + 1]):
            there = head[arc]
            through = from_tail + np.int64(weight[arc])
            if through < distance[there]:
                wrong += 1
            elif through == distance[there]:
                is_tight[there] = True  # of several threads, all write the same
    return wrong


def why_not_shortest(graph: Graph, source: int, distance: npt.NDArray[np.uint32]) -> str:
    """Return why distances from a node are not those of shortest paths, or an empty text if they are.

    Parameters
    ----------
    graph : Graph
        The graph, without weights of zero.
    source : int
        The node.
    distance : numpy.ndarray
        Distances, shape (num_nodes,), uint32.
    """
    if distance[source] != 0:
        return f"the source has distance {distance[source]}"
    is_tight = np.zeros(graph.num_nodes, np.bool_)
    wanted = np.linspace(0, graph.num_arcs, _PARTS_EACH * num_cores() + 1)[1:-1]
    bounds = [0, *np.searchsorted(graph.first_out, wanted).tolist(), graph.num_nodes]
    rows = graph.first_out, graph.head, graph.weight
    parts = [partial(_check_arcs, *rows, distance, low, high, is_tight) for low, high in pairwise(bounds)]
    if wrong := sum(run_all(parts)):
        return f"{wrong} arcs lead to nodes with less than the distances there"
    loose = (distance != UNREACHABLE) & ~is_tight
    loose[source] = False
    return f"no arc leads to {np.count_nonzero(loose)} nodes with exactly their distances" if loose.any() else ""
