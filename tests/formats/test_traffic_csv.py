"""Speeds between OSM nodes and times of turns: files, and graphs with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import streets_of, write_osm
from vkssp import UNREACHABLE, Router, Solver, read_graph
from vkssp.cli import main
from vkssp.errors import FormatError, GraphError, QueryError
from vkssp.formats.traffic_csv import read_segment_speeds, read_turn_penalties
from vkssp.graph import Graph
from vkssp.graph.node_traffic import with_segment_speeds, with_turn_penalties
from vkssp.server.answers.annotations import annotation

#: A street 1-2-3-4, whose middle nodes give it a shape only, and one that crosses it at node 2.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.0, 0.02), 4: (0.0, 0.03), 5: (0.01, 0.01), 6: (-0.01, 0.01)}
WAYS = [(1, [1, 2, 3, 4], {"highway": "primary"}), (2, [5, 2, 6], {"highway": "primary"})]
#: Metres and seconds of a hundredth of a degree at 65 km/h.
PIECE_M = 1111.95
PIECE_S = PIECE_M * 3.6 / 65


def graph_of(tmp_path: Path, turns: str = "costs") -> Graph:
    return read_graph(write_osm(tmp_path / "m.osm", NODES, WAYS), turns=turns)


def seconds(graph: Graph, a: int, b: int) -> float:
    with Router(graph, device="cpu") as router:
        found = router.route(NODES[a], NODES[b]).duration_s
    assert found is not None
    return found


def is_reached(graph: Graph, a: int, b: int) -> bool:
    """Return whether a path leads from one OSM node to another; the router would begin elsewhere if none does."""
    assert graph.streets is not None
    start, end = (np.flatnonzero(graph.streets.node == one) for one in (a, b))
    with Solver(graph, device="cpu") as solver:
        return any(bool((solver.distances(int(one))[end] != UNREACHABLE).any()) for one in start)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_speeds_hold_for_one_direction_of_one_piece(tmp_path: Path, turns: str) -> None:
    graph = graph_of(tmp_path, turns)
    path = tmp_path / "speeds.csv"
    path.write_text("3,4,13\n3,4,6.5\n1,4,5\n98,99,10\n")
    changed = with_segment_speeds(graph, *read_segment_speeds(path)[:2])
    assert seconds(changed, 2, 4) == pytest.approx(PIECE_S * (1 + 10), abs=0.2)
    assert seconds(changed, 4, 2) == pytest.approx(seconds(graph, 4, 2), abs=1e-9)
    assert seconds(changed, 1, 2) == pytest.approx(seconds(graph, 1, 2), abs=1e-9)


def test_a_speed_of_0_closes(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    closed = with_segment_speeds(graph, [[3, 4]], [0])
    assert seconds(closed, 4, 1) == pytest.approx(3 * PIECE_S, abs=0.3)
    assert graph.streets is not None and closed.streets is not None
    # No arc leads along the way to node 4, whatever turn leads into it, but places before node 3 are reached.
    left = (closed.streets.way == 1) & ~closed.streets.backward
    assert not np.isin(closed.head[left], np.flatnonzero(closed.streets.node == 4)).any()
    assert seconds(closed, 2, 3) == pytest.approx(PIECE_S, abs=0.2)
    assert is_reached(graph, 2, 4) and not is_reached(closed, 2, 4)


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("way_back", [False, True])
def test_a_closed_piece_cuts_its_street(tmp_path: Path, turns: str, way_back: bool) -> None:
    graph = graph_of(tmp_path, turns)
    closed = with_segment_speeds(graph, [[2, 3], [3, 2]] if way_back else [[3, 2]], [0] * (1 + way_back))
    closed.save(tmp_path / "closed.graph")  # what is read again has been checked
    closed = Graph.load(tmp_path / "closed.graph")
    assert not is_reached(closed, 4, 2)
    assert seconds(closed, 3, 4) == pytest.approx(PIECE_S, abs=0.2)
    assert seconds(closed, 4, 3) == pytest.approx(PIECE_S, abs=0.2)
    if not way_back:
        assert seconds(closed, 2, 4) == pytest.approx(seconds(graph, 2, 4), abs=0.2)


def test_parts_are_measured_as_their_street(tmp_path: Path) -> None:
    # The metres of a degree to the north and of one to the east have another ratio on the ellipsoid than on a sphere.
    nodes = {1: (60.0, 0.0), 2: (60.2, 0.0), 3: (60.2, 0.4), 4: (60.2, 0.41)}
    profile = tmp_path / "car.toml"
    profile.write_text('extends = "car"\nellipsoid = true\n')
    path = write_osm(tmp_path / "m.osm", nodes, [(1, [1, 2, 3, 4], {"highway": "primary"})])
    graph = with_segment_speeds(read_graph(path, profile=profile), [[3, 4], [4, 3]], [0, 0])
    with Router(graph, device="cpu") as router:
        lines = router.index
    metres = lines.passed_metres[lines.first[lines.polyline_of.astype(np.int64) + 1] - 1]
    assert streets_of(graph).length == pytest.approx(metres, rel=1e-6)


def test_a_closed_piece_of_no_length(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.0, 0.01), 4: (0.0, 0.02)}
    path = write_osm(tmp_path / "map.osm", nodes, [(1, [1, 2, 3, 4], {"highway": "primary"})])
    graph = with_segment_speeds(read_graph(path), [[2, 3]], [0])  # no warning
    assert not is_reached(graph, 1, 4) and is_reached(graph, 4, 1)


def test_sources_are_told(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    changed = with_segment_speeds(
        with_segment_speeds(graph, [[3, 2]], [20], source="one"), [[3, 4]], [30], source="two"
    )
    assert changed.streets is not None and changed.streets.source_names == ("profile", "one", "two")
    for start, end, expected in ((1, 4, [0, 0, 2]), (4, 1, [0, 1, 0])):
        with Router(changed, device="cpu") as router:
            leg = router.route(NODES[start], NODES[end]).legs[0]
        told = annotation(changed, leg, ["datasources"])
        assert told["datasources"].tolist() == expected
        assert told["metadata"] == {"datasource_names": ["lua profile", "one", "two"]}
    path = tmp_path / "changed.npz"
    changed.save(path)
    again = Graph.load(path).streets
    assert again is not None and again.source_names == changed.streets.source_names
    with pytest.raises(GraphError, match="index outside"):
        replace(changed.streets, source_names=("profile",)).check(changed.num_arcs)
    with pytest.raises(QueryError, match="source is 5"):
        with_segment_speeds(graph, [[3, 4]], [30], source=5)  # type: ignore[arg-type]


def test_rates_part_weights_from_durations(tmp_path: Path) -> None:
    path = tmp_path / "speeds.csv"
    path.write_text("2,3,65,2\n3,4,13,\n1,2,13\n")
    changed = with_segment_speeds(graph_of(tmp_path), *read_segment_speeds(path))
    with Router(changed, device="cpu") as router:
        route = router.route(NODES[1], NODES[4])
    assert route.duration_s == pytest.approx(PIECE_S * (5 + 1 + 5), abs=0.4)
    # Node 3 gives the street its shape only, so its two pieces share one weight by their lengths.
    assert route.weight == pytest.approx(PIECE_S * 5 + PIECE_M / 2 + PIECE_S, abs=0.4)


def test_turns_take_other_times(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    path = tmp_path / "turns.csv"
    path.write_text("1,2,6,100\n5,2,3,-5\n")
    changed = with_turn_penalties(graph, *read_turn_penalties(path)[:2])
    assert seconds(changed, 1, 6) == pytest.approx(2 * PIECE_S + 100, abs=0.3)
    assert seconds(changed, 5, 4) == pytest.approx(3 * PIECE_S - 5, abs=0.3)
    for a, b in ((1, 4), (1, 5), (6, 1)):
        assert seconds(changed, a, b) == pytest.approx(seconds(graph, a, b), abs=1e-9)


@pytest.mark.parametrize("weighed", [None, [-20.0]], ids=["durations", "weights"])
def test_a_turn_of_less_than_no_time_counts_where_it_is_taken(tmp_path: Path, weighed: list[float] | None) -> None:
    graph = graph_of(tmp_path)
    path = tmp_path / "changed.graph"
    with_turn_penalties(graph, [[5, 2, 3]], [-20], weighed).save(path)
    changed = Graph.load(path)
    assert changed.streets is not None and changed.streets.turn_bonus is not None
    near, half, far = (0.0, 0.011), (0.0, 0.015), (0.0, 0.02)
    unit = 10 if weighed is None else 1
    with Router(changed, device="cpu") as router, Router(graph, device="cpu") as before:
        for place, driven in ((near, 0.0), (half, PIECE_S / 2 - 20), (far, PIECE_S - 20)):
            route = router.route(NODES[5], place)
            assert route.duration_s == pytest.approx(PIECE_S + driven, abs=0.3)
            assert route.weight == pytest.approx(route.duration_s * unit, abs=0.3)
            table = router.table([NODES[5]], [place], metrics=["duration"])
            assert table.read()["duration"] == pytest.approx(np.array([[PIECE_S + driven]]), abs=0.3)
            # A trip that begins on the street, or enters it otherwise, does not take this turn.
            for start, end in ((place, NODES[4]), (NODES[1], place)):
                assert router.route(start, end).duration_s == pytest.approx(before.route(start, end).duration_s)


def test_what_turns_take_off_counts_beyond_them_only(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    changed = with_turn_penalties(graph, [[5, 2, 3]], [-20])
    with Router(changed, device="cpu") as router, Router(graph, device="cpu") as before:
        short, long = PIECE_S - 5, PIECE_S + 20
        same, more = ([one.isochrones(NODES[5], s)[0].road_m for one in (before, router)] for s in (short, long))
        assert same[1] == pytest.approx(same[0])
        assert more[1] > more[0] + 300
        cells = router.service_areas([NODES[5]], limit=long).streets
        assert cells.weight.min() >= 0


def test_no_turn_takes_more_off_than_its_streets_take(tmp_path: Path) -> None:
    for turn, b, expected in (([5, 2, 3], 4, 2 * PIECE_S), ([3, 2, 5], 5, 2 * PIECE_S)):
        changed = with_turn_penalties(graph_of(tmp_path), [turn], [-1e4])
        assert seconds(changed, 5 if b == 4 else 4, b) == pytest.approx(expected, abs=1.0)
    streets = changed.streets
    assert streets is not None and streets.turn is not None
    with pytest.raises(GraphError, match="is not 0"):
        replace(streets, turn=np.ones_like(streets.turn)).check(changed.num_arcs)
    with pytest.raises(GraphError, match="give both"):
        replace(streets, turn=None).check(changed.num_arcs)


@pytest.mark.parametrize("line", ["1,2,-3", "1,2", "1,x,3", "1,2,3,x", "1,2,inf"])
def test_lines_that_are_no_speeds(tmp_path: Path, line: str) -> None:
    path = tmp_path / "speeds.csv"
    path.write_text(f"1,2,3\n{line}\n")
    with pytest.raises(FormatError, match=r"line 2.*malformed"):
        read_segment_speeds(path)


def test_bad_arguments(tmp_path: Path) -> None:
    graph = graph_of(tmp_path)
    with pytest.raises(QueryError, match="speeds"):
        with_segment_speeds(graph, [[1, 2]], [2000])
    with pytest.raises(QueryError, match="segments"):
        with_segment_speeds(graph, [[1, 2, 3]], [20])
    with pytest.raises(QueryError, match="costs"):
        with_turn_penalties(graph_of(tmp_path, "none"), [[1, 2, 3]], [5])
    with pytest.raises(QueryError, match="OSM nodes"):
        with_segment_speeds(Graph.from_edges(np.array([0]), np.array([1]), np.array([1])), [[1, 2]], [5])


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("3,4,13\n")
    (tmp_path / "t.csv").write_text("1,2,6,100\n")
    graph_of(tmp_path)
    files = ["--segment-speeds", str(tmp_path / "s.csv"), "--turn-penalties", str(tmp_path / "t.csv")]
    assert main(["import", str(tmp_path / "m.osm"), str(tmp_path / "g"), *files]) == 0
    graph = Graph.load(tmp_path / "g")
    assert seconds(graph, 2, 4) == pytest.approx(PIECE_S * 6, abs=0.2)
    assert seconds(graph, 1, 6) == pytest.approx(2 * PIECE_S + 100, abs=0.3)
