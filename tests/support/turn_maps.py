"""Small maps with turn restrictions, and routes on them as steps from node to node."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.lawful import Step, Town, violations
from tests.support.osm_maps import Nodes, Relation, Way, write_osm
from vkssp import Graph, Router
from vkssp.osm import ImportReport, import_extract
from vkssp.route import Route
from vkssp.routing import legs
from vkssp.routing.lines import Snap

ROAD = {"highway": "residential"}
#: A junction 0 with roads to the west 1, north 2, east 3 and south 4, each to the node of its number.
CROSS: Nodes = {0: (0.0, 0.0), 1: (0.0, -0.002), 2: (0.002, 0.0), 3: (0.0, 0.002), 4: (-0.002, 0.0)}
ROADS: list[Way] = [(1, [1, 0], ROAD), (2, [0, 2], ROAD), (3, [0, 3], ROAD), (4, [4, 0], ROAD)]


def restriction(kind: str, origin: Any, via: Any, target: Any, **tags: str) -> Relation:
    """Return a relation; ways are numbers or lists of such, via is a node or a list of ways."""
    members = [("from", "way", way) for way in (origin if isinstance(origin, list) else [origin])]
    members += [("via", "way", way) for way in via] if isinstance(via, list) else [("via", "node", via)]
    members += [("to", "way", way) for way in (target if isinstance(target, list) else [target])]
    named = {key.replace("restriction_", "restriction:"): value for key, value in tags.items()}
    return members, {"type": "restriction", **({"restriction": kind} if kind else {}), **named}


def imported(
    tmp_path: Path, nodes: Nodes, ways: Sequence[Way], relations: Sequence[Relation] = (), **options: Any
) -> tuple[Graph, ImportReport]:
    path = write_osm(tmp_path / "map.osm", nodes, ways, relations=relations)
    return import_extract(path, **{"turns": "restrictions", **options})


def middle(town: Town, piece: tuple[int, int]) -> tuple[float, float]:
    """Return the place in the middle of a piece of a way."""
    a, b = (town.nodes[town.refs[piece[0]][piece[1] + i]] for i in (0, 1))
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def steps_of(town: Town, graph: Graph, route: Route) -> list[Step]:
    """Return the steps along all arcs of a route, whole ones at its ends; who goes on along a street takes it once."""
    streets = graph.streets
    assert streets is not None
    steps: list[Step] = []
    travelled: list[int] = []
    for leg in route.legs:
        arcs = leg.arcs.tolist()
        side = [(streets.polyline[arc], streets.backward[arc]) for arc in (*travelled[-1:], *arcs[:1])]
        goes_on = len(side) == 2 and side[0] == side[1] and leg.parts[0] < 1.0
        travelled += arcs[1:] if goes_on else arcs
    for arc in travelled:
        way = int(streets.way[arc])
        places = {ref: town.nodes[ref] for ref in town.refs[way]}
        where = {(round(place[0] * 1e7), round(place[1] * 1e7)): ref for ref, place in places.items()}
        refs = [
            where[lat, lon] for lat, lon in np.rint(streets.points_along(np.array([arc])) * 1e7).astype(int).tolist()
        ]
        pairs = {(u, v): (way, i, 1) for i, (u, v) in enumerate(itertools.pairwise(town.refs[way]))}
        pairs |= {(v, u): (way, i + 1, -1) for (u, v), (_, i, _) in pairs.items()}
        steps += [pairs[pair] for pair in itertools.pairwise(refs) if pair[0] != pair[1]]
    return steps


def path_between(router: Router, start: Snap, goal: Snap) -> legs.LegPath | None:
    """Return the best path between two snapped points, None where there is none."""
    found = legs.find_leg_paths(router.solver, router.index, [start, goal], straight=True)
    return None if isinstance(found, int) else found[0]


def ways_taken(graph: Graph, route: Route) -> list[int]:
    assert graph.streets is not None
    return [way for way, _ in itertools.groupby(graph.streets.way[route.arcs].tolist())]


def from_to(router: Router, town: Town, origin: int, target: int) -> list[int]:
    """Return the ways of the route between the middles of the first pieces of two ways."""
    route = router.route(middle(town, (origin, 0)), middle(town, (target, 0)))
    assert violations(town, steps_of(town, router.graph, route)) == []
    return ways_taken(router.graph, route)
