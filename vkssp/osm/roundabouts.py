"""Turns at roundabouts that go against their direction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.osm.rows import rows_of

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def turns_against(
    tail: Indices, head: Indices, segment: Indices, on_ring: npt.NDArray[np.bool_], leaves: Floats, behind: Floats
) -> list[tuple[int, int]]:
    """Return the turns from a street into another one for which one would have to go against a roundabout.

    Where two streets meet a roundabout at the same node, one can change from one to the other at once only if the exit
    follows the entrance in the direction of the roundabout. Otherwise one has to go around.

    Parameters
    ----------
    tail, head, segment : numpy.ndarray
        Nodes of the arcs, and their pieces of streets, shape (num_arcs,) each.
    on_ring : numpy.ndarray
        Whether each arc is part of a roundabout, shape (num_arcs,), bool.
    leaves, behind : numpy.ndarray
        Bearings in degrees of each arc at its tail, and of the way back along it at its head, shape (num_arcs,) each.

    Returns
    -------
    list of tuple of (int, int)
        Pairs of arcs, of which the second must not follow the first.
    """
    num_nodes = int(max(head.max(initial=-1), tail.max(initial=-1))) + 1
    rings = np.flatnonzero(on_ring)
    ins, outs = np.full(num_nodes, -1, np.int64), np.full(num_nodes, -1, np.int64)
    ins[head[rings]], outs[tail[rings]] = rings, rings
    once = (np.bincount(head[rings], minlength=num_nodes) == 1) & (np.bincount(tail[rings], minlength=num_nodes) == 1)
    others = np.flatnonzero(~on_ring)
    arriving, leaving = (np.bincount(nodes[others], minlength=num_nodes) for nodes in (head, tail))
    some = np.flatnonzero(once & (arriving > 0) & (leaving > 0))
    if len(some) == 0:
        return []
    near = others[np.isin(head[others], some)], others[np.isin(tail[others], some)]
    (in_first, in_rows), (out_first, out_rows) = (
        rows_of(nodes[arcs], num_nodes) for nodes, arcs in zip((head, tail), near, strict=True)
    )
    found = []
    for node in some.tolist():
        ring_in, ring_out = float(behind[ins[node]]), float(leaves[outs[node]])
        for before in near[0][in_rows[in_first[node] : in_first[node + 1]]].tolist():
            came = float(behind[before])
            entering, onward = (ring_in - came) % 360.0, (ring_out - came) % 360.0
            for after in near[1][out_rows[out_first[node] : out_first[node + 1]]].tolist():
                if segment[before] == segment[after]:
                    continue
                angle = (float(leaves[after]) - came) % 360.0
                if angle < entering if entering < onward else angle > entering:
                    found.append((before, after))
    return found
