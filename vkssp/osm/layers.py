r"""Ways that serve only the ends of a trip, kept exactly by copies of their nodes.

A way with ``access=destination`` (private, customers, ...) may be used to get away from where a trip starts
and to get to where it ends, but not to get through. A search knows nothing of its trip's ends while it runs,
so the rule must be in the graph. A high cost of entering, as some routers have it, makes detours of wrong
length and finds a way through when there is no other; so nodes are copied instead, and a shortest path in the
copies is a lawful one.

Nodes that a restricted arc touches get a copy for the start of trips and one for their end, beside the main
one, which they have only if an unrestricted arc touches them. For a restricted arc from u to v::

    start layer    u_start -> v_start    u_start -> v_main
    end layer      u_end   -> v_end      u_main  -> v_end

as far as the main nodes exist; unrestricted arcs join main nodes. From the start layer one gets out and never
back in; into the end layer one gets and never out. There are no links without length between the copies: the
arc itself changes layer. All copies of an arc lie on the same polyline, and whoever snaps a point to it takes
all of them as places to start from and to arrive at; a trip within one restricted area stays in one layer.

An open street that can be got to, or left, only along restricted ones serves nothing but the ends of a trip, too,
whatever its tags say: with its neighbours it is one restricted area.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


class Layered(NamedTuple):
    """A graph with its restricted arcs copied.

    Attributes
    ----------
    tail, head : numpy.ndarray
        Nodes of the arcs, shape (num_arcs,), int64.
    arc : numpy.ndarray
        For each arc the one it is a copy of, shape (num_arcs,), int64.
    node : numpy.ndarray
        For each node the one it is a copy of, shape (num_nodes,), int64.
    layer : numpy.ndarray
        Which part of a trip each node serves: 0 the middle, 1 the start, 2 the end, shape (num_nodes,), uint8.
    """

    tail: Indices
    head: Indices
    arc: Indices
    node: Indices
    layer: npt.NDArray[np.uint8]


def with_enclaves(
    tail: Indices, head: Indices, restricted: npt.NDArray[np.bool_], num_nodes: int
) -> npt.NDArray[np.bool_]:
    """Return which arcs serve only the ends of a trip: restricted ones, and those of enclaves that these lead to.

    The core of each part of the network is the largest strongly connected piece of its unrestricted arcs. A trip from
    one node of it to another uses no other unrestricted arcs anyway, so that nothing is lost when those are restricted
    that hang together with restricted ones outside the core.

    Parameters
    ----------
    tail, head, restricted, num_nodes
        As for `split_layers`.
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    def components(arcs: Indices | slice, connection: str) -> npt.NDArray[np.int32]:
        ends = tail[arcs], head[arcs]
        links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(num_nodes, num_nodes))
        label: npt.NDArray[np.int32] = csgraph.connected_components(links, directed=True, connection=connection)[1]
        return label

    free = np.flatnonzero(~restricted)
    if len(free) in (0, len(tail)):
        return restricted
    part, piece = components(slice(None), "weak"), components(free, "strong")
    size = np.bincount(piece)
    # The last of each part when sorted by size is its core.
    by_size = np.lexsort((size[piece], part))
    last = np.flatnonzero(np.diff(part[by_size], append=-1))
    in_core = np.isin(piece, piece[by_size[last]])
    outer = free[~(in_core[tail[free]] & in_core[head[free]])]
    # Groups of outer streets hold together at nodes outside the core.
    group = components(outer[~(in_core[tail[outer]] | in_core[head[outer]])], "weak")
    touched = np.zeros(num_nodes, np.bool_)
    for ends in (tail, head):
        at = ends[restricted]
        touched[group[at[~in_core[at]]]] = True
    enclosed = restricted.copy()
    for ends in (tail, head):
        at = ends[outer]
        enclosed[outer[~in_core[at] & touched[group[at]]]] = True
    return enclosed


def split_layers(tail: Indices, head: Indices, restricted: npt.NDArray[np.bool_], num_nodes: int) -> Layered:
    """Return the graph in which restricted arcs serve only the ends of a trip.

    Parameters
    ----------
    tail, head : numpy.ndarray
        Nodes of the arcs, shape (num_arcs,) each.
    restricted : numpy.ndarray
        Whether each arc serves only the ends of a trip, shape (num_arcs,).
    num_nodes : int
        Number of nodes; those that no arc touches are left out.
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
    groups = (
        (main, free, main),
        (start, bound, start),
        (start, leaves, main),
        (end, bound, end),
        (main, enters, end),
    )
    return Layered(
        tail=np.concatenate([of_tail[tail[arcs]] for of_tail, arcs, _ in groups]),
        head=np.concatenate([of_head[head[arcs]] for _, arcs, of_head in groups]),
        arc=np.concatenate([arcs for _, arcs, _ in groups]),
        node=np.concatenate([main_nodes, copied, copied]),
        layer=np.repeat(np.arange(3, dtype=np.uint8), [len(main_nodes), len(copied), len(copied)]),
    )
