"""Nodes that trips may reach first: those that remember no more of the path there than its last street.

In a graph with turns a street has several arcs in the same direction if travellers on it remember different things,
such as the street before, from which a restriction begins that forbids a turn after the next one. A trip that begins on
the street has travelled nothing before. So it reaches the node that remembers the least; the others are for those who
have travelled what these nodes remember. A node that remembers more forbids more turns, and where no other turn is
left, it may allow turning round, which is forbidden to those who may go on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph import Graph
from vkssp.jit import kernels


def begin_nodes(graph: Graph) -> npt.NDArray[np.bool_]:
    """Return whether trips may reach each node first, from the street that leads there, shape (num_nodes,), bool.

    A memory to which an arc leads from a node that remembers nothing is one of no more than this arc. Elsewhere, as
    where every arc is remembered, it is the least number of those that a street leads to; see `Streets.memory`. All
    nodes count if the graph does not know what they remember.
    """
    begins, streets = np.ones(graph.num_nodes, np.bool_), graph.streets
    if streets is None or streets.junction is None or streets.memory is None:
        return own(begins)
    memory, layer = streets.memory, np.zeros(0, np.uint8) if streets.layer is None else streets.layer
    if int(memory.max(initial=0)) > graph.num_nodes + graph.num_arcs:  # a small file may have large numbers
        _, ranks = np.unique(np.append(np.uint32(0), memory), return_inverse=True)
        memory = own(ranks[1:].astype(np.uint32))
    is_short = np.zeros(int(memory.max(initial=0)) + 1, np.bool_)
    least = np.full(6 * (len(streets.polyline_first) - 1), 2**32 - 1, np.uint32)
    kernels("vkssp.routing.kernels.begins").find_begins(
        *(graph.first_out, graph.head, memory, layer, streets.polyline, streets.backward), *(is_short, least, begins)
    )
    return own(begins)
