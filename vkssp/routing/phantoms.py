"""Ends of routes: from a point on a street to the nodes that a search begins at, and to those that it looks for.

Where a graph knows of turns, a node is a place and the street that one came there by. Who starts at a junction came by
none: all arcs out of it are open, and the turns into them cost nothing. Who wants to get to a junction does not care.
Who passes a point on the way does: the street that one came by is the street that one goes on along.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vkssp.algorithm import MAX_TERMINALS
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode


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


@dataclass(frozen=True)
class ViaState:
    """A way to be at a point: how one came there, and how one goes on.

    Attributes
    ----------
    goals : list of End
        Nodes from which one comes; none where a trip begins.
    starts : list of End
        Nodes that one gets to first; none where a trip ends.
    arcs : frozenset of int or None
        The arcs that one passes along, none at a junction; None where it may be any.
    nodes : frozenset of int or None
        The nodes of the junction that one passes through; None elsewhere, and where it may be any.
    """

    goals: list[PhantomNode]
    starts: list[PhantomNode]
    arcs: frozenset[int] | None = None
    nodes: frozenset[int] | None = None


def first_arcs(index: StreetIndex, snap: Snap) -> list[tuple[int, float]]:
    """Return the arcs along which one may begin at a point, and how much of each is before it."""
    if index.knows_turns and snap.is_end:
        return [(arc, 0.0) for node in index.nodes_of(snap) for arc in index.arcs_out(node)]
    return [(arc, position(index, arc, snap)) for arc in index.arcs(snap.polyline).tolist()]


def find_starts(index: StreetIndex, snap: Snap) -> list[PhantomNode]:
    """Return the nodes that one gets to first from a point."""
    arcs = first_arcs(index, snap)
    ends = _starts(index, snap, arcs)
    if index.knows_turns:
        return _best(ends)
    # Who stands on a junction is already there, whichever of its streets was found.
    return ends + [PhantomNode(int(index.graph.tail[arc]), 0) for arc, at in arcs if at == 0.0]


def find_goals(index: StreetIndex, snap: Snap) -> list[PhantomNode]:
    """Return the nodes from which one gets to a point without passing another."""
    arcs = index.arcs(snap.polyline).tolist()
    if index.knows_turns and snap.is_end:
        return _best(PhantomNode(node, 0) for node in index.nodes_of(snap))
    ends = _goals(index, snap, arcs)
    if index.knows_turns:
        return _best(ends)
    return ends + [PhantomNode(int(index.graph.head[a]), 0) for a in arcs if position(index, a, snap) == 1.0]


def find_passages(index: StreetIndex, snap: Snap) -> list[ViaState]:
    """Return the ways to pass a point without turning round there.

    On a street these are its two directions, at a junction the streets that one may have come by, where the graph knows
    of turns. Either may be there more than once, for those who have to remember more of the way, see `Streets.memory`.
    """
    if snap.is_end:
        nodes: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for node in index.nodes_of(snap):
            nodes[_memory(index, node), _layer(index, node) > 0].append(node)
        found = []
        for (memory, bound), group in nodes.items():
            # Who came by a street that serves the ends of trips may go on along such, too, as a new leg starts.
            starts = [*group, *nodes.get((memory, False), [])] if bound else group
            goals, out = (_best(PhantomNode(node, 0) for node in ends) for ends in (group, starts))
            found.append(ViaState(goals, out, frozenset(), frozenset(group)))
        return found
    arcs = defaultdict(list)
    for arc in index.arcs(snap.polyline).tolist():
        arcs[bool(index.backward[arc]), _memory(index, int(index.graph.head[arc]))].append(arc)
    layers: dict[bool, set[int]] = defaultdict(set)
    for (backward, _), group in arcs.items():
        layers[backward] |= {_layer(index, int(index.graph.head[arc])) for arc in group}
    passages = []
    for (backward, memory), group in arcs.items():
        ends = _starts(index, snap, [(arc, position(index, arc, snap)) for arc in group])
        # Streets that serve only the ends of trips serve those of each leg. No arc may lead to where a leg starts with
        # the same memory, as the streets to be remembered are none that one starts on.
        ends += [
            replace(end, node=node)
            for end in _best_of_places(index, ends)
            for node in index.nodes_at(end.node)
            if node != end.node and _memory(index, node) == memory and _layer(index, node) in layers[backward]
        ]
        passages.append(ViaState(_best(_goals(index, snap, group)), _best(ends), frozenset(group)))
    return passages


def find_direct(
    index: StreetIndex, start: Snap, goal: Snap, leaving: ViaState | None = None, coming: ViaState | None = None
) -> tuple[int, PhantomNode, PhantomNode] | None:
    """Return the best way from a point to another that passes no node, None where there is none.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    start, goal : Snap
        The two points.
    leaving, coming : ViaState, optional
        How one goes on from the first, and comes to the second; by default that may be any way.

    Returns
    -------
    tuple of (int, PhantomNode, PhantomNode) or None
        What it takes, and the two points on the arc that they share; without one where they are the same junction.
    """
    graph = index.graph
    ways: list[tuple[int, PhantomNode, PhantomNode]] = []
    free = leaving is None or leaving.arcs is None
    nodes = set(index.nodes_of(start)) if free and index.knows_turns and start.is_end else set()
    if nodes and goal.is_end:
        shared = nodes & (set(index.nodes_of(goal)) if coming is None or coming.nodes is None else coming.nodes)
        if shared:
            end = PhantomNode(min(shared), 0)
            return 0, end, end
    for arc in index.arcs(goal.polyline).tolist():
        if any(passage is not None and not _is_along(passage, arc) for passage in (leaving, coming)):
            continue
        there = position(index, arc, goal)
        if goal.polyline == start.polyline:
            here = position(index, arc, start)
        elif int(graph.tail[arc]) in nodes:
            here = 0.0
        else:
            continue
        if here <= there and index.is_open(arc, start, goal):
            weight = part_weight(index, arc, there - here)
            ways.append((weight, PhantomNode(-1, 0, arc, here), PhantomNode(-1, 0, arc, there)))
    return min(ways, key=lambda way: way[0], default=None)


def _starts(index: StreetIndex, snap: Snap, arcs: Iterable[tuple[int, float]]) -> list[PhantomNode]:
    """Return the ways from a point to the heads of arcs, of each of which so much is before it."""
    head = index.graph.head
    return [
        PhantomNode(int(head[arc]), part_weight(index, arc, 1.0 - at), arc, at)
        for arc, at in arcs
        if index.is_open(arc, snap if at > 0.0 else None)
    ]


def _goals(index: StreetIndex, snap: Snap, arcs: Iterable[int]) -> list[PhantomNode]:
    """Return the ways from the tails of arcs to a point that lies on them."""
    ends = [(a, position(index, a, snap)) for a in arcs if index.is_open(a, end=snap)]
    tail = index.graph.tail
    return [PhantomNode(int(tail[a]), turn_weight(index, a) + part_weight(index, a, at), a, at) for a, at in ends]


def _is_along(passage: ViaState, arc: int) -> bool:
    return passage.arcs is None or arc in passage.arcs


def _memory(index: StreetIndex, node: int) -> int:
    """Return what decides how one may go on from a node of some place."""
    streets = index.graph.streets
    if streets is None or streets.junction is None:
        return 0
    # Of a graph that does not tell, no two nodes are taken to be alike.
    return node if streets.memory is None else int(streets.memory[node])


def _layer(index: StreetIndex, node: int) -> int:
    """Return which part of a trip a node serves."""
    streets = index.graph.streets
    return 0 if streets is None or streets.layer is None else int(streets.layer[node])


def _best_of_places(index: StreetIndex, ends: Iterable[PhantomNode]) -> list[PhantomNode]:
    """Return the best end for each place; its nodes times its ends could be many."""
    junctions = index.junctions
    best: dict[int, PhantomNode] = {}
    for end in ends:
        place = end.node if junctions is None else int(junctions.place[end.node])
        if place not in best or end.weight < best[place].weight:
            best[place] = end
    return list(best.values())


def _best(ends: Iterable[PhantomNode]) -> list[PhantomNode]:
    """Return the best end for each node; of more than a search takes the nearest."""
    best: dict[int, PhantomNode] = {}
    for end in ends:
        if end.node not in best or end.weight < best[end.node].weight:
            best[end.node] = end
    return sorted(best.values(), key=lambda end: end.weight)[:MAX_TERMINALS]
