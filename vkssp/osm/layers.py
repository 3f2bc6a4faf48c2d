r"""Exact model of ways that serve only the ends of a trip, by copies of their nodes.

A way with ``access=destination`` (private, customers, ...) may be used to leave the start of a trip and to reach its
end, but not for through traffic. A search does not know the ends of its trip while it runs, so the graph must express
the rule. Some routers add a high cost for entering such a way; this gives detours of wrong length, and permits through
traffic if there is no other route. Here nodes are copied instead, and every path in the copies obeys the rule.

A node that a restricted arc touches gets one copy for the start of trips and one for their end. It has a main node
as well only if an unrestricted arc touches it. For a restricted arc from u to v::

    start layer    u_start -> v_start    u_start -> v_main
    end layer      u_end   -> v_end      u_main  -> v_end

if the main nodes exist; unrestricted arcs join main nodes. A path can leave the start layer but never enter it again,
and can enter the end layer but never leave it. No links of zero length join the copies: the arc itself changes the
layer. All copies of an arc share one polyline, and snapping to it takes all of them as seeds and as targets. A trip
within one restricted area stays in one layer.

An open street that can be reached, or left, only along restricted streets also serves only the ends of a trip,
whatever its tags say: together with the restricted streets it is one restricted area.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import kernels
from vkssp.osm.rows import rows_of

Indices = npt.NDArray[np.int64]
_KERNELS = "vkssp.osm.kernels.components"


class Layered(NamedTuple):
    """Graph with copies of its restricted arcs.

    Attributes
    ----------
    tail, head : numpy.ndarray
        Nodes of the arcs, shape (num_arcs,), int64.
    arc : numpy.ndarray
        Original arc of each arc, shape (num_arcs,), int64.
    node : numpy.ndarray
        Original node of each node, shape (num_nodes,), int64.
    layer : numpy.ndarray
        Part of a trip that each node serves: 0 the middle, 1 the start, 2 the end, shape (num_nodes,), uint8.
    """

    tail: Indices
    head: Indices
    arc: Indices
    node: Indices
    layer: npt.NDArray[np.uint8]


def with_enclaves(
    tail: Indices, head: Indices, restricted: npt.NDArray[np.bool_], num_nodes: int
) -> npt.NDArray[np.bool_]:
    """Return whether each arc serves only the ends of a trip: restricted arcs, and arcs of enclaves behind them.

    The core of each weakly connected part of the network is the largest strongly connected component of the part's
    unrestricted arcs. A trip from one core node to another uses no unrestricted arcs outside the core anyway. So no
    trip is lost if the unrestricted arcs that are connected to restricted arcs outside the core become restricted.

    Parameters
    ----------
    tail, head, restricted, num_nodes
        As for `split_layers`.
    """
    free = np.flatnonzero(~restricted)
    if len(free) in (0, len(tail)):
        return restricted
    part, piece = (
        _weak_parts(tail, head, np.arange(len(tail)), num_nodes),
        _strong_parts(tail[free], head[free], num_nodes),
    )
    core = np.full(num_nodes, -1, np.int32)
    kernels(_KERNELS).find_cores(part, piece, np.bincount(piece), core)
    in_core = piece == core[part]
    outer = free[~(in_core[tail[free]] & in_core[head[free]])]
    # Outer arcs form groups that are connected at nodes outside the core.
    group = _weak_parts(tail, head, outer[~(in_core[tail[outer]] | in_core[head[outer]])], num_nodes)
    touched = np.zeros(num_nodes, np.bool_)
    for ends in (tail, head):
        at = ends[restricted]
        touched[group[at[~in_core[at]]]] = True
    enclosed = restricted.copy()
    for ends in (tail, head):
        at = ends[outer]
        enclosed[outer[~in_core[at] & touched[group[at]]]] = True
    return enclosed


def _weak_parts(tail: Indices, head: Indices, arcs: Indices, num_nodes: int) -> npt.NDArray[np.int32]:
    """Return the least node of the part of each node that some arcs connect in any direction."""
    part = np.empty(num_nodes, np.int32)
    kernels(_KERNELS).find_weak(tail, head, arcs, part)
    return part


def _strong_parts(tail: Indices, head: Indices, num_nodes: int) -> npt.NDArray[np.int32]:
    """Return the number of the part of each node in which arcs lead from every node to every other one."""
    first_out, by_tail = rows_of(tail, num_nodes)
    part, order = (np.full(num_nodes, -1, np.int32) for _ in range(2))
    room = (np.empty(num_nodes, np.int32) for _ in range(4))
    kernels(_KERNELS).find_strong(first_out, head[by_tail], part, order, *room)
    return part


def split_layers(tail: Indices, head: Indices, restricted: npt.NDArray[np.bool_], num_nodes: int) -> Layered:
    """Return the graph in which restricted arcs serve only the ends of a trip.

    Parameters
    ----------
    tail, head : numpy.ndarray
        Nodes of the arcs, shape (num_arcs,) each.
    restricted : numpy.ndarray
        Whether each arc serves only the ends of a trip, shape (num_arcs,).
    num_nodes : int
        Number of nodes; nodes that no arc touches are left out.
    """
    free, bound = np.flatnonzero(~restricted), np.flatnonzero(restricted)
    in_main, in_copy = np.zeros(num_nodes, np.bool_), np.zeros(num_nodes, np.bool_)
    for ends in (tail, head):
        in_main[ends[free]] = True
        in_copy[ends[bound]] = True
    main_nodes, copied = np.flatnonzero(in_main), np.flatnonzero(in_copy)
    main, start, end = (np.full(num_nodes, -1, np.int64) for _ in range(3))
    main[main_nodes] = np.arange(len(main_nodes))
    start[copied] = len(main_nodes) + np.arange(len(copied))
    end[copied] = len(main_nodes) + len(copied) + np.arange(len(copied))
    leaves, enters = bound[in_main[head[bound]]], bound[in_main[tail[bound]]]
    groups = ((main, free, main), (start, bound, start), (start, leaves, main), (end, bound, end), (main, enters, end))
    return Layered(
        tail=np.concatenate([of_tail[tail[arcs]] for of_tail, arcs, _ in groups]),
        head=np.concatenate([of_head[head[arcs]] for _, arcs, of_head in groups]),
        arc=np.concatenate([arcs for _, arcs, _ in groups]),
        node=np.concatenate([main_nodes, copied, copied]),
        layer=np.repeat(np.arange(3, dtype=np.uint8), [len(main_nodes), len(copied), len(copied)]),
    )
