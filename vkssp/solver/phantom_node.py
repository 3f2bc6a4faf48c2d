"""Phantom nodes: points on arcs, represented by the nodes that a search starts from or looks for."""

from __future__ import annotations

from typing import NamedTuple


class PhantomNode(NamedTuple):
    """Connection from a point to a node, or from a node to a point.

    Attributes
    ----------
    node : int
        The node.
    weight : int
        Weight between the point and the node.
    arc : int
        The arc that contains both, -1 if the point is the node.
    at : float
        Share of the arc's length that lies before the point.
    """

    node: int
    weight: int
    arc: int = -1
    at: float = 0.0
