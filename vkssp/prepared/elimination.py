"""Elimination of nodes with few neighbours, in rounds: what a solver may do in a moment instead of a whole hierarchy.

In each round, nodes that are no neighbours of each other leave the graph, those with the fewest neighbours first. Arcs
between their neighbours take the place of the paths through them, unless other paths are as short (R. Geisberger, P.
Sanders, D. Schultes, D. Delling, "Contraction Hierarchies", 2008). The distance of an eliminated node is the least sum
of the distance of a neighbour that was left and the weight of the arc from there. So once the distances of the nodes
that remain are known, those of one round after the other follow, from the last to the first.

On a road network a few rounds leave a fifth of the nodes, and a shortest path has a third of the arcs. In later rounds
fewer nodes leave, with more arcs in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.cores import run_all
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import rows_of, tails_of
from vkssp.jit import kernels
from vkssp.memory import free_bytes
from vkssp.prepared.block_order import block_order

#: Most neighbours of a node that is eliminated, most neighbours of nodes that remain, and number of rounds.
MOST_DEGREE, PLACES, MOST_ROUNDS = 8, 32, 10
#: Most nodes of a core from which reductions by "auto" eliminate: it takes a second for each million.
MOST_NODES = 1 << 20
# Bytes of a node meanwhile: state and degree; a neighbour and two weights for each place; its id among those that are
# left or gone, in the order of places and in a copy, and its place; and two offsets of rows.
_NODE_BYTES = 1 + 4 + 12 * PLACES + 4 * 4 + 2 * 8
# Bytes of an arc while the arcs of the core, nearly as many at most, are sorted by their tails: tail, head and weight,
# and whether it is between hubs (13); in the core, head and weight in rows and twice more, and the tail as two types
# (36), and what sorts it (13); and as an arc from a hub, for which there is room at both ends (12 each). Of eliminated
# nodes the arcs from them, to them and in `arcs_in` take less (24).
_ARC_BYTES = 13 + 36 + 13 + 2 * 12
# Most of the free memory that all may take.
_MOST_MEMORY = 0.7
#: Ids of a range that a thread eliminates from. Ranges do not depend on the number of threads, so that the result does
#: not, and begin elsewhere in every other round.
RANGE = 1 << 14
# If more of the arcs leave ranges, neighbours have no close ids: such graphs are no networks on a map, and arcs would
# soon be many.
_MOST_LEAVING = 0.1
# Rounds end when a round eliminates less than this fraction of the nodes that remain.
_LEAST_GAIN = 0.04

_Int32s = npt.NDArray[np.int32]
_Int64s = npt.NDArray[np.int64]


class Level(NamedTuple):
    """Eliminated nodes whose distances follow together.

    Attributes
    ----------
    first, size : int
        First place of the nodes, and their number.
    width : int
        Most arcs to one of them.
    first_arc : int
        Where their arcs begin in `Elimination.arcs_in`.
    """

    first: int
    size: int
    width: int
    first_arc: int


class Rows(NamedTuple):
    """Arcs between the eliminated nodes and the neighbours that they had when they were eliminated.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of the first arc of each eliminated node, by place, shape (number of eliminated nodes + 1,), int64.
    arcs : numpy.ndarray
        Place of the neighbour and weight of each arc, shape (k, 2), uint32.
    """

    first: _Int64s
    arcs: npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Elimination:
    """Core that remains, and the arcs that give the distances of eliminated nodes.

    Attributes
    ----------
    core : Graph
        The nodes that remain.
    place : numpy.ndarray
        Id of each node in the core, or number of core nodes and above for eliminated nodes, which lie in the order of
        levels; shape (num_nodes,), uint32.
    levels : list of Level
        From the nodes that were eliminated last to those that were first. All arcs into the nodes of a level come from
        the core or from levels before.
    arcs_in : numpy.ndarray
        Place of the tail, and weight, of the arcs into eliminated nodes: for each level first one arc into each node,
        then another one into each, and so on up to the width of the level. A node with fewer arcs has arcs from itself
        with weight UNREACHABLE. Shape (k, 2), uint32.
    outgoing, incoming : Rows
        Arcs from and to eliminated nodes.
    saturated : bool
        Whether some sum of weights does not fit into 32 bits.
    """

    core: Graph
    place: Uint32s
    levels: list[Level]
    arcs_in: npt.NDArray[np.uint32]
    outgoing: Rows
    incoming: Rows
    saturated: bool


def bytes_of(graph: Graph) -> int:
    """Return the bytes that `eliminate` takes beside the graph."""
    return _NODE_BYTES * graph.num_nodes + _ARC_BYTES * graph.num_arcs


def eliminate(
    graph: Graph,
    places: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None,
    rounds: int = MOST_ROUNDS,
) -> Elimination:
    """Eliminate nodes of a graph without loss of exactness.

    Nothing is eliminated from graphs whose neighbours have no close ids, nor if too little memory is free.

    Parameters
    ----------
    graph : Graph
        The graph, which has no cycles of weight zero.
    places : tuple of numpy.ndarray, optional
        Latitudes and longitudes of the nodes, for the order of the core; by default it keeps the order of the nodes.
    rounds : int
        Number of rounds at most.
    """
    num_nodes, free = graph.num_nodes, free_bytes()
    if free is not None and bytes_of(graph) > _MOST_MEMORY * free:
        return untouched(graph)
    tails = tails_of(graph.first_out)
    if np.count_nonzero(tails // RANGE != graph.head // RANGE) > _MOST_LEAVING * len(tails):
        return untouched(graph)
    arcs, compiled = np.stack([graph.head, graph.weight], axis=1), _compiled()
    state, degree = np.zeros(num_nodes, np.uint8), np.zeros(num_nodes, np.int32)
    near = np.empty((num_nodes, PLACES), np.int32)
    there, back = (np.empty((num_nodes, PLACES), np.uint32) for _ in range(2))
    compiled.place_arcs(graph.first_out, arcs, state, degree, near, there, back)
    left = np.arange(num_nodes, dtype=np.int32)
    saturated, gone = False, []
    for number in range(rounds):
        bounds = np.concatenate([[0], np.arange(RANGE // (1 + number % 2), num_nodes, RANGE), [num_nodes]])
        at = np.searchsorted(left, bounds)

        def eliminate_from(part: int, bounds: _Int64s = bounds, at: _Int64s = at, left: _Int32s = left) -> bool:
            nodes, low, high = left[at[part] : at[part + 1]], int(bounds[part]), int(bounds[part + 1])
            return bool(compiled.eliminate_round(nodes, state, degree, near, there, back, low, high, MOST_DEGREE))

        saturated |= any(run_all([partial(eliminate_from, part) for part in range(len(bounds) - 1)]))
        is_gone = state[left] == compiled.GONE
        gone.append(left[is_gone])
        left = left[~is_gone]
        if len(gone[-1]) <= _LEAST_GAIN * len(left):
            break
    if places is not None:
        left = left[block_order(*(values[left] for values in places))]
    order = np.concatenate([left, *reversed(gone)])
    place = np.empty(num_nodes, np.uint32)
    place[order] = np.arange(num_nodes, dtype=np.uint32)
    counts = np.array([len(nodes) for nodes in reversed(gone) if len(nodes)], np.int64)
    eliminated = order[len(left) :]
    outgoing, incoming = (_rows(eliminated, place, degree, near, weight) for weight in (there, back))
    levels, arcs_in = _levels(len(left), counts, incoming)
    # Arcs between hubs, which neither of them knows; arcs that other nodes know; arcs from hubs that their heads know.
    is_hub = state == compiled.HUB
    between = is_hub[tails] & is_hub[graph.head]
    rows = _rows(left, place, degree, near, there)
    most = int(degree[left].sum()) if is_hub.any() else 0
    tail, of_hubs = np.empty(most, np.int32), np.empty((most, 2), np.uint32)
    count = compiled.write_arcs_of_hubs(left, state, degree, near, back, tail, of_hubs) if most else 0
    tail, of_hubs = tail[:count], of_hubs[:count]
    parts = np.concatenate([rows.arcs, np.stack([place[of_hubs[:, 0]], of_hubs[:, 1]], axis=1)]), place[tail]
    all_tails = np.concatenate([np.repeat(np.arange(len(left)), np.diff(rows.first)), parts[1], place[tails[between]]])
    heads = np.concatenate([parts[0][:, 0], place[graph.head[between]]])
    weights = np.concatenate([parts[0][:, 1], graph.weight[between]])
    first_out, by_tail = rows_of(all_tails.astype(np.uint32), len(left))
    core = Graph(own(first_out), own(heads[by_tail]), own(weights[by_tail]))
    return Elimination(core, place, levels, arcs_in, outgoing, incoming, saturated)


def _compiled() -> Any:
    return kernels("vkssp.prepared.elimination_kernels")


def untouched(graph: Graph) -> Elimination:
    """Return the elimination of no node."""
    place = np.arange(graph.num_nodes, dtype=np.uint32)
    none = Rows(np.zeros(1, np.int64), np.empty((0, 2), np.uint32))
    return Elimination(graph, place, [], none.arcs, none, none, saturated=False)


def _rows(
    node: npt.NDArray[np.int32],
    place: Uint32s,
    degree: npt.NDArray[np.int32],
    near: npt.NDArray[np.int32],
    weight: npt.NDArray[np.uint32],
) -> Rows:
    """Return the arcs of some nodes in one direction."""
    first = np.empty(len(node) + 1, np.int64)
    arcs = np.empty((int(degree[node].sum()), 2), np.uint32)
    _compiled().write_arcs(node, degree, near, weight, first, arcs)
    arcs = arcs[: first[-1]].copy()
    arcs[:, 0] = place[arcs[:, 0]]
    return Rows(first, arcs)


def _levels(first: int, counts: _Int64s, incoming: Rows) -> tuple[list[Level], npt.NDArray[np.uint32]]:
    """Return `levels` and `arcs_in` of an `Elimination`, given the first place and the sizes of levels."""
    levels, parts, row, begin = [], [np.empty((0, 2), np.uint32)], 0, 0
    for count in counts.tolist():
        offset = incoming.first[row : row + count + 1]
        degree = np.diff(offset)
        width = int(degree.max())
        part = np.empty((width, count, 2), np.uint32)
        part[:, :, 0], part[:, :, 1] = first + row + np.arange(count), UNREACHABLE
        of_arc = np.repeat(np.arange(count), degree)
        rank = np.arange(offset[0], offset[-1]) - offset[of_arc]
        part[rank, of_arc] = incoming.arcs[offset[0] : offset[-1]]
        levels.append(Level(first + row, count, width, begin))
        parts.append(part.reshape(-1, 2))
        row, begin = row + count, begin + width * count
    return levels, np.concatenate(parts)
