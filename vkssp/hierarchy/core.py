"""Core of a graph: the nodes outside of dead ends and chains, which have a good elimination order without dissection.

In a street map with the shapes of its streets, the core has a few percent of the nodes. All other nodes form trees that
are attached to one node of the core or link two. If these trees are eliminated first, a tree adds no edge to the core
except between these two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.graph import Uint32s
from vkssp.hierarchy.edges import Edges
from vkssp.jit import kernels

#: Nodes of trees up to this label are eliminated one after the other, from the outside in. Then pieces of three nodes
#: of a chain are one supernode instead of two, and there are a quarter fewer supernodes and ancestors.
_PIECE = 1


@dataclass(frozen=True, eq=False)
class Core:
    """Core of a graph, and an elimination order of all nodes outside.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node for each node of the core, shape (num_nodes,), uint32.
    edges : Edges
        Edges between nodes of the core, by their indices in `node`.
    outside : numpy.ndarray
        The graph's other nodes in the order of their elimination, which precedes that of the core, uint32.
    """

    node: Uint32s
    edges: Edges
    outside: Uint32s

    @classmethod
    def of(cls, edges: Edges) -> Core:
        """Return the core of a graph with the given edges."""
        first, neighbour = edges.both_ways()
        label, sequence = np.empty(edges.num_nodes, np.int8), np.empty(edges.num_nodes, np.int32)
        low, high = np.empty(len(edges.low), np.uint32), np.empty(len(edges.low), np.uint32)
        count, made = kernels("vkssp.hierarchy.kernels").label_trees(first, neighbour, label, sequence, low, high)
        node, outside = np.flatnonzero(label < 0), sequence[:count]
        outside = outside[np.argsort(np.maximum(label[outside], _PIECE), kind="stable")]
        place = np.zeros(edges.num_nodes, np.uint32)
        place[node] = np.arange(len(node), dtype=np.uint32)
        between = Edges.between(len(node), place[low[:made]], place[high[:made]])
        return cls(node.astype(np.uint32), between, outside.astype(np.uint32))
