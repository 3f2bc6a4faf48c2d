"""Phantom nodes: points on arcs, by the nodes that a search begins at or looks for in their place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PhantomNode:
    """A way from a point to a node, or from a node to a point.

    Attributes
    ----------
    node : int
        The node.
    weight : int
        What is between the two.
    arc : int
        The arc that both are on, -1 where the point is the node.
    at : float
        How much of the arc, by length, is before the point.
    """

    node: int
    weight: int
    arc: int = -1
    at: float = 0.0
