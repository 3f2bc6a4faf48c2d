"""Sums of lengths and weights along shortest paths, over the tree that the distances of one search define."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.metric import arc_lengths
from vkssp.prepared.zero_cycles import ZeroTrees, zero_cycles
from vkssp.solver.phantom_node import PhantomNode

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Figure:
    """Value of each arc that is summed up along paths.

    Attributes
    ----------
    whole : numpy.ndarray
        Value of each arc, including the turn into it, shape (num_arcs,), float64.
    turn : numpy.ndarray or None
        Share of the turn into each arc, which may be less than 0, shape (num_arcs,), float64; None if turns add
        nothing.
    in_units : bool
        Whether parts of arcs have whole units that phantom nodes tell; otherwise they have shares by length.
    per_metre : float
        Value of each metre that paths take off the streets, at their ends.
    """

    whole: Floats
    turn: Floats | None = None
    in_units: bool = False
    per_metre: float = 0.0

    def part(self, arcs: npt.NDArray[np.int64], shares: Floats, units: Floats) -> Floats:
        """Return the values of parts of arcs, without the turns into them; 0 where there is no arc, but -1."""
        if self.in_units:
            return np.where(arcs >= 0, units, 0.0)
        return shares * (self._of(self.whole, arcs) - self._turn(arcs))

    def begun(self, arcs: npt.NDArray[np.int64], at: Floats, units: Floats) -> Floats:
        """Return the values of arcs from points on, where paths begin; 0 where there is no arc."""
        return self.part(arcs, 1.0 - at, units)

    def ended(self, arcs: npt.NDArray[np.int64], at: Floats, units: Floats) -> Floats:
        """Return the values of arcs up to points, where paths end, with the turns into them; 0 without an arc.

        None is less than 0, even if the turn takes more off than the part of the arc.
        """
        return np.maximum(self.part(arcs, at, units) + self._turn(arcs), 0.0)

    def _turn(self, arcs: npt.NDArray[np.int64]) -> Floats:
        return np.zeros(len(arcs)) if self.turn is None else self._of(self.turn, arcs)

    @staticmethod
    def _of(values: Floats, arcs: npt.NDArray[np.int64]) -> Floats:
        found = np.zeros(len(arcs))
        found[arcs >= 0] = values[arcs[arcs >= 0]]
        return found


class BackwardFigure(Figure):
    """Value of each arc for paths that are searched backward: a search begins where a path ends."""

    def begun(self, arcs: npt.NDArray[np.int64], at: Floats, units: Floats) -> Floats:
        """Return the values of arcs up to the points at which paths end."""
        return super().ended(arcs, at, units)

    def ended(self, arcs: npt.NDArray[np.int64], at: Floats, units: Floats) -> Floats:
        """Return the values of arcs from the points on at which paths begin."""
        return super().begun(arcs, at, units)


def metres_of(graph: Graph) -> Figure:
    """Return the lengths of arcs in metres.

    Raises
    ------
    QueryError
        If the graph has no coordinates.
    """
    return Figure(arc_lengths(graph), per_metre=1.0)


def weights_of(graph: Graph) -> Figure:
    """Return the weights of arcs; those of parts of arcs are whole."""
    turn = None if graph.streets is None else graph.streets.turn_weight
    return Figure(graph.weight.astype(np.float64), None if turn is None else turn.astype(np.float64), in_units=True)


class Tree:
    """Shortest-path tree that sums up values of arcs along its paths.

    Of several shortest paths to a node, the tree follows the path that a route takes: backwards from the node, each
    time along the first arc that fits.

    Parameters
    ----------
    graph : Graph
        The graph, with the weights of the search.
    figures : sequence of Figure
        The figures.
    arc_ids : numpy.ndarray, optional
        Id in the figures of each arc of the graph, shape (num_arcs,), int64; by default the arc's own id.
    """

    def __init__(self, graph: Graph, figures: Sequence[Figure], arc_ids: npt.NDArray[np.int64] | None = None) -> None:
        # A route enters a zero-weight cycle by a single arc, and reaches the other nodes of the cycle inside it.
        group, _ = zero_cycles(graph)
        self._group = np.arange(graph.num_nodes) if group is None else group
        self._inside = None if group is None else ZeroTrees(graph, group).arcs()
        self._entering = np.flatnonzero(self._group[graph.tail] != self._group[graph.head])
        self._from, self._to, self._weight = (
            values[self._entering] for values in (graph.tail, graph.head, graph.weight)
        )
        self._into = self._group[self._to]
        self._graph, self._figures = graph, figures
        ids = np.arange(graph.num_arcs) if arc_ids is None else arc_ids
        self._values = np.stack([figure.whole[ids] for figure in figures])

    def along(self, distances: Uint32s, starts: Sequence[PhantomNode]) -> Floats:
        """Return the sums along a shortest path to each node; the sums of unreached nodes are meaningless.

        Every node of a path except the first has an arc into it along which its distance was found. These arcs form a
        tree. Pointer jumping (J. C. Wyllie, 1979) computes the sums over the tree: each step doubles the length of the
        path that a node has summed up.

        Parameters
        ----------
        distances : numpy.ndarray
            Distance of each node, shape (num_nodes,), uint32.
        starts : sequence of PhantomNode
            Phantom nodes that the distances start from.

        Returns
        -------
        numpy.ndarray
            Shape (number of figures, num_nodes), float64.
        """
        best: dict[int, PhantomNode] = {}
        for start in sorted(starts, key=lambda start: start.weight):
            if int(distances[start.node]) == start.weight:
                best.setdefault(int(self._group[start.node]), start)
        begun = {group: start.node for group, start in best.items()}
        arcs = np.array([start.arc for start in best.values()], np.int64)
        at, metres, units = (
            np.array([getattr(start, name) for start in best.values()]) for name in ("at", "metres", "units")
        )
        first = np.zeros((len(self._figures), len(distances)))
        first[:, list(begun.values())] = [
            figure.begun(arcs, at, units) + figure.per_metre * metres for figure in self._figures
        ]
        arc = self._arcs_into(distances, begun)
        has = np.flatnonzero(arc >= 0)
        parent = np.arange(len(distances), dtype=np.int64)
        parent[has] = self._graph.tail[arc[has]]
        sums = np.zeros_like(first)
        sums[:, has] = self._values[:, arc[has]]
        while True:
            farther = parent[parent]
            if np.array_equal(farther, parent):
                total: Floats = sums + first[:, parent]
                return total
            sums += sums[:, parent]
            parent = farther

    def _arcs_into(self, distances: Uint32s, begun: Mapping[int, int]) -> npt.NDArray[np.int64]:
        """Return the last arc of a shortest path to each node, -1 for unreached nodes and those where paths begin.

        Parameters
        ----------
        distances : numpy.ndarray
            Distance of each node, shape (num_nodes,), uint32.
        begun : mapping of int to int
            Groups of nodes in which paths begin, and for each group the node where its paths begin.
        """
        # If the tail is farther than the head, the difference wraps round.
        here, before = distances[self._to], distances[self._from]
        fits = (here - before == self._weight) & (before <= here) & (here != UNREACHABLE)
        tight = np.flatnonzero(fits)[::-1]  # reversed: of several arcs into a group the first is written last
        entered = np.full(len(distances), -1, np.int64)
        entered[self._into[tight]] = tight
        entered[list(begun)] = -1
        entered = entered[entered >= 0]
        first = self._to[entered]
        arc = np.full(len(distances), -1, np.int64)
        if self._inside is not None:
            into, out = self._inside
            arc[:] = into
            # From its entry into a cycle a path goes towards the root, and may branch off at any node before it.
            at = np.concatenate([first, np.array(list(begun.values()), first.dtype)])
            while len(at := at[out[at] >= 0]):
                arc[self._graph.head[out[at]]] = out[at]
                at = self._graph.head[out[at]]
        arc[first] = self._entering[entered]
        arc[list(begun.values())] = -1
        return arc
