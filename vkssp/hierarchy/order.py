"""Elimination orders: a good order by nested dissection, and a fast order to test whether a graph is suitable."""

from __future__ import annotations

import numpy as np

from vkssp.graph import Floats, Graph, Uint32s
from vkssp.graph.landmarks import landmark_places
from vkssp.graph.order import z_order
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.inertial_flow import inertial_order


def places(graph: Graph) -> tuple[Floats, Floats]:
    """Return the coordinates of the nodes: those of the graph, or substitutes from hops from landmarks.

    Returns
    -------
    lat, lon : numpy.ndarray
        Shape (num_nodes,) each, float64, both in the same unit.
    """
    if graph.lat is not None and graph.lon is not None:
        return graph.lat, graph.lon
    # The substitutes are near the equator, so that both directions have the same scale.
    scale = 1.0 / max(1, graph.num_nodes)
    x, y = (place.astype(np.float64) * scale for place in landmark_places(graph.first_out, graph.head))
    return y, x


def nested_dissection(edges: Edges, at: tuple[Floats, Floats]) -> Uint32s:
    """Return the nodes in a good elimination order, by nested dissection with inertial flow.

    Separators are smallest cuts between nodes at two ends of the map (A. Schild and C. Sommer, "On balanced separators
    in road networks", SEA 2015), as RoutingKit computes them. Only the core is dissected; see `vkssp.hierarchy.core`.

    Parameters
    ----------
    edges : Edges
        Edges of the graph.
    at : tuple of numpy.ndarray
        Coordinates of the nodes, see `places`.

    Returns
    -------
    numpy.ndarray
        Shape (num_nodes,), uint32.
    """
    return dissected(Core.of(edges), at)


def dissected(core: Core, at: tuple[Floats, Floats]) -> Uint32s:
    """Return the order of `nested_dissection` for a graph with a given core."""
    edges = core.edges
    order = inertial_order(len(core.node), edges.low, edges.high, *(values[core.node] for values in at))
    return np.concatenate([core.outside, core.node[order]])


def halving(edges: Edges, at: tuple[Floats, Floats]) -> Uint32s:
    """Return the nodes in a quickly computed elimination order, several times worse than that of `nested_dissection`.

    Nodes are numbered along the Z-order curve, and these numbers are halved again and again. The lower ends of the
    edges across a cut separate both halves, and are eliminated after them.
    """
    numbers = z_order(*at)
    low, high = numbers.rank[edges.low], numbers.rank[edges.high]
    # The highest bit in which two numbers differ identifies the cut between them.
    cut = np.frexp((low ^ high).astype(np.float64))[1].astype(np.uint8)
    largest_cut = np.zeros(edges.num_nodes, np.uint8)
    np.maximum.at(largest_cut, np.minimum(low, high), cut)
    return numbers.node[np.argsort(largest_cut, kind="stable")]
