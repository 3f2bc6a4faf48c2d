"""Ends of routes: from a point on a street to the nodes that a search begins at, and to those that it looks for.

Where a graph knows of turns, a node is a place and the street that one came there by. Who starts at a junction came by
none: all arcs out of it are open, and the turns into them cost nothing. Who wants to get to a junction does not care.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vkssp.routing.snap import Snap, StreetIndex
from vkssp.solvers.base import MAX_TERMINALS


@dataclass(frozen=True)
class End:
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


def position(index: StreetIndex, arc: int, snap: Snap) -> float:
    """Return how much of an arc is before a point on its polyline."""
    return 1.0 - snap.fraction if index.backward[arc] else snap.fraction


def turn_weight(index: StreetIndex, arc: int) -> int:
    """Return what the turn into an arc takes."""
    streets = index.graph.streets
    return 0 if streets is None or streets.turn is None else int(streets.turn[arc])


def part_weight(index: StreetIndex, arc: int, part: float) -> int:
    """Return what a part of an arc takes, without the turn into it."""
    return round(part * (int(index.graph.weight[arc]) - turn_weight(index, arc)))


def find_starts(index: StreetIndex, snap: Snap) -> list[End]:
    """Return the nodes that one gets to first from a point."""
    graph, arcs = index.graph, index.arcs(snap.polyline).tolist()
    if index.knows_turns and snap.fraction in (0.0, 1.0):
        arcs = [arc for node in index.nodes_of(snap) for arc in index.arcs_out(node)]
        return _best(End(int(graph.head[a]), part_weight(index, a, 1.0), a, 0.0) for a in arcs)
    at = {arc: position(index, arc, snap) for arc in arcs}
    ends = [End(int(graph.head[a]), part_weight(index, a, 1.0 - at[a]), a, at[a]) for a in arcs]
    if index.knows_turns:
        return _best(ends)
    # Who stands on a junction is already there, whichever of its streets was found.
    return ends + [End(int(graph.tail[a]), 0) for a in arcs if at[a] == 0.0]


def find_goals(index: StreetIndex, snap: Snap) -> list[End]:
    """Return the nodes from which one gets to a point without passing another."""
    graph, arcs = index.graph, index.arcs(snap.polyline).tolist()
    if index.knows_turns and snap.fraction in (0.0, 1.0):
        return _best(End(node, 0) for node in index.nodes_of(snap))
    at = {arc: position(index, arc, snap) for arc in arcs}
    ends = [End(int(graph.tail[a]), turn_weight(index, a) + part_weight(index, a, at[a]), a, at[a]) for a in arcs]
    if index.knows_turns:
        return _best(ends)
    return ends + [End(int(graph.head[a]), 0) for a in arcs if at[a] == 1.0]


def find_direct(index: StreetIndex, start: Snap, goal: Snap) -> tuple[int, End, End] | None:
    """Return the best way from a point to another that passes no node, None where there is none.

    Returns
    -------
    tuple of (int, End, End) or None
        What it takes, and the two points on the arc that they share; without one where they are the same junction.
    """
    graph = index.graph
    ways: list[tuple[int, End, End]] = []
    nodes = set(index.nodes_of(start)) if index.knows_turns and start.fraction in (0.0, 1.0) else set()
    if nodes and goal.fraction in (0.0, 1.0) and nodes & set(index.nodes_of(goal)):
        end = End(min(nodes), 0)
        return 0, end, end
    for arc in index.arcs(goal.polyline).tolist():
        there = position(index, arc, goal)
        if goal.polyline == start.polyline:
            here = position(index, arc, start)
        elif int(graph.tail[arc]) in nodes:
            here = 0.0
        else:
            continue
        if here <= there:
            weight = part_weight(index, arc, there - here)
            ways.append((weight, End(-1, 0, arc, here), End(-1, 0, arc, there)))
    return min(ways, key=lambda way: way[0], default=None)


def _best(ends: Iterable[End]) -> list[End]:
    """Return the best end for each node; of more than a search takes the nearest."""
    best: dict[int, End] = {}
    for end in ends:
        if end.node not in best or end.weight < best[end.node].weight:
            best[end.node] = end
    return sorted(best.values(), key=lambda end: end.weight)[:MAX_TERMINALS]
