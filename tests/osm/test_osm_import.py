"""Small hand-written maps, a rule of the graph each."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import (
    LINE,
    RESIDENTIAL,
    ROAD,
    STEP,
    arcs,
    at,
    graph_of,
    import_plain,
    read_plain,
    streets_of,
    trip,
    write_osm,
)
from vkssp import FormatError


def test_a_street_becomes_two_arcs_on_one_polyline(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(7, [1, 2, 3], {**ROAD, "name": "Broad Street"})])
    graph, report = import_plain(path)
    assert (graph.num_nodes, graph.num_arcs) == (2, 2)
    streets = streets_of(graph)
    streets.check(2)
    assert streets.polyline.tolist() == [0, 0]
    assert sorted(streets.backward.tolist()) == [False, True]
    assert streets.points.tolist() == [[0, 10000], [0, 20000], [0, 30000]]
    assert streets.length.tolist() == pytest.approx([2 * STEP] * 2, rel=1e-6)
    assert graph.weight.tolist() == [2 * RESIDENTIAL] * 2
    assert streets.way.tolist() == [7, 7]
    assert [streets.arc_name(arc) for arc in (0, 1)] == ["Broad Street"] * 2
    assert streets.seconds_per_weight == 0.1
    for arc in (0, 1):
        points = streets.points_along(np.array([arc]))
        assert points[0].tolist() == [graph.lat[graph.tail[arc]], graph.lon[graph.tail[arc]]]
        assert points[-1].tolist() == [graph.lat[graph.head[arc]], graph.lon[graph.head[arc]]]
    assert (report.ways_read, report.ways_used, report.nodes, report.arcs, report.points) == (1, 1, 2, 2, 3)
    assert report.kilometres == pytest.approx(2 * STEP / 1000)


def test_nodes_stand_where_streets_meet(tmp_path: Path) -> None:
    nodes = {**LINE, 10: (0.001, 0.002), 11: (0.001, 0.003)}
    graph = graph_of(
        tmp_path, nodes, [(1, [1, 2, 3, 4], ROAD), (2, [10, 2], ROAD), (3, [3, 11], {"highway": "footway"})]
    )
    assert graph.num_nodes == 4  # 1, 2, 4 and 10; what meets at 3 is no road
    assert not at(graph, (0, 0.003))
    assert graph.num_arcs == 6


def test_oneways(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path,
        LINE,
        [(1, [1, 2], {**ROAD, "oneway": "yes"}), (2, [2, 3], {**ROAD, "oneway": "-1"}), (3, [3, 1], ROAD)],
    )
    step, both = RESIDENTIAL, 2 * RESIDENTIAL
    p1, p2, p3 = (LINE[node] for node in (1, 2, 3))
    assert arcs(graph) == [(p1, p2, step), (p1, p3, both), (p3, p1, both), (p3, p2, step)]
    # The arc against its way lies backward on the polyline.
    streets = streets_of(graph)
    backward = {int(way): bool(b) for way, b in zip(streets.way, streets.backward, strict=True) if way != 3}
    assert backward == {1: False, 2: True}


def test_roundabout_goes_one_way_round(tmp_path: Path) -> None:
    square = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.001, 0.001), 4: (0.001, 0.0), 5: (-0.001, 0.0), 6: (0.002, 0.001)}
    ring = (1, [1, 2, 3, 4, 1], {**ROAD, "junction": "roundabout"})
    graph = graph_of(tmp_path, square, [ring, (2, [5, 1], ROAD), (3, [3, 6], ROAD)])
    assert graph.num_nodes == 4  # 1, 3, 5, 6
    there, back = trip(graph, square[5], square[6]), trip(graph, square[6], square[5])
    assert there == pytest.approx(4 * RESIDENTIAL, abs=3)
    assert back == pytest.approx(4 * RESIDENTIAL, abs=3)
    ways = streets_of(graph).way.tolist()
    assert ways.count(1) == 2  # two halves, neither in both directions


def test_direction_has_its_own_speed(tmp_path: Path) -> None:
    tags = {**ROAD, "maxspeed:forward": "50", "maxspeed:backward": "100"}
    graph = graph_of(tmp_path, LINE, [(1, [1, 2], tags)])
    assert arcs(graph) == [
        (LINE[1], LINE[2], round(STEP * 3.6 / 40 * 10)),
        (LINE[2], LINE[1], round(STEP * 3.6 / 80 * 10)),
    ]


def test_loops_and_lollipops_keep_their_length(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.001, 0.002), 4: (-0.001, 0.002)}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2, 3, 4, 2], ROAD)])
    assert graph.num_nodes == 2
    loops = np.flatnonzero(graph.tail == graph.head)
    assert len(loops) == 2 and graph.num_arcs == 4
    streets = streets_of(graph)
    diagonal = math.hypot(1, 1) * STEP
    assert streets.length[loops].tolist() == pytest.approx([2 * diagonal + 2 * STEP] * 2, rel=1e-5)
    assert (graph.lat[graph.tail[loops]] == 0).all() and (graph.lon[graph.tail[loops]] == 0.001).all()
    assert sorted(streets.backward[loops].tolist()) == [False, True]


def test_a_closed_way_alone_is_a_loop(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.001, 0.001)}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2, 3, 1], ROAD)])
    assert (graph.num_nodes, graph.num_arcs) == (1, 2)


def test_out_and_back_on_one_node(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, LINE, [(1, [1, 2, 1, 3], ROAD)])
    assert graph.num_nodes == 2  # 1 and 3
    assert np.count_nonzero(graph.tail == graph.head) == 2
    assert trip(graph, LINE[1], LINE[3]) == 2 * RESIDENTIAL


def test_parallel_streets_stay_apart(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.002), 3: (0.001, 0.001)}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2], ROAD), (2, [1, 3, 2], ROAD)])
    assert (graph.num_nodes, graph.num_arcs) == (2, 4)
    assert len(set(streets_of(graph).polyline.tolist())) == 2
    assert len(set(graph.weight.tolist())) == 2


def test_barrier_cuts_the_street(tmp_path: Path) -> None:
    nodes = {**LINE, 3: (*LINE[3], {"barrier": "bollard"})}
    path = write_osm(tmp_path / "map.osm", nodes, [(1, [1, 2, 3, 4, 5], ROAD)])
    graph, report = import_plain(path)
    assert report.barriers == 1
    assert len(at(graph, LINE[3])) == 2
    assert trip(graph, LINE[1], LINE[3]) == 2 * RESIDENTIAL
    assert trip(graph, LINE[5], LINE[3]) == 2 * RESIDENTIAL
    assert trip(graph, LINE[1], LINE[5]) is None
    assert trip(graph, LINE[5], LINE[1]) is None


def test_barrier_at_a_junction_parts_all_its_streets(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0, {"barrier": "block"}), 2: (0.0, 0.001), 3: (0.001, 0.0), 4: (0.0, -0.001), 5: (-0.001, 0.0)}
    ways = [(1, [2, 1, 4], ROAD), (2, [3, 1], ROAD), (3, [1, 5], ROAD)]
    graph = graph_of(tmp_path, nodes, ways)
    assert len(at(graph, (0, 0))) == 4
    for start in (2, 3, 4, 5):
        for goal in (2, 3, 4, 5):
            assert (trip(graph, nodes[start], nodes[goal]) is not None) == (start == goal)


def test_barrier_on_a_loop_opens_it(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0, {"barrier": "block"}), 2: (0.0, 0.001), 3: (0.001, 0.001)}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2, 3, 1], ROAD)])
    assert graph.num_nodes == 2 and not np.any(graph.tail == graph.head)


@pytest.mark.parametrize("tags", [{"barrier": "cattle_grid"}, {"barrier": "bollard", "access": "yes"}])
def test_passable_barriers_are_nothing(tmp_path: Path, tags: dict[str, str]) -> None:
    graph = graph_of(tmp_path, {**LINE, 2: (*LINE[2], tags)}, [(1, [1, 2, 3], ROAD)])
    assert arcs(graph) == [(LINE[1], LINE[3], 2 * RESIDENTIAL), (LINE[3], LINE[1], 2 * RESIDENTIAL)]


@pytest.mark.parametrize("refs", [[[1, 2, 3]], [[1, 2], [2, 3]], [[2, 1], [3, 2]]])
def test_a_gate_takes_a_minute_wherever_ways_are_split(tmp_path: Path, refs: list[list[int]]) -> None:
    nodes = {**LINE, 2: (*LINE[2], {"barrier": "gate"}), 4: (*LINE[4], {"barrier": "gate"})}
    graph = graph_of(tmp_path, nodes, [(i, nodes_of, ROAD) for i, nodes_of in enumerate(refs)])
    assert trip(graph, LINE[1], LINE[3]) == 2 * RESIDENTIAL + 600
    assert trip(graph, LINE[3], LINE[1]) == 2 * RESIDENTIAL + 600


def test_a_gate_slows_down_nobody_who_does_not_go_through(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, {**LINE, 2: (*LINE[2], {"barrier": "gate"})}, [(1, [1, 2, 3], ROAD)])
    half = 300
    assert sorted(weight for _, _, weight in arcs(graph)) == [RESIDENTIAL] * 4 + [half] * 4
    assert all((tail == head == LINE[2]) == (weight == half) for tail, head, weight in arcs(graph))
    assert trip(graph, LINE[1], LINE[2]) == RESIDENTIAL
    dead_end = graph_of(tmp_path, {**LINE, 2: (*LINE[2], {"barrier": "gate"})}, [(1, [1, 2], ROAD)])
    assert arcs(dead_end) == [(LINE[1], LINE[2], RESIDENTIAL), (LINE[2], LINE[1], RESIDENTIAL)]


def test_a_gate_at_a_junction_is_passed_once_from_any_street_to_any_other(tmp_path: Path) -> None:
    nodes = {**LINE, 2: (*LINE[2], {"barrier": "gate"}), 9: (0.001, 0.002)}
    oneway = {**ROAD, "oneway": "yes"}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2, 3], ROAD), (2, [9, 2], oneway)])
    for start, goal in ((1, 3), (3, 1), (9, 1), (9, 3)):
        assert trip(graph, nodes[start], nodes[goal]) == 2 * RESIDENTIAL + 600
    assert trip(graph, nodes[1], nodes[9]) is None


def test_private_streets_serve_only_the_ends_of_a_trip(tmp_path: Path) -> None:
    # A short private cut from 1 by 2 to 3, with a drive off it, and the long way round by 8.
    nodes = {**LINE, 0: (0.0, 0.0), 8: (0.01, 0.002), 9: (-0.001, 0.002)}
    private = {**ROAD, "access": "private"}
    ways = [(1, [1, 2, 3], private), (2, [2, 9], private), (3, [1, 8, 3], ROAD), (4, [3, 4], ROAD), (5, [0, 1], ROAD)]
    graph, report = import_plain(write_osm(tmp_path / "map.osm", nodes, ways))
    assert report.restricted == 3  # polylines: 1-2, 2-3 and 2-9
    round_about = round(2 * math.hypot(10, 1) * RESIDENTIAL)
    assert trip(graph, nodes[0], nodes[4]) == pytest.approx(round_about + 2 * RESIDENTIAL, abs=2)  # not through
    assert trip(graph, nodes[4], nodes[0]) == pytest.approx(round_about + 2 * RESIDENTIAL, abs=2)
    assert trip(graph, nodes[2], nodes[4]) == 2 * RESIDENTIAL  # out of it
    assert trip(graph, nodes[9], nodes[4]) == pytest.approx(3 * RESIDENTIAL, abs=1)
    assert trip(graph, nodes[4], nodes[9]) == pytest.approx(3 * RESIDENTIAL, abs=1)  # into it
    assert trip(graph, nodes[9], nodes[0]) == pytest.approx(3 * RESIDENTIAL, abs=1)  # within and out
    assert graph.weight.min() > 0  # no free links between the copies


def test_one_direction_may_be_restricted(tmp_path: Path) -> None:
    # The way round by 8 is open in both directions.
    nodes, tags = {**LINE, 8: (0.01, 0.0025)}, {**ROAD, "motor_vehicle:backward": "destination"}
    ways = [(1, [1, 2], ROAD), (2, [2, 3], tags), (3, [3, 4], ROAD), (4, [2, 8, 3], ROAD)]
    graph = graph_of(tmp_path, nodes, ways)
    assert trip(graph, LINE[1], LINE[4]) == 3 * RESIDENTIAL
    round_about = round(2 * math.hypot(10, 0.5) * RESIDENTIAL)
    assert trip(graph, LINE[4], LINE[1]) == pytest.approx(2 * RESIDENTIAL + round_about, abs=2)
    assert trip(graph, LINE[4], LINE[2]) == 2 * RESIDENTIAL
    assert len(set(streets_of(graph).polyline.tolist())) == 4


def test_open_streets_behind_private_ones_are_reached(tmp_path: Path) -> None:
    # The open street 1-2-8-4-5 makes a detour by 8; the private 2-3-4 does not. From 3 an open one leads to 9.
    nodes = {**LINE, 8: (0.01, 0.003), 9: (-0.001, 0.003)}
    private = {**ROAD, "access": "private"}
    ways = [(1, [1, 2, 8, 4, 5], ROAD), (2, [2, 3, 4], private), (3, [3, 9], ROAD)]
    graph, report = import_plain(write_osm(tmp_path / "map.osm", nodes, ways))
    assert report.restricted == 3  # polylines: 2-3, 3-4 and 3-9
    detour = round(2 * math.hypot(10, 1) * RESIDENTIAL)
    for here, there in ((1, 5), (5, 1)):
        assert trip(graph, nodes[here], nodes[there]) == pytest.approx(2 * RESIDENTIAL + detour, abs=2)
        for start, goal in ((here, 9), (9, here)):
            assert trip(graph, nodes[start], nodes[goal]) == 3 * RESIDENTIAL


def test_an_extract_of_private_streets_alone_works(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path, LINE, [(1, [1, 2], {**ROAD, "access": "private"}), (2, [2, 3], {**ROAD, "access": "private"})]
    )
    assert trip(graph, LINE[1], LINE[3]) == 2 * RESIDENTIAL


def test_ferry_duration_is_for_the_whole_way(tmp_path: Path) -> None:
    ferry = {"route": "ferry", "duration": "PT30M"}
    graph = graph_of(tmp_path, LINE, [(1, [1, 2, 4], ferry), (2, [2, 6], {"route": "ferry"})])
    assert trip(graph, LINE[1], LINE[2]) == 6000
    assert trip(graph, LINE[4], LINE[2]) == 12000
    assert trip(graph, LINE[2], LINE[6]) == round(4 * STEP * 3.6 / 5 * 10)


def test_weights_are_rounded(tmp_path: Path) -> None:
    exact = STEP * 3.6 / 65 * 10
    assert exact % 1 > 0.5
    graph = graph_of(tmp_path, LINE, [(1, [1, 2], {"highway": "primary"})])
    assert graph.weight.tolist() == [math.ceil(exact)] * 2


def test_weights_are_at_least_one(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.0), 3: (0.0, 1e-6)}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2], ROAD), (2, [2, 3], {"highway": "primary"})])
    assert graph.num_nodes == 3 and graph.weight.tolist() == [1, 1, 1, 1]


def test_numbers_name_streets_without_a_name(tmp_path: Path) -> None:
    ways = [
        (1, [1, 2], {**ROAD, "ref": "A 1"}),
        (2, [2, 3], {**ROAD, "name": "Rue d'Éléphant", "ref": "D 2"}),
        (3, [3, 4], ROAD),
    ]
    streets = streets_of(graph_of(tmp_path, LINE, ways))
    names = {int(way): streets.arc_name(arc) for arc, way in enumerate(streets.way)}
    assert names == {1: "A 1", 2: "Rue d'Éléphant", 3: ""}
    assert streets.names[0] == ""


def test_deleted_objects_are_left_out(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD), (2, [2, 3], ROAD)])
    path.write_text(path.read_text().replace('<way id="2"', '<way id="2" visible="false"'))
    assert read_plain(path).num_nodes == 2


@pytest.mark.parametrize("old", ['lat="0.0"', 'id="1"', 'ref="1"'])
def test_nonsense_in_xml_is_one_error(tmp_path: Path, old: str) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)])
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, old.split('"')[0] + '"abc"', 1))
    with pytest.raises(FormatError, match="is no OpenStreetMap extract, or a truncated one"):
        read_plain(path)


@pytest.mark.parametrize(
    "tags", [{**ROAD, "maxspeed": "0.000001"}, {"route": "ferry", "duration": "9999999:00"}], ids=["speed", "duration"]
)
def test_values_that_no_street_has_are_nonsense(tmp_path: Path, tags: dict[str, str]) -> None:
    _, report = import_plain(write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], tags)]))
    assert sum(report.nonsense.values()) == 1


def test_all_nodes_of_a_street_may_be_nodes_of_the_graph(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(7, [1, 2, 3], ROAD), (8, [3, 4], {**ROAD, "oneway": "yes"})])
    graph, report = import_plain(path, simplify=False)
    assert (graph.num_nodes, graph.num_arcs, report.polylines) == (4, 5, 3)
    streets = streets_of(graph)
    streets.check(5)
    assert streets.seconds_per_weight == 0.001
    assert graph.weight.tolist() == pytest.approx([100 * RESIDENTIAL] * 5, abs=50)
    assert streets.length.tolist() == pytest.approx([STEP] * 5, rel=1e-6)


def test_travel_times_are_the_same_with_all_nodes(andorra_path: Path) -> None:
    from vkssp import Solver

    simple, fine = (import_plain(andorra_path, simplify=simplify)[0] for simplify in (True, False))
    assert fine.num_nodes > 4 * simple.num_nodes
    assert fine.lat is not None and simple.lat is not None and fine.lon is not None and simple.lon is not None
    places = [list(zip(graph.lat.tolist(), graph.lon.tolist(), strict=True)) for graph in (simple, fine)]
    # At gates, barriers and restricted streets several nodes have one place.
    single = [{at for at, count in Counter(of).items() if count == 1} for of in places]
    shared = sorted(single[0] & single[1])
    assert len(shared) > 0.8 * simple.num_nodes
    here, there = ([{at: node for node, at in enumerate(of)}[at] for at in shared] for of in places)
    with Solver(simple, "dijkstra") as few, Solver(fine, "dijkstra") as many:
        coarse = few.distances(here[len(here) // 2])[here].astype(np.float64) * 0.1
        exact = many.distances(there[len(there) // 2])[there].astype(np.float64) * 0.001
    reached = (coarse < 1e6) & (exact < 1e6)
    assert reached.mean() > 0.9
    # A tenth of a second is rounded on each street, some hundred of them on a long way.
    difference = np.abs(coarse - exact)[reached]
    assert difference.max() < 8 and np.median(difference) < 1


def test_a_bar_is_there_before_the_first_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While pyosmium skips what does not matter no Python runs, and so nothing could be drawn then."""
    path = write_osm(tmp_path / "a\nb.osm", LINE, [(1, [1, 2], ROAD)])
    path.write_text(path.read_text().replace("</osm>", f"<!--{' ' * 2**20}--></osm>"))
    read_plain(path, progress=True)
    assert "Reading a\\nb.osm:   0%|" in capsys.readouterr().err
    read_plain(path)
    assert not capsys.readouterr().err
