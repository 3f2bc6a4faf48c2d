"""Generator of scale-free graphs that grow node by node, by preferential attachment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.generate.checks import Weights, draw_weights, fits, nodes, stream, weight_range, whole
from vkssp.graph import Graph, Uint32s
from vkssp.graph.large import graph_from_arcs

#: Largest number of nodes whose edges are looked up together; the graph does not depend on it.
BATCH = 1 << 14


def _grow(rng: np.random.Generator, num_nodes: int, attached: int) -> Uint32s:
    """Return the nodes to which each node from `attached + 1` on is attached, shape (.., attached)."""
    rows = num_nodes - attached
    # Each row belongs to one node and holds the far and the near ends of the node's edges. A node occurs once for each
    # of its edges, so a random place in the rows so far holds it with a probability proportional to its degree
    # (Batagelj and Brandes 2005). Row 0 is a star of the first nodes.
    ends = np.empty((rows, 2 * attached), np.uint32)
    ends[0, :attached] = 0
    ends[0, attached:] = np.arange(1, attached + 1)
    ends[1:, attached:] = np.arange(attached + 1, num_nodes, dtype=np.uint32)[:, None]
    flat = ends.reshape(-1)
    so_far = np.arange(1, rows, dtype=np.int64) * (2 * attached)
    place = rng.integers(0, so_far[:, None], (rows - 1, attached), np.uint32)
    newest = place.max(axis=1) // np.uint32(2 * attached)  # the last row that a row depends on
    row = 1
    while row < rows:
        # Rows that depend only on rows before `row` can be looked up together.
        waiting = newest[row - 1 : row - 1 + BATCH] >= row
        stop = row + (int(np.argmax(waiting)) if waiting.any() else len(waiting))
        found = flat[place[row - 1 : stop - 1]]
        ordered = np.sort(found, axis=1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        ends[row:stop, :attached] = found
        if repeated.any():
            # The rows before the first row with a repeated node are final. In this row, repetitions are drawn again.
            bad = row + int(np.argmax(repeated))
            ends[bad, :attached] = _without_repetition(rng, found[bad - row], flat, bad * 2 * attached)
            stop = bad + 1
        row = stop
    return ends[1:, :attached]


def _without_repetition(rng: np.random.Generator, drawn: Uint32s, ends: Uint32s, limit: int) -> npt.NDArray[np.int64]:
    """Return the drawn nodes, with repetitions replaced by further draws from the ends so far."""
    chosen = dict.fromkeys(drawn.tolist())
    while len(chosen) < len(drawn):
        chosen |= dict.fromkeys(ends[rng.integers(0, limit, len(drawn))].tolist())
    return np.fromiter(chosen, np.int64, len(chosen))[: len(drawn)]


def barabasi_albert(num_nodes: int, attached: int, seed: int = 1, *, weights: Weights = (1, 100)) -> Graph:
    """Return an undirected graph grown by preferential attachment (Barabasi and Albert 1999).

    The first ``attached + 1`` nodes form a star. Each further node is attached to `attached` different earlier nodes,
    drawn with probabilities proportional to their degrees. A repeated node is drawn again, so that there are neither
    loops nor parallel edges. There are ``attached * (num_nodes - attached)`` edges; each becomes two arcs of the same
    weight, one in each direction.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    attached : int
        Number of edges that each new node adds, 1 to num_nodes - 1.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.

    Raises
    ------
    QueryError
        If an argument is out of range.
    """
    num_nodes = nodes(num_nodes, 2)
    attached = whole("attached", attached, 1, num_nodes - 1)
    num_edges = attached * (num_nodes - attached)
    fits(num_nodes, 2 * num_edges, f"attached {attached} for {num_nodes} nodes", "less of either")
    weights = weight_range(weights)
    rng = stream(seed)
    grown = _grow(rng, num_nodes, attached)
    star = np.arange(1, attached + 1, dtype=np.uint32)
    tail = np.concatenate([star, np.repeat(np.arange(attached + 1, num_nodes, dtype=np.uint32), attached)])
    head = np.concatenate([np.zeros(attached, np.uint32), grown.reshape(-1)])
    return graph_from_arcs(num_nodes, tail, head, draw_weights(rng, weights, num_edges), both_ways=True)
