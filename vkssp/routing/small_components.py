"""Small components of the street network, as OSRM defines them, and snapping past them.

A component is a set of streets, each in one direction, that can all reach each other; turn restrictions count. The
places of a query are snapped to the nearest streets if these are in one component. Otherwise a place whose nearest
streets are all in small components is snapped to the nearest street in a large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vkssp.graph import Graph
from vkssp.routing.lines import Bools, Snap, StreetLines

if TYPE_CHECKING:
    import numpy.typing as npt


class SmallComponents:
    """Components of streets, and which of them are small.

    Parameters
    ----------
    lines : StreetLines
        The streets.
    searched : Graph
        The graph that searches run on: the nodes of the streets' graph, and perhaps fewer of its arcs.
    arcs : numpy.ndarray or None
        For each arc of `searched` its id in the graph of the streets; None if the arcs are the same.
    size : int
        Components of fewer streets than this, each direction counted, are small.

    Attributes
    ----------
    large : numpy.ndarray
        Whether a direction of each polyline is in a large component, shape (num_polylines,), bool.
    """

    def __init__(self, lines: StreetLines, searched: Graph, arcs: npt.NDArray[np.int64] | None, size: int) -> None:
        from scipy.sparse import csgraph

        links = searched.to_scipy().astype(np.bool_)
        count, strong = csgraph.connected_components(links, directed=True, connection="strong")
        ids = np.arange(searched.num_arcs) if arcs is None else arcs
        polyline, backward = lines.polyline_of[ids].astype(np.int64), lines.backward[ids]
        street = 2 * polyline + backward
        # A street that cannot be reached from its own end is a component of its own.
        self._of_street = count + np.arange(2 * lines.num_polylines, dtype=np.int64)
        within = strong[searched.tail] == strong[searched.head]
        self._of_street[street[within]] = strong[searched.head[within]]
        exists = np.zeros(2 * lines.num_polylines, np.bool_)
        exists[street] = True
        sizes = np.bincount(self._of_street[exists], minlength=count + 2 * lines.num_polylines)
        self._is_small = sizes < size
        self._exists = exists
        self.large: Bools = (exists & ~self._is_small[self._of_street]).reshape(-1, 2).any(axis=1)

    def _at(self, lines: StreetLines, snap: Snap) -> set[int]:
        """Return the components of the streets at a point."""
        streets = {2 * snap.polyline, 2 * snap.polyline + 1}
        if snap.arcs is not None:
            streets = {2 * int(lines.polyline_of[arc]) + bool(lines.backward[arc]) for arc in snap.arcs}
        elif snap.is_end:
            nodes = lines.nodes_of(snap)
            out = {int(lines.polyline_of[arc]) for node in nodes for arc in lines.arcs_out(node)}
            streets |= {2 * line + side for line in out for side in (0, 1)}
        return {int(self._of_street[street]) for street in streets if self._exists[street]}

    def to_replace(self, lines: StreetLines, snaps: Sequence[Snap]) -> list[int]:
        """Return the numbers of the points of a query that only small components touch, unless all share one."""
        components = [self._at(lines, snap) for snap in snaps]
        if set.intersection(*components):
            return []
        return [row for row, some in enumerate(components) if all(self._is_small[one] for one in some)]
