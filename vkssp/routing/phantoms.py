"""Phantom nodes of snapped points: the nodes that a search begins at, and the nodes that it looks for.

If a graph knows of turns, a node is a place together with the street by which a traveller arrived there. A trip that
starts at a junction arrived by no street: all arcs out of the junction are open, and the turns into them cost nothing.
A trip that ends at a junction may arrive by any street. A trip that passes a point goes on along the street by which it
arrived. If nodes remember more than this street, a trip begins with the least memory, ends with any, and keeps what it
remembers where it passes a point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from vkssp.algorithm import MAX_TERMINALS
from vkssp.routing.lines import Door, Inside, Snap
from vkssp.routing.open_areas import weight_inside
from vkssp.routing.part_weights import entered_weight, part_weight, turn_weight
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode


def position(index: StreetIndex, arc: int, snap: Snap) -> float:
    """Return the part of an arc, from 0 to 1, before a point on its polyline."""
    return 1.0 - snap.fraction if index.backward[arc] else snap.fraction


def _position_near(index: StreetIndex, arc: int, snap: Snap) -> float:
    """Return the part of an arc before a point on its polyline, or at a junction at which it begins or ends."""
    if index.polyline_of[arc] == snap.polyline:
        return position(index, arc, snap)
    return 0.0 if int(index.graph.tail[arc]) in index.nodes_of(snap) else 1.0


class ViaState(NamedTuple):
    """State in which a route passes a point: how it arrives there, and how it goes on.

    Attributes
    ----------
    goals : list of PhantomNode
        Nodes from which the route arrives; empty if the trip begins at the point.
    starts : list of PhantomNode
        Nodes that the route reaches next; empty if the trip ends at the point.
    arcs : frozenset of int or None
        The arcs along which the route passes the point, empty at a junction; None if any arc is allowed.
    nodes : frozenset of int or None
        The nodes of the junction through which the route passes; None on a street, or if any node is allowed.
    """

    goals: list[PhantomNode]
    starts: list[PhantomNode]
    arcs: frozenset[int] | None = None
    nodes: frozenset[int] | None = None


def first_arcs(index: StreetIndex, snap: Snap) -> list[tuple[int, float]]:
    """Return the arcs along which a trip may begin at a point, each with the part of the arc before the point."""
    found, later = passed_arcs(index, snap), index.later_arcs
    return [(arc, at) for arc, at in found if arc not in later] if later else found


def passed_arcs(index: StreetIndex, snap: Snap) -> list[tuple[int, float]]:
    """Return the arcs along which a trip may go on from a point, each with the part of the arc before the point.

    There may be several along the same street, by what the trip remembers; it begins only on those of `first_arcs`.
    """
    if snap.arcs is not None:
        return [(arc, _position_near(index, arc, snap)) for arc in snap.arcs]
    if index.knows_turns and snap.is_end:
        return [(arc, 0.0) for node in index.nodes_of(snap) for arc in index.arcs_out(node)]
    return [(arc, position(index, arc, snap)) for arc in index.arcs(snap.polyline).tolist()]


def find_starts(index: StreetIndex, snap: Snap) -> list[PhantomNode]:
    """Return the phantom nodes from a point to the nodes that a trip from there reaches first."""
    if snap.inside is not None:
        return _through_doors(index, snap.inside, find_starts)
    arcs = first_arcs(index, snap)
    if snap.arcs is not None:
        return _best(_directed_starts(index, snap, arcs))
    arrived = arrivals(index, snap)
    if arrived is not None:
        arcs = [(arc, at) for arc, at in arcs if index.usable[index.polyline_of[arc]]]
        return _best(_starts(index, snap, arcs) + [PhantomNode(n, 0) for n in arrived if index.begin_nodes[n]])
    ends = _starts(index, snap, arcs)
    if index.knows_turns:
        return _best(ends)  # many arcs out of a junction lead to the same node
    # A trip that starts on a junction is already at its node, whichever street of the junction was found.
    return ends + [PhantomNode(int(index.graph.tail[arc]), 0) for arc, at in arcs if at == 0.0]


def find_goals(index: StreetIndex, snap: Snap) -> list[PhantomNode]:
    """Return the phantom nodes to a point from the nodes that reach it without passing another node."""
    if snap.inside is not None:
        return _through_doors(index, snap.inside, find_goals)
    if snap.arcs is not None:
        return _best(_directed_goals(index, snap, snap.arcs))
    if index.knows_turns and snap.is_end:
        arrived = arrivals(index, snap)
        if arrived is not None:
            return _best([PhantomNode(node, 0) for node in arrived] + _turned_off(index, snap, arrived))
        return _best([PhantomNode(node, 0) for node in index.nodes_of(snap)])
    arcs = index.arcs(snap.polyline).tolist()
    ends = _goals(index, snap, arcs)
    if index.knows_turns:
        return _best(ends)
    return ends + [PhantomNode(int(index.graph.head[a]), 0) for a in arcs if position(index, a, snap) == 1.0]


def arrivals(index: StreetIndex, snap: Snap) -> set[int] | None:
    """Return the nodes at a junction for those who arrived by a street on which trips may begin and end.

    None if trips may begin on all streets of the junction, or if the point is at no junction, or if it is on a street
    on which others do not begin. Trips that begin at a pier turn onto the ferry from a street, which takes time.
    """
    if not (index.knows_turns and snap.is_end and index.usable[snap.polyline]):
        return None
    nodes = set(index.nodes_of(snap))
    if not index.beside_unusable[next(iter(nodes))]:
        return None
    lines = {int(index.polyline_of[arc]) for node in nodes for arc in index.arcs_out(node)} | {snap.polyline}
    heads = {int(index.graph.head[arc]) for line in lines if index.usable[line] for arc in index.arcs(line).tolist()}
    return nodes & heads


def _turned_off(index: StreetIndex, snap: Snap, arrived: set[int]) -> list[PhantomNode]:
    """Return the phantom nodes of those who arrive at a junction otherwise, and turn into a street to end there."""
    found = []
    for node in index.nodes_of(snap):
        if node not in arrived:
            arcs = [arc for arc in index.arcs_out(node) if index.usable[index.polyline_of[arc]]]
            # The arc along the point's own street is told, so that the turn into it counts in the leg.
            own = [arc for arc in arcs if index.polyline_of[arc] == snap.polyline]
            found += [PhantomNode(node, max(turn_weight(index.graph, arc), 0), arc, 0.0) for arc in own]
            found += [PhantomNode(node, max(turn_weight(index.graph, arc), 0)) for arc in arcs if arc not in own]
    return found


def find_via_states(index: StreetIndex, snap: Snap) -> list[ViaState]:
    """Return the states in which a route may pass a point without turning round there.

    On a street these are its two directions. At a junction of a graph that knows of turns they are the streets by which
    the route may arrive. Each may occur several times if more of the path has to be remembered; see `Streets.memory`.
    """
    if snap.inside is not None:
        return [ViaState(find_goals(index, snap), find_starts(index, snap))]
    if snap.is_end and snap.arcs is not None:
        return [
            ViaState(_directed_goals(index, snap, [arc]), _directed_starts(index, snap, [(arc, at)]), frozenset([arc]))
            for arc, at in passed_arcs(index, snap)
        ]
    if snap.is_end:
        nodes: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for node in index.nodes_of(snap):
            nodes[_memory(index, node), _layer(index, node) > 0].append(node)
        found = []
        for (memory, bound), group in nodes.items():
            # After arriving by a street that serves the ends of trips, a route may also leave by such a street, because
            # a new leg starts.
            starts = [*group, *nodes.get((memory, False), [])] if bound else group
            goals, out = (_best(PhantomNode(node, 0) for node in ends) for ends in (group, starts))
            found.append(ViaState(goals, out, frozenset(), frozenset(group)))
        return found
    arcs = defaultdict(list)
    for arc in index.arcs(snap.polyline).tolist() if snap.arcs is None else snap.arcs:
        arcs[bool(index.backward[arc]), _memory(index, int(index.graph.head[arc]))].append(arc)
    layers: dict[bool, set[int]] = defaultdict(set)
    for (backward, _), group in arcs.items():
        layers[backward] |= {_layer(index, int(index.graph.head[arc])) for arc in group}
    via_states = []
    for (backward, memory), group in arcs.items():
        ends = _starts(index, snap, [(arc, position(index, arc, snap)) for arc in group])
        # Streets that serve only the ends of trips serve the ends of each leg. Perhaps no arc leads to a node at which
        # a leg starts with the same memory, because a leg does not start on a street that has to be remembered.
        ends += [
            end._replace(node=node)
            for end in _best_of_places(index, ends)
            for node in index.nodes_at(end.node)
            if node != end.node and _memory(index, node) == memory and _layer(index, node) in layers[backward]
        ]
        via_states.append(ViaState(_best(_goals(index, snap, group)), _best(ends), frozenset(group)))
    return via_states


def find_direct(
    index: StreetIndex, start: Snap, goal: Snap, leaving: ViaState | None = None, coming: ViaState | None = None
) -> tuple[int, PhantomNode, PhantomNode] | None:
    """Return the best path from one point to another that passes no node, None if there is none.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    start, goal : Snap
        The two points.
    leaving, coming : ViaState, optional
        How the route leaves the first point, and how it arrives at the second. By default there is no restriction.

    Returns
    -------
    tuple of (int, PhantomNode, PhantomNode) or None
        The weight, and the two points on the arc that they share; they have no arc (-1) if both are the same junction.
    """
    if start.inside is not None or goal.inside is not None:
        return _direct_inside(index, start, goal, leaving, coming)
    # A trip that begins at the first point remembers nothing of what would have led there.
    free = leaving is None or leaving.arcs is None
    if start.arcs is not None or goal.arcs is not None:
        limits = [state.arcs for state in (leaving, coming) if state is not None and state.arcs is not None]
        return _directed_direct(index, start, goal, limits, free)
    graph = index.graph
    candidates: list[tuple[int, PhantomNode, PhantomNode]] = []
    nodes = set(index.nodes_of(start)) if free and index.knows_turns and start.is_end else set()
    if nodes and goal.is_end:
        shared = nodes & set(index.nodes_of(goal))
        if coming is not None and coming.nodes is not None:
            shared = {node for node in shared & coming.nodes if index.begin_nodes[node]}
        if shared:
            end = PhantomNode(min(shared), 0)
            return 0, end, end
    on_street = goal.polyline == start.polyline
    if not on_street and not nodes:
        return None
    arcs = index.arcs(goal.polyline).tolist()
    if start == goal and leaving is None and coming is None and index.avoided is None:
        end = PhantomNode(-1, 0, arcs[0], position(index, arcs[0], start))
        return 0, end, end
    limits = [state.arcs for state in (leaving, coming) if state is not None and state.arcs is not None]
    for arc in arcs:
        if on_street:
            here = position(index, arc, start)
        elif int(graph.tail[arc]) in nodes:
            here = 0.0
        else:
            continue
        if free and arc in index.later_arcs:
            continue
        there = position(index, arc, goal)
        if here <= there and all([arc in limit for limit in limits]) and index.is_open(arc, start, goal):
            weight = part_weight(graph, arc, there - here, start if on_street else None, goal)
            candidates.append((weight, PhantomNode(-1, 0, arc, here), PhantomNode(-1, 0, arc, there)))
    return min(candidates, key=itemgetter(0), default=None)


def _through_doors(
    index: StreetIndex, inside: Inside, find: Callable[[StreetIndex, Snap], list[PhantomNode]]
) -> list[PhantomNode]:
    """Return the phantom nodes of a place inside an open area, through the corners that it sees."""
    unit = _seconds_per_weight(index)
    return _best(
        end._replace(
            weight=end.weight + weight_inside(unit, door.metres, door.seconds), metres=door.metres, seconds=door.seconds
        )
        for door in inside.doors
        for end in find(index, door.snap)
    )


def _seconds_per_weight(index: StreetIndex) -> float:
    streets = index.graph.streets
    return 0.0 if streets is None else streets.seconds_per_weight


def _direct_inside(
    index: StreetIndex, start: Snap, goal: Snap, leaving: ViaState | None, coming: ViaState | None
) -> tuple[int, PhantomNode, PhantomNode] | None:
    """Return what `find_direct` returns for points of which at least one is inside an open area."""
    if start.inside is None or goal.inside is None or start.inside.area != goal.inside.area:
        return _direct_to_doors(index, start, goal, leaving, coming)
    _, metres, seconds = index.open_areas.path(start, goal)
    node = index.nodes_of(goal.inside.doors[0].snap)[0]
    weight = weight_inside(_seconds_per_weight(index), metres, seconds)
    return weight, PhantomNode(node, weight, metres=metres, seconds=seconds), PhantomNode(node, 0)


def _direct_to_doors(
    index: StreetIndex, start: Snap, goal: Snap, leaving: ViaState | None, coming: ViaState | None
) -> tuple[int, PhantomNode, PhantomNode] | None:
    """Return what `find_direct` returns for points in different places, the best way through corners of areas."""
    unit, found = _seconds_per_weight(index), []
    for out in _doors(start):
        for into in _doors(goal):
            path = find_direct(index, out.snap, into.snap, leaving, coming)
            if path is not None:
                weight, first, last = path
                weight += sum(weight_inside(unit, door.metres, door.seconds) for door in (out, into))
                first = first._replace(metres=out.metres, seconds=out.seconds)
                found.append((weight, first, last._replace(metres=into.metres, seconds=into.seconds)))
    return min(found, key=itemgetter(0), default=None)


def _doors(snap: Snap) -> tuple[Door, ...]:
    """Return the corners of a place inside an open area, or a point on a street itself."""
    return (Door(snap, 0.0, 0.0),) if snap.inside is None else snap.inside.doors


def _directed_direct(
    index: StreetIndex, start: Snap, goal: Snap, limits: list[frozenset[int]], free: bool
) -> tuple[int, PhantomNode, PhantomNode] | None:
    """Return what `find_direct` returns for points of which one has its own arcs, given the arcs of states.

    `free` says whether the trip begins at the first point.
    """
    begin = dict(passed_arcs(index, start))
    if start.arcs is None and start.polyline == goal.polyline:
        begin.update((arc, position(index, arc, start)) for arc in index.arcs(start.polyline).tolist())
    if free:
        begin = {arc: at for arc, at in begin.items() if arc not in index.later_arcs}
    found: list[tuple[int, PhantomNode, PhantomNode]] = []
    for arc in index.arcs(goal.polyline).tolist() if goal.arcs is None else goal.arcs:
        if arc not in begin or any(arc not in limit for limit in limits):
            continue
        here, there = begin[arc], _position_near(index, arc, goal)
        if here == there and there in (0.0, 1.0):
            end = PhantomNode(int((index.graph.head if there else index.graph.tail)[arc]), 0)
            found.append((0, end, end))
        elif here <= there and index.is_open(arc, start, goal):
            weight = part_weight(index.graph, arc, there - here, start, goal)
            found.append((weight, PhantomNode(-1, 0, arc, here), PhantomNode(-1, 0, arc, there)))
    return min(found, key=itemgetter(0), default=None)


def _directed_starts(index: StreetIndex, snap: Snap, arcs: list[tuple[int, float]]) -> list[PhantomNode]:
    """Return what `_starts` returns; a trip that begins at the end of an arc is at its head."""
    at_heads = [PhantomNode(int(index.graph.head[arc]), 0) for arc, at in arcs if at == 1.0]
    return at_heads + _starts(index, snap, [(arc, at) for arc, at in arcs if at < 1.0])


def _directed_goals(index: StreetIndex, snap: Snap, arcs: Iterable[int]) -> list[PhantomNode]:
    """Return what `_goals` returns for arcs of a point, which may belong to other polylines at a junction.

    A trip that ends at the beginning of an arc has turned into it.
    """
    found = []
    for arc in arcs:
        at = _position_near(index, arc, snap)
        if at == 1.0:
            found.append(PhantomNode(int(index.graph.head[arc]), 0))
        elif at == 0.0:
            found.append(PhantomNode(int(index.graph.tail[arc]), max(turn_weight(index.graph, arc), 0)))
        else:
            found += _goals(index, snap, [arc])
    return found


def _starts(index: StreetIndex, snap: Snap, arcs: list[tuple[int, float]]) -> list[PhantomNode]:
    """Return the phantom nodes from a point to the heads of arcs, given with the part of each arc before the point."""
    if index.avoided is not None:
        arcs = [(arc, at) for arc, at in arcs if index.is_open(arc, snap if at > 0.0 else None)]
    graph = index.graph
    return [
        PhantomNode(int(graph.head[arc]), part_weight(graph, arc, 1.0 - at, snap if at > 0.0 else None), arc, at)
        for arc, at in arcs
    ]


def _goals(index: StreetIndex, snap: Snap, arcs: list[int]) -> list[PhantomNode]:
    """Return the phantom nodes from the tails of arcs to a point that lies on them."""
    if index.avoided is not None:
        arcs = [arc for arc in arcs if index.is_open(arc, end=snap)]
    graph, found = index.graph, []
    for arc in arcs:
        at = 1.0 - snap.fraction if index.backward[arc] else snap.fraction
        found.append(PhantomNode(int(graph.tail[arc]), entered_weight(graph, arc, at, snap), arc, at))
    return found


def _memory(index: StreetIndex, node: int) -> int:
    """Return what a node remembers of the path there, which decides how a route may go on; see `Streets.memory`."""
    streets = index.graph.streets
    if streets is None or streets.junction is None:
        return 0
    # If the graph has no memory, no two nodes are taken to be alike.
    return node if streets.memory is None else int(streets.memory[node])


def _layer(index: StreetIndex, node: int) -> int:
    """Return the layer of a node, the part of a trip that it serves; see `Streets.layer`."""
    streets = index.graph.streets
    return 0 if streets is None or streets.layer is None else int(streets.layer[node])


def _best_of_places(index: StreetIndex, ends: Iterable[PhantomNode]) -> list[PhantomNode]:
    """Return the phantom node of least weight for each place, since the nodes times the ends of a place may be many."""
    junctions = index.junctions
    best: dict[int, PhantomNode] = {}
    for end in ends:
        place = end.node if junctions is None else int(junctions.place[end.node])
        if place not in best or end.weight < best[place].weight:
            best[place] = end
    return list(best.values())


def _best(ends: Iterable[PhantomNode]) -> list[PhantomNode]:
    """Return the phantom node of least weight for each node, at most `MAX_TERMINALS`, the nearest first."""
    best: dict[int, PhantomNode] = {}
    for end in ends:
        if end.node not in best or end.weight < best[end.node].weight:
            best[end.node] = end
    return sorted(best.values(), key=itemgetter(1))[:MAX_TERMINALS]
