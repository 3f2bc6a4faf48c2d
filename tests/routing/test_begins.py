"""Where trips begin in graphs that remember several streets: with the memory of those who have travelled none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.lawful import Town
from tests.support.turn_maps import ROAD, imported, middle, restriction, ways_taken
from vkssp import Graph, Router, Stop, with_segment_speeds
from vkssp.routing.begins import begin_nodes

#: Ways 1, 2 and 3 in a row, which 4, with a dead end, continues; 5 leaves between 2 and 3. The first two are one-way.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.002), 3: (0.0, 0.004), 4: (0.0, 0.006), 5: (0.0, 0.012), 6: (0.002, 0.004)}
ONEWAY = {**ROAD, "oneway": "yes"}
WAYS = [(1, [1, 2], ONEWAY), (2, [2, 3], ONEWAY), (3, [3, 4], ROAD), (4, [4, 5], ROAD), (5, [3, 6], ROAD)]
#: Who comes from 1 has to turn round at the end of 3; who comes from 2 may go on, but not turn round.
RULES = [restriction("no_left_turn", 2, 3, 5), restriction("no_straight_on", 1, [2, 3], 4)]
TOWN = Town(NODES, WAYS, RULES)
FIRST, SECOND, THIRD, FOURTH, FIFTH = (middle(TOWN, (way, 0)) for way in range(1, 6))


@pytest.mark.parametrize("simplify", [False, True])
def test_who_begins_behind_a_restricted_street_may_not_turn_round(tmp_path: Path, simplify: bool) -> None:
    graph, _ = imported(tmp_path, NODES, WAYS, RULES, turns="costs", simplify=simplify)
    assert graph.streets is not None
    with Router(graph, "dijkstra") as router:
        route, through = router.route(SECOND, FIFTH), router.route(SECOND, FIFTH, via=[NODES[4]])
        at_junction = router.route(NODES[2], FIFTH)
        assert ways_taken(graph, route) == ways_taken(graph, at_junction) == [2, 3, 4, 3, 5]
        assert through.weight == route.weight
        # Those who have travelled the first street keep this in mind.
        assert ways_taken(graph, router.route(FIRST, FIFTH)) == [1, 2, 3, 5]
        for via in (NODES[3], THIRD, NODES[4]):
            assert ways_taken(graph, router.route(FIRST, FIFTH, via=[via])) == [1, 2, 3, 5]
        # Along one street to a point on it, and on from there.
        for start in ((0.0, 0.0045), Stop(0.0, 0.0045, bearing=(90, 30)), NODES[3]):
            assert ways_taken(graph, router.route(start, FIFTH, via=[(0.0, 0.0055)])) == [3, 4, 3, 5]
        assert router.routes([SECOND], [FIFTH])[0].weight == route.weight
        table = router.table([SECOND, NODES[2]], [FIFTH], "weight").read()["weight"]
        assert table.tolist() == [[route.weight], [at_junction.weight]]
        # Within a minute less than the route takes, no part of its first street is left.
        assert route.duration_s is not None
        for more, reached in ((-60.0, False), (60.0, True)):
            limit = route.duration_s + more
            (area,) = router.isochrones(FIFTH, [limit], reverse=True)
            assert area.geometry.covers(shapely.Point(*SECOND[::-1])) == reached
            served = router.service_areas([FIFTH], limit, reverse=True).streets
            street = graph.streets.polyline[route.arcs[0]]
            assert (street in served.polyline.tolist()) == reached


def test_trips_begin_alike_behind_closed_pieces_of_saved_graphs(tmp_path: Path) -> None:
    """The arc that shows which memory is the short one may be among those that are cut."""
    ways = [(1, [1, 2], ROAD), (2, [2, 7, 3], ROAD), (4, [3, 4], ROAD), (5, [3, 6], ROAD)]
    rules = [restriction("no_straight_on", 1, [2], 4), restriction("no_left_turn", 2, 3, 5)]
    nodes = {**NODES, 7: (0.0, 0.003)}
    graph, _ = imported(tmp_path, nodes, ways, rules, turns="restrictions", simplify=True)
    assert graph.streets is not None and graph.streets.memory is not None
    memory = graph.streets.memory
    others = replace(graph, streets=replace(graph.streets, memory=np.where(memory > 0, memory.max() + 1 - memory, 0)))
    for one in (graph, others):
        cut = with_segment_speeds(one, [(2, 7), (7, 2)], [0, 0])
        with Router(cut, "dijkstra") as router:
            assert ways_taken(cut, router.route((0.0, 0.0035), FOURTH)) == [2, 4]


@pytest.mark.parametrize("turns", ["restrictions", "costs"])
def test_memories_of_saved_graphs_may_have_other_numbers(tmp_path: Path, turns: str) -> None:
    graph, _ = imported(tmp_path, NODES, WAYS, RULES, turns=turns)
    assert graph.streets is not None and graph.streets.memory is not None
    begins, memory = begin_nodes(graph), graph.streets.memory.astype(np.int64)
    assert 0 < np.count_nonzero(begins) < graph.num_nodes

    def numbered(numbers: np.ndarray) -> Graph:
        assert graph.streets is not None
        return replace(graph, streets=replace(graph.streets, memory=numbers.astype(np.uint32)))

    # Larger numbers than there is room for; and, where a node remembers nothing, the larger ones first.
    assert (begin_nodes(numbered(memory * 10**7)) == begins).all()
    if turns == "restrictions":
        others = numbered(np.where(memory > 0, memory.max() + 1 - memory, 0))
        assert (begin_nodes(others) == begins).all()
        with Router(others, "dijkstra") as router:
            assert ways_taken(others, router.route(SECOND, FOURTH)) == [2, 3, 4]
    assert begin_nodes(replace(graph, streets=replace(graph.streets, memory=None))).all()
