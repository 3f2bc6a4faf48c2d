"""Small components of the street network, as OSRM defines them, and snapping past them.

A component is a set of streets, each in one direction, that can all reach each other; turn restrictions count. Streets
that serve only the ends of trips lead through, since OSRM makes them dear and does not close them. Streets are counted
as OSRM counts them: one goes on through places where no other street meets it and nothing about it changes.

The places of a query are snapped to the nearest streets if these are in one component. Otherwise a place whose nearest
streets are all in small components is snapped to the nearest street in a large one, if there is any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vkssp.graph import Graph
from vkssp.graph.csr import within
from vkssp.routing.joints import alike, joints
from vkssp.routing.lines import Bools, Snap, StreetLines

if TYPE_CHECKING:
    import numpy.typing as npt

# What may not change along a street that counts once.
_SAME = (
    *("name", "ref", "destinations", "exits", "pronunciation", "roundabout", "road_class", "mode", "classes"),
    *("left_hand", "snappable"),
)
# Number of streets that OSRM makes of a ring that no other street meets, since none joins a place with itself.
_IN_RING = 3


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
        ids = np.arange(searched.num_arcs) if arcs is None else arcs
        tail, head = searched.tail.astype(np.int64), searched.head.astype(np.int64)
        street = 2 * lines.polyline_of[ids].astype(np.int64) + lines.backward[ids]
        self._exists = np.zeros(2 * lines.num_polylines, np.bool_)
        self._exists[street] = True
        self._of_street, count = _components(street, tail, head, len(self._exists), searched.num_nodes)
        sizes = np.bincount(self._of_street[self._exists], minlength=count)
        continued = _continued(lines, self._exists, _only_ends(lines, tail, head, street))
        sizes -= np.bincount(self._of_street[continued], minlength=count)
        self._is_small = sizes < size
        is_large: Bools = self._exists & ~self._is_small[self._of_street]
        self.large: Bools = is_large[::2] | is_large[1::2]

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
        if all([snap.arcs is None and self.large.item(snap.polyline) for snap in snaps]):
            return []
        components = [self._at(lines, snap) for snap in snaps]
        if set.intersection(*components):
            return []
        return [row for row, some in enumerate(components) if all(self._is_small[one] for one in some)]


def _components(
    street: npt.NDArray[np.int64],
    tail: npt.NDArray[np.int64],
    head: npt.NDArray[np.int64],
    num_streets: int,
    num_nodes: int,
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the component of each street, and how many numbers components may have.

    The copies of an arc for the parts of a trip are one street, so that streets of all kinds lead through.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    size = num_streets + num_nodes
    ends = np.concatenate([street, tail + num_streets]), np.concatenate([head + num_streets, street])
    links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(size, size))
    count, component = csgraph.connected_components(links, directed=True, connection="strong")
    return component[:num_streets].astype(np.int64), count


def _only_ends(
    lines: StreetLines, tail: npt.NDArray[np.int64], head: npt.NDArray[np.int64], street: npt.NDArray[np.int64]
) -> Bools:
    """Return the mask of the polylines that serve only the ends of trips."""
    streets = lines.graph.streets
    found = np.zeros(lines.num_polylines, np.bool_)
    if streets is not None and streets.layer is not None:
        found[street // 2] = True
        found[street[(streets.layer[tail] == 0) & (streets.layer[head] == 0)] // 2] = False
    return found


def _continued(lines: StreetLines, exists: Bools, only_ends: Bools) -> npt.NDArray[np.int64]:
    """Return the streets that only go on from another one, of the same attributes, where no third one is."""
    from scipy import sparse
    from scipy.sparse import csgraph

    one, other = joints(lines, exists)
    is_same = (exists[one] == exists[other ^ 1]) & (exists[one ^ 1] == exists[other])
    is_same &= (only_ends[one // 2] == only_ends[other // 2]) & alike(lines, one, other, _SAME)
    one, other = one[is_same], other[is_same]
    links = sparse.coo_array((np.ones(len(one), np.bool_), (one // 2, other // 2)), shape=(lines.num_polylines,) * 2)
    chain = csgraph.connected_components(links, directed=False)[1]
    count, lengths = np.bincount(chain[one // 2], minlength=len(chain)), np.bincount(chain, minlength=len(chain))
    rank = np.empty(len(one), np.int64)
    rank[np.argsort(chain[one // 2], kind="stable")] = within(count[count > 0])
    is_ring = (count == lengths)[chain[one // 2]]
    joined = ~is_ring | (rank >= _IN_RING)
    ends: npt.NDArray[np.int64] = np.concatenate([one[joined], other[joined]])
    return ends[exists[ends]]
