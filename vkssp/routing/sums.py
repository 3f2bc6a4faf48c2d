"""Metres and durations along shortest paths from one search: summed up over the tree that its distances make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.routing.ends import End
from vkssp.routing.metric import arc_lengths
from vkssp.rows import rows_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of arcs that is summed up along paths.

    Attributes
    ----------
    whole : numpy.ndarray
        The figure of each arc, shape (num_arcs,), float64.
    turn : numpy.ndarray or None
        What the turn into each arc adds to that, shape (num_arcs,), float64; None where that is nothing.
    decimals : int or None
        Decimals that the figure of a part of an arc is rounded to; None where it is not.
    """

    whole: Floats
    turn: Floats | None = None
    decimals: int | None = None

    def begun(self, arc: int, part: float) -> float:
        """Return the figure of a part of an arc that a path begins on; none where there is no arc."""
        if arc < 0:
            return 0.0
        value = part * (float(self.whole[arc]) - self._turn(arc))
        return value if self.decimals is None else round(value, self.decimals)

    def ended(self, arc: int, part: float) -> float:
        """Return the figure of a part of an arc that a path ends on, with the turn into it."""
        return 0.0 if arc < 0 else self.begun(arc, part) + self._turn(arc)

    def _turn(self, arc: int) -> float:
        return 0.0 if self.turn is None else float(self.turn[arc])


def metres_of(graph: Graph) -> Figure:
    """Return the lengths of arcs in metres.

    Raises
    ------
    QueryError
        If the graph has no coordinates.
    """
    return Figure(arc_lengths(graph))


def weights_of(graph: Graph) -> Figure:
    """Return the weights of arcs, rounded in parts as those of routes are."""
    turn = None if graph.streets is None else graph.streets.turn
    return Figure(graph.weight.astype(np.float64), None if turn is None else turn.astype(np.float64), decimals=0)


class Tree:
    """Sums up figures of arcs along shortest paths.

    Where several paths are shortest it takes one of them, which need not be the one that a route goes along.

    Parameters
    ----------
    graph : Graph
        The graph, with the weights that it is searched with.
    figures : sequence of Figure
        The figures.
    arc_ids : numpy.ndarray, optional
        For each arc of the graph the id that it has in the figures, shape (num_arcs,), int64; by default its own.
    """

    def __init__(self, graph: Graph, figures: Sequence[Figure], arc_ids: npt.NDArray[np.int64] | None = None) -> None:
        _, by_head = rows_of(graph.head, graph.num_nodes)
        by_head = by_head[graph.tail[by_head] != graph.head[by_head]]
        self._tail, self._head, self._weight = graph.tail[by_head], graph.head[by_head], graph.weight[by_head]
        ids = by_head if arc_ids is None else arc_ids[by_head]
        self._values = np.stack([figure.whole[ids] for figure in figures])
        self._figures = figures

    def along(self, distances: Uint32s, starts: Sequence[End]) -> Floats:
        """Return the figures of a shortest path to each node; those of nodes that are not reached mean nothing.

        Each node but the first of a path has an arc into it along which its distance was found. The sums over the tree
        of these arcs are made by pointer jumping (J. C. Wyllie, 1979): in each step the way that a node knows becomes
        twice as long.

        Parameters
        ----------
        distances : numpy.ndarray
            Distance of each node, shape (num_nodes,), uint32.
        starts : sequence of End
            What they are distances from.

        Returns
        -------
        numpy.ndarray
            Shape (number of figures, num_nodes), float64.
        """
        first = np.zeros((len(self._figures), len(distances)))
        is_start = np.zeros(len(distances), np.bool_)
        for start in sorted(starts, key=lambda start: -start.weight):
            if int(distances[start.node]) == start.weight:
                is_start[start.node] = True
                first[:, start.node] = [figure.begun(start.arc, 1.0 - start.at) for figure in self._figures]
        arc = self._arcs_into(distances, is_start)
        has = np.flatnonzero(arc >= 0)
        parent = np.arange(len(distances), dtype=np.int64)
        parent[has] = self._tail[arc[has]]
        sums = np.zeros_like(first)
        sums[:, has] = self._values[:, arc[has]]
        while True:
            farther = parent[parent]
            if np.array_equal(farther, parent):
                total: Floats = sums + first[:, parent]
                return total
            sums += sums[:, parent]
            parent = farther

    def _arcs_into(self, distances: Uint32s, is_start: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return for each node the arc by which a shortest path gets there, -1 at starts and where none does."""
        # Where the tail is farther the difference wraps round.
        here, before = distances[self._head], distances[self._tail]
        tight = np.flatnonzero((here - before == self._weight) & (before <= here) & (here != UNREACHABLE))
        tight = tight[~is_start[self._head[tight]]]
        is_zero = self._weight[tight] == 0
        arc = np.full(len(distances), -1, np.int64)
        arc[self._head[tight[~is_zero]]] = tight[~is_zero]
        # Arcs that weigh nothing may make cycles: they count only away from nodes that have a path already.
        known, rest = is_start | (arc >= 0), tight[is_zero]
        while True:
            rest = rest[~known[self._head[rest]]]
            new = rest[known[self._tail[rest]]]
            if len(new) == 0:
                return arc
            arc[self._head[new]] = new
            known[self._head[new]] = True
