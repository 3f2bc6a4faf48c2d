"""Turn restrictions and costs of turns, on small maps made by hand."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support.lawful import Town, violations
from tests.support.osm_maps import Nodes, Relation, Way, write_osm
from tests.support.turn_maps import (
    CROSS,
    ROAD,
    ROADS,
    from_to,
    imported,
    leg_path_between,
    middle,
    restriction,
    ways_taken,
)
from vkssp import Graph, Router, Solver
from vkssp.cli import main
from vkssp.errors import GraphError, QueryError
from vkssp.gpu.device import Device
from vkssp.graph.order import Order
from vkssp.osm.profile import FOLDER


@pytest.mark.parametrize(
    ("relations", "direct"),
    [
        ([], {(a, b) for a in (1, 2, 3, 4) for b in (1, 2, 3, 4) if a != b}),
        ([restriction("no_left_turn", 1, 0, 2)], {(1, 3), (1, 4), (2, 1), (3, 2), (4, 2)}),
        ([restriction("only_straight_on", 1, 0, 3)], {(1, 3), (2, 1), (3, 1), (4, 1)}),
        ([restriction("only_right_turn", 1, 0, 4), restriction("only_straight_on", 1, 0, 3)], {(1, 3), (1, 4)}),
        ([restriction("no_entry", [1, 3], 0, 2)], {(4, 2), (1, 3), (1, 4), (3, 1), (3, 4)}),
        ([restriction("no_exit", 1, 0, [2, 3])], {(1, 4), (4, 2), (4, 3)}),
        ([restriction("no_left_turn", 1, 0, 2, **{"except": "bus;motorcar"})], {(1, 2)}),
        ([restriction("no_left_turn", 1, 0, 2, **{"except": "bicycle"})], {(1, 3)}),
        ([restriction("", 1, 0, 2, restriction_motorcar="no_left_turn")], {(1, 3), (2, 1)}),
        ([restriction("", 1, 0, 2, restriction_hgv="no_left_turn")], {(1, 2)}),
        ([restriction("no_left_turn", 1, 0, 2, restriction_motorcar="none")], {(1, 2)}),
        ([restriction("no_left_turn", 1, 0, 2, restriction_motor_vehicle="only_left_turn")], {(1, 2), (3, 2)}),
    ],
)
@pytest.mark.parametrize("turns", ["restrictions", "costs"])
@pytest.mark.parametrize("gate", [{}, {"barrier": "gate"}])
def test_a_junction(
    tmp_path: Path, relations: list[Relation], direct: set[tuple[int, int]], turns: str, gate: Mapping[str, str]
) -> None:
    town = Town(CROSS, ROADS, relations)
    nodes: Nodes = {**CROSS, 0: (0.0, 0.0, gate)}
    graph, report = imported(tmp_path, nodes, ROADS, relations, turns=turns)
    assert set(report.restrictions) <= {"obeyed", "for others"} and not report.broken_restrictions
    with Router(graph, "dijkstra") as router:
        for origin, target in itertools.permutations((1, 2, 3, 4), 2):
            steps = [(origin, 0, 1 if origin in (1, 4) else -1), (target, 0, -1 if target in (1, 4) else 1)]
            if origin in (2, 3):
                steps[0] = (origin, 1, -1)
            if target in (1, 4):
                steps[1] = (target, 1, -1)
            lawful = violations(town, steps) == []
            assert not ((origin, target) in direct and not lawful), "the test is wrong"
            taken = from_to(router, town, origin, target)
            assert (taken == [origin, target]) == lawful


def test_a_forbidden_turn_leads_round_over_the_next_dead_end(tmp_path: Path) -> None:
    relations = [restriction("no_left_turn", 1, 0, 2)]
    town = Town(CROSS, ROADS, relations)
    for turns in ("restrictions", "costs"):
        graph, report = imported(tmp_path, CROSS, ROADS, relations, turns=turns)
        assert report.restrictions == {"obeyed": 1} and not report.broken_restrictions
        with Router(graph, "dijkstra") as router:
            taken = from_to(router, town, 1, 2)
            assert taken in ([1, 3, 2], [1, 4, 2])
            # Who starts on the junction came from nowhere.
            route = router.route((0.0, 0.0), middle(town, (2, 0)))
            assert ways_taken(graph, route) == [2] and route.distance_m == pytest.approx(111.2, abs=0.1)


def test_u_turns(tmp_path: Path) -> None:
    """Beyond 3 the road goes on to its end at 5, where one must not turn round."""
    nodes = {**CROSS, 5: (0.0, 0.004)}
    ways = [*ROADS, (5, [3, 5], ROAD)]
    town = Town(nodes, ways, [restriction("no_u_turn", 5, 5, 5), restriction("no_left_turn", 1, 0, 2)])
    # Restrictions alone let one turn round at any junction, costs only at dead ends.
    for turns, round_by in (("restrictions", ([1, 3, 2], [1, 4, 2])), ("costs", ([1, 4, 2],))):
        graph, report = imported(tmp_path, nodes, ways, town.relations, turns=turns)
        assert report.restrictions == {"obeyed": 2}
        with Router(graph, "dijkstra") as router:
            assert from_to(router, town, 1, 2) in round_by
    # Where the only other roads lead away one may turn round, too.
    away = [*ROADS[:1], *((key, [0, key], {**ROAD, "oneway": "yes"}) for key in (2, 3)), (4, [0, 4], ROAD)]
    for others, between in ((away[:3], []), (away, [4, 4])):
        graph, _ = imported(tmp_path, CROSS, others, turns="costs")
        with Router(graph, "dijkstra") as router:
            index = router.index
            here, there = (index.nearest(0.0, lon) for lon in (-0.0005, -0.0015))
            assert here is not None and there is not None
            east = [int(a) for a in index.arcs(here.polyline) if not index.backward[a]]
            west = [int(a) for a in index.arcs(here.polyline) if index.backward[a]]
            found = router.solver.search_path([(int(graph.head[east[0]]), 0)], [(int(graph.tail[a]), 0) for a in west])
            assert found is not None and graph.streets is not None
            assert graph.streets.way[found[3]].tolist() == between


def test_via_ways(tmp_path: Path) -> None:
    """Two carriageways, 1 to the east and 2 back to the west, joined by 3 and at the far end by 4."""
    nodes: Nodes = {
        **{i: (0.0, i * 0.001) for i in range(1, 6)},
        **{10 + i: (0.001, i * 0.001) for i in range(1, 6)},
        20: (0.0005, 0.0031),
    }
    one_way = {**ROAD, "oneway": "yes"}
    ways: list[Way] = [
        (1, [1, 2, 3], one_way),
        (11, [3, 4, 5], one_way),
        (12, [15, 14, 13], one_way),
        (2, [13, 12, 11], one_way),
        (3, [3, 20, 13], ROAD),
        (4, [5, 15], ROAD),
    ]
    relations = [restriction("no_u_turn", 1, [3], 2)]
    for turns, simplify in itertools.product(("restrictions", "costs"), (True, False)):
        for rules, taken in ((relations, [1, 11, 4, 12, 2]), ([], [1, 3, 2])):
            # Without costs one may turn round and enter the way between once more.
            taken = [1, 3, 2] if turns == "restrictions" else taken
            town = Town(nodes, ways, rules)
            graph, report = imported(tmp_path, nodes, ways, rules, turns=turns, simplify=simplify)
            assert report.restrictions.get("obeyed", 0) == len(rules)
            with Router(graph, "dijkstra") as router:
                assert from_to(router, town, 1, 2) == taken
                # The way between is free for those who do not come from the first, and at either end of it.
                assert from_to(router, town, 3, 2) == [3, 2]
                assert from_to(router, town, 1, 3) == [1, 3]
    town = Town(nodes, ways, [restriction("only_straight_on", 1, [11, 4], 12)])
    graph, report = imported(tmp_path, nodes, ways, town.relations)
    assert report.restrictions == {"obeyed": 1}
    with Router(graph, "dijkstra") as router:
        assert from_to(router, town, 1, 2) == [1, 3, 2], "until the end of what is between one may turn off"


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        (restriction("no_left_turn", 1, 0, 99), "members missing"),
        (restriction("no_left_turn", 1, 0, []), "wrong number of members"),
        (restriction("no_left_turn", [1, 3], 0, 2), "wrong number of members"),
        (restriction("only_straight_on", 1, 0, [2, 3]), "wrong number of members"),
        (restriction("no_left_turn", 1, [], 2), "wrong number of members"),
        (restriction("no_left_turn", 1, 2, 3), "ways that do not meet"),
        (restriction("no_left_turn", 1, 99, 2), "ways that do not meet"),
        (restriction("no_left_turn", 1, [2], 4), "ways that do not meet"),
        (restriction("no_left_turn", 5, 7, 6), "more than one way to read it"),
        (restriction("turn", 1, 0, 2), "not understood"),
    ],
)
def test_broken_restrictions_are_counted_and_left_out(tmp_path: Path, relation: Relation, reason: str) -> None:
    nodes = {**CROSS, 6: (0.001, 0.0), 7: (0.002, 0.002), 8: (0.004, 0.002), 9: (0.002, 0.004)}
    ways = [*ROADS, (5, [3, 7, 8], ROAD), (6, [7, 9], ROAD)]
    plain, _ = imported(tmp_path, nodes, ways, [], turns="none")
    for turns in ("restrictions", "costs"):
        graph, report = imported(tmp_path, nodes, ways, [relation], turns=turns)
        assert report.restrictions == {} and report.broken_restrictions == {reason: 1}
        assert f"broken turn restrictions: {reason} 1" in str(report)
        if turns == "restrictions":
            assert np.array_equal(graph.head, plain.head)


def test_restrictions_on_closed_ways_are_no_fault(tmp_path: Path) -> None:
    ways = [*ROADS[:3], (4, [4, 0], {"highway": "footway"})]
    against = [*ROADS[:3], (4, [4, 0], {**ROAD, "oneway": "yes"})]
    for roads in (ways, against):
        _, report = imported(tmp_path, CROSS, roads, [restriction("no_right_turn", 1, 0, 4)])
        assert report.restrictions == {"on ways closed anyway": 1} and not report.broken_restrictions


def test_restrictions_at_certain_times_are_counted_and_left_out(tmp_path: Path) -> None:
    members, _ = restriction("", 1, 0, 4)
    for key in ("restriction", "restriction:conditional", "restriction:motorcar:conditional"):
        tags = {"type": "restriction", key: "no_right_turn @ (Mo-Fr 07:00-09:00)"}
        _, report = imported(tmp_path, CROSS, ROADS, [(members, tags)])
        assert report.restrictions == {"at certain times only": 1} and report.broken_restrictions == {}
    _, report = imported(tmp_path, CROSS, ROADS, [restriction("no_right_turn_on_red", 1, 0, 4)])
    assert report.restrictions == {"at certain times only": 1}
    at_times = {"restriction:conditional": "no_right_turn @ (Mo-Fr 07:00-09:00)"}
    for kind, result in (("no_left_turn", "obeyed"), ("none", "for others")):
        _, report = imported(tmp_path, CROSS, ROADS, [restriction(kind, 1, 0, 2, **at_times)])
        assert report.restrictions == {result: 1, "at certain times only": 1}


def test_who_has_to_obey(tmp_path: Path) -> None:
    def obeyed(profile: str, **tags: str) -> int:
        kind = tags.pop("kind", "no_left_turn")
        _, report = imported(tmp_path, CROSS, ROADS, [restriction(kind, 1, 0, 2, **tags)], profile=profile)
        return report.restrictions.get("obeyed", 0)

    assert [obeyed(profile) for profile in ("car", "bike", "foot")] == [1, 1, 0]
    assert [obeyed(profile, **{"except": "bicycle"}) for profile in ("car", "bike", "foot")] == [1, 0, 0]
    assert [obeyed(p, kind="", restriction_bicycle="no_left_turn") for p in ("car", "bike", "foot")] == [0, 1, 0]
    assert [obeyed(p, kind="", restriction_foot="no_left_turn") for p in ("car", "bike", "foot")] == [0, 0, 1]


def test_a_node_that_a_restriction_names_is_a_junction(tmp_path: Path) -> None:
    """Cars turn round in the middle of a street, where nothing else is."""
    nodes: Nodes = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.0, 0.002)}
    ways: list[Way] = [(1, [1, 2, 3], {**ROAD, "oneway": "yes"})]
    relation = restriction("no_u_turn", 1, 2, 1)
    graph, report = imported(tmp_path, nodes, ways, [relation])
    assert report.restrictions == {"obeyed": 1}
    assert graph.num_arcs >= 2


def test_the_cost_of_a_turn(tmp_path: Path) -> None:
    """Straight on next to nothing, right less than left, and signals besides; to turn round 20 s and the penalty."""
    signal: Nodes = {**CROSS, 0: (0.0, 0.0, {"highway": "traffic_signals"})}
    for nodes, wait in ((CROSS, 0.0), (signal, 2.0)):
        town = Town(nodes, ROADS)
        plain, _ = imported(tmp_path, nodes, ROADS, turns="none")
        graph, _ = imported(tmp_path, nodes, ROADS, turns="costs")
        with Router(graph, "dijkstra") as router, Router(plain, "dijkstra") as other:
            extra = {}
            for target in (2, 3, 4):
                ends = middle(town, (1, 0)), middle(town, (target, 0))
                found, without = router.route(*ends), other.route(*ends)
                assert found.distance_m == pytest.approx(without.distance_m)
                assert found.duration_s is not None and without.duration_s is not None
                extra[target] = found.duration_s - without.duration_s - wait
        assert extra[3] == pytest.approx(0.0, abs=0.11)
        assert extra[4] == pytest.approx(2.1, abs=0.15), "to the right"
        assert extra[2] == pytest.approx(7.3, abs=0.15), "to the left, over oncoming traffic"


def test_a_turn_to_the_left_that_leads_back_is_a_u_turn(tmp_path: Path) -> None:
    """Half a degree to the left of the way back, as in OSRM 26.10, not to the right of it, and not two degrees."""
    seconds = []
    for north in (8e-5, -8e-5, 3.5e-4):
        nodes: Nodes = {0: (0.0, 0.0), 1: (0.0, -0.01), 2: (north, -0.01), 3: (0.0, 0.01)}
        ways: list[Way] = [(way, [0, way], ROAD) for way in (1, 2, 3)]
        graph, _ = imported(tmp_path, nodes, ways, turns="costs")
        with Router(graph, "dijkstra") as router:
            seconds.append(router.route((0.0, -0.01), (north, -0.01)).duration_s or 0.0)
    back, right, left = seconds
    assert back - right > 19.0 and left - right < 15.0


def test_the_cost_of_a_turn_by_the_square_of_the_angle(tmp_path: Path) -> None:
    """A bicycle pays 6 s / 1.4 for a right angle to the right, 6 s * 1.4 for one to the left."""
    town = Town(CROSS, ROADS)
    extra = {}
    for turns in ("none", "costs"):
        graph, _ = imported(tmp_path, CROSS, ROADS, turns=turns, profile="bike")
        with Router(graph, "dijkstra") as router:
            for target in (2, 3, 4):
                seconds = router.route(middle(town, (1, 0)), middle(town, (target, 0))).duration_s
                assert seconds is not None
                extra[target] = seconds - extra.get(target, 0.0)
    assert [extra[3], extra[4], extra[2]] == pytest.approx([0.0, 6 / 1.4, 6 * 1.4], abs=0.11)


@pytest.mark.parametrize(
    ("tags", "there", "back"),
    [
        ({"highway": "traffic_signals"}, 2, 2),
        ({"highway": "traffic_signals", "traffic_signals:direction": "forward"}, 2, 0),
        ({"highway": "give_way", "direction": "backward"}, 0, 1),
        ({"highway": "stop", "direction": "forward"}, 2, 0),
        ({"highway": "stop"}, 2, 0),
        ({"highway": "stop", "stop": "minor"}, 0, 0),
        ({"highway": "crossing"}, 0, 0),
    ],
)
@pytest.mark.parametrize("simplify", [True, False])
def test_signals_on_the_way(tmp_path: Path, tags: Mapping[str, str], there: float, back: float, simplify: bool) -> None:
    """A street whose sign stands 11 m before its end."""
    nodes: Nodes = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.0, 0.002, tags), 4: (0.0, 0.0021), 5: (0.0, 0.003)}
    ways: list[Way] = [(1, [1, 2, 3, 4], ROAD), (2, [4, 5], ROAD)]
    graph, _ = imported(tmp_path, nodes, ways, turns="costs", simplify=simplify)
    plain, _ = imported(tmp_path, nodes, ways, turns="none", simplify=simplify)
    with Router(graph, "dijkstra") as router, Router(plain, "dijkstra") as other:
        for ends, seconds in ((((0.0, 0.0005), (0.0, 0.0025)), there), (((0.0, 0.0025), (0.0, 0.0005)), back)):
            found, without = (r.route(*ends).duration_s for r in (router, other))
            assert found is not None and without is not None
            assert found - without == pytest.approx(seconds, abs=0.11)


def test_ends_of_routes(tmp_path: Path) -> None:
    """Both on one piece, in either order, on junctions, and on a one-way street that nothing leads to."""
    nodes = {**CROSS, 5: (0.002, -0.002)}
    ways = [*ROADS, (5, [5, 1], {**ROAD, "oneway": "yes"})]
    town = Town(nodes, ways)
    metre = 1 / 111195.0
    for turns in ("restrictions", "costs"):
        graph, _ = imported(tmp_path, nodes, ways, turns=turns)
        assert graph.streets is not None and graph.streets.turns == turns
        with Router(graph, "dijkstra") as router:
            for here, there in ((-0.0015, -0.0005), (-0.0005, -0.0015)):
                route = router.route((0.0, here), (0.0, there))
                assert route.distance_m == pytest.approx(0.001 / metre, rel=1e-3)
                assert route.points is not None and len(route.points) == 2
            same = router.route((0.0, 0.0), (0.0, 0.0))
            assert (same.weight, same.distance_m) == (0, 0.0) and same.points is not None
            route = router.route((0.0, 0.0), (0.0, 0.002))
            assert ways_taken(graph, route) == [3] and route.distance_m == pytest.approx(0.002 / metre, rel=1e-3)
            assert route.weight == round(0.002 / metre * 3.6 / 25 * 10)
            route = router.route((0.0, -0.0005), (0.0, 0.0))
            assert route.distance_m == pytest.approx(0.0005 / metre, rel=1e-3)
            assert route.points is not None and route.points[-1].tolist() == [0.0, 0.0]
            assert from_to(router, town, 5, 3) == [5, 1, 3]
            route = router.route((0.002, -0.002), (0.0, -0.0005))
            assert ways_taken(graph, route) == [5, 1]
            # Back on a one-way street, and to it.
            here, there, other = (router.index.nearest(lat, -0.002) for lat in (0.0005, 0.0015, 0.0001))
            assert here is not None and there is not None and other is not None
            assert leg_path_between(router, here, there) is None and leg_path_between(router, there, here) is not None
            assert leg_path_between(router, other, there) is None


def test_what_a_graph_knows_is_saved(tmp_path: Path) -> None:
    for turns in ("none", "restrictions", "costs"):
        graph, _ = imported(tmp_path, CROSS, ROADS, [restriction("no_left_turn", 1, 0, 2)], turns=turns)
        graph.save(tmp_path / "saved.graph")
        again = Graph.load(tmp_path / "saved.graph")
        assert graph.streets is not None and again.streets is not None
        assert again.streets.turns == graph.streets.turns == turns
        for name in ("junction", "turn"):
            here, there = getattr(graph.streets, name), getattr(again.streets, name)
            assert (here is None and there is None) or np.array_equal(here, there)


def test_nodes_of_a_place_stay_together_when_they_are_renumbered(tmp_path: Path) -> None:
    graph, _ = imported(tmp_path, CROSS, ROADS, turns="costs")
    order = Order.from_nodes(np.random.default_rng(1).permutation(graph.num_nodes))
    other, arc = graph.renumbered(order)
    for g in (graph, other):
        assert g.lat is not None and g.lon is not None and g.streets is not None and g.streets.junction is not None
        places = {place: set() for place in g.streets.junction.tolist()}
        for node, place in enumerate(g.streets.junction.tolist()):
            places[place].add((g.lat[node], g.lon[node]))
        assert all(len(where) == 1 for where in places.values()) and len(places) == len(CROSS)
    assert graph.streets is not None and other.streets is not None and graph.streets.turn is not None
    assert np.array_equal(other.streets.turn, graph.streets.turn[arc])  # type: ignore[arg-type]


def test_streets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    graph, _ = imported(tmp_path, CROSS, ROADS, turns="costs")
    assert graph.streets is not None and graph.streets.junction is not None and graph.streets.turn is not None
    for change in ({"junction": graph.streets.junction[:-1]}, {"turn": graph.streets.turn[:-1]}):
        streets = dataclasses.replace(graph.streets, **change)
        with pytest.raises(GraphError, match=f"streets.{next(iter(change))} has shape"):
            Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_osm(tmp_path / "map.osm", CROSS, ROADS, relations=[restriction("no_left_turn", 1, 0, 2)])
    saved = str(tmp_path / "map.graph")
    assert main(["import", str(path), saved, "--turns", "costs"]) == 0
    assert "turn restrictions: obeyed 1" in capsys.readouterr().out
    assert main(["info", saved]) == 0
    assert "turns take time: the nodes stand for 5 places" in capsys.readouterr().out
    ends = ["--from", "0,-0.001", "--to", "0.001,0", "--algorithm", "dijkstra", "--json"]
    metres = []
    read = [str(path), "--turns"]
    for graph in ([saved], [*read, "none"], [*read, "costs"], [*read, "restrictions"]):
        assert main(["route", *graph, *ends, "--map", str(tmp_path / "map.html")]) == 0
        metres.append(json.loads(capsys.readouterr().out)["distance_m"])
    assert metres == pytest.approx([667.2, 222.4, 667.2, 667.2], abs=0.2)


def test_the_numbers_are_the_profile_s(tmp_path: Path) -> None:
    text = (FOLDER / "car.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    ends = (0.0, -0.001), (0.001, 0.0)
    seconds = []
    for change in (("", ""), ("penalty = 7.5", "penalty = 60"), ("bias = 1.075", "bias = 0.93"), ("oncoming = 2", "")):
        own.write_text(text.replace(*change), encoding="utf-8")
        graph, _ = imported(tmp_path, CROSS, ROADS, turns="costs", profile=own)
        with Router(graph, "dijkstra") as router:
            seconds.append(router.route(*ends).duration_s)
    # Where traffic keeps left, it is right turns that cross the other lane.
    assert np.round(np.array(seconds) - seconds[0], 1).tolist() == pytest.approx([0, 37.8, -5.2, -1.9], abs=0.11)
    for change, told in (
        (("penalty = 7.5", "penalty = -1"), r"own.toml, line \d+: turns.penalty is -1; give a number from 0 to 86400"),
        (("u_turn = 20", "uturn = 20"), r"line \d+: turns.uturn is no key that turns has; did you mean u_turn\?"),
        (("stop = 2", 'stop = "2"'), r"line \d+: turns.seconds.stop is '2'; give a number"),
    ):
        own.write_text(text.replace(*change), encoding="utf-8")
        with pytest.raises(QueryError, match=told):
            imported(tmp_path, CROSS, ROADS, profile=own)


def test_the_profile_says_what_an_import_heeds(tmp_path: Path) -> None:
    for profile, turns in (("car", "costs"), ("bike", "none"), ("foot", "none")):
        graph, report = imported(tmp_path, CROSS, ROADS, turns=None, profile=profile)
        assert graph.streets is not None and graph.streets.turns == report.turns == turns
    own = tmp_path / "own.toml"
    text = (FOLDER / "car.toml").read_text(encoding="utf-8")
    own.write_text(text.replace('default = "costs"', 'default = "all"'), encoding="utf-8")
    with pytest.raises(QueryError, match=r"turns\.default is 'all'; give one of none, restrictions, costs"):
        imported(tmp_path, CROSS, ROADS, turns=None, profile=own)


def test_unknown_turns(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="choose one of none, restrictions, costs"):
        imported(tmp_path, CROSS, ROADS, turns="all")


def test_devices_and_reductions_agree(tmp_path: Path, device: Device) -> None:
    relations = [restriction("no_left_turn", 1, 0, 2)]
    for simplify in (True, False):
        graph, _ = imported(tmp_path, CROSS, ROADS, relations, turns="costs", simplify=simplify)
        with Solver(graph, "dijkstra") as solver:
            wanted = [solver.distances(node).tolist() for node in range(graph.num_nodes)]
        for options in ({}, {"reduction": "full"}, {"algorithm": "delta_step"}):
            with Solver(graph, device=device, **options) as solver:  # type: ignore[arg-type]
                assert [solver.distances(node).tolist() for node in range(graph.num_nodes)] == wanted
