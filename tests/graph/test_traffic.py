"""Speeds on ways: what arcs weigh then, and that routes, isochrones and tables follow."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import FormatError, Graph, GraphError, QueryError, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.traffic import speed_weights, with_traffic

HERE, THERE = (42.5075, 1.5218), (42.5430, 1.7340)


@pytest.fixture(scope="module", params=["none", "costs"])
def graph(andorra_path: Path, request: pytest.FixtureRequest) -> Graph:
    return read_graph(andorra_path, turns=request.param)


def test_arcs_of_ways(graph: Graph) -> None:
    streets = graph.streets
    assert streets is not None
    ways = np.concatenate([np.unique(streets.way)[[5, 3, 700]], [1], streets.way[-1:]])
    arcs, which = streets.arcs_of_ways(ways)
    assert np.array_equal(streets.way[arcs], ways[which]) and 3 not in which
    for index, way in enumerate(ways):
        assert arcs[which == index].tolist() == np.flatnonzero(streets.way == way).tolist()
    assert [len(array) for array in streets.arcs_of_ways([])] == [0, 0]
    for wrong in ([1.5], ["a"], [[1]]):
        with pytest.raises(GraphError, match="give OSM way ids"):
            streets.arcs_of_ways(wrong)


def test_weights_are_times_and_turns_stay(graph: Graph) -> None:
    streets = graph.streets
    assert streets is not None
    turn = np.zeros(graph.num_arcs) if streets.turn is None else streets.turn.astype(float)
    ways = np.unique(streets.way)
    speeds = {int(way): 5.0 + way % 90 for way in ways}
    arcs, weights, change = speed_weights(graph, {**speeds, 1: 9.0, 2: 8.0})
    assert (change.ways, change.unknown, change.arcs) == (len(ways) + 2, 2, len(arcs))
    rest = np.setdiff1d(np.arange(graph.num_arcs), arcs)
    assert (streets.length[rest] == 0).all(), "all but links of gates"
    seconds = streets.length[arcs] / np.array([speeds[int(way)] for way in streets.way[arcs]]) * 3.6
    expected = np.maximum(seconds / streets.seconds_per_weight, 1) + turn[arcs]
    assert (np.abs(weights - expected) <= 0.501).all()


def test_queries_follow_speeds(device: Device, graph: Graph) -> None:
    with Router(graph, "near_far", device) as router:
        before = router.route(HERE, THERE)
        streets = router.graph.streets
        assert streets is not None
        speeds = dict.fromkeys(streets.way[before.arcs].tolist(), 3.0)
        change = router.set_speeds(speeds)
        assert change.unknown == 0 and change.arcs >= len(before.arcs) - 2
        arcs, weights, _ = speed_weights(graph, speeds)
        whole = graph.weight.copy()
        whole[arcs] = weights
        with Router(graph.with_weights(whole), "dijkstra") as fresh:
            places = [HERE, THERE, *(tuple(point) for point in before.points[10:300:60].tolist())]  # type: ignore
            assert router.route(HERE, THERE).weight == fresh.route(HERE, THERE).weight > before.weight
            found, expected = (one.table(places, metrics=["weight"]).read()["weight"] for one in (router, fresh))
            assert np.array_equal(found, expected)
            areas = [[one.road_m for one in each.isochrones(HERE, [300, 900])] for each in (router, fresh)]
            assert areas[0] == areas[1]
        router.solver.set_weights(graph.weight)  # past the router
        assert router.route(HERE, THERE).weight == before.weight
        router.set_weights(graph.weight[:5] + np.uint32(1), np.arange(5))
        assert np.array_equal(router.graph.weight[:5], graph.weight[:5] + 1)


@pytest.mark.parametrize(
    ("speeds", "message"),
    [
        ({7: 0.0}, "on way 7 is 0 km/h; give a number from 0.01 to 1000"),
        ({7: -1.0}, "on way 7 is -1 km/h; give a number from"),
        ({7: float("nan")}, "on way 7 is nan km/h; give a number from"),
        ({7: float("inf")}, "on way 7 is inf km/h; give a number from"),
        ({7: 5e-324}, "on way 7 is 4.94066e-324 km/h; give a number from"),
        ({5: 30.0, 7: 1e-9}, "on way 7 is 1e-09 km/h; give a number from"),
        ({7: 1e300}, "on way 7 is 1e\\+300 km/h; give a number from"),
        ({7: 5.0}, "none of the 1 ways, such as 7"),
        ({7.5: 5.0}, "give a mapping"),
        ([7], "give a mapping"),
        ({"a": 5.0}, "give a mapping"),
        ({2**70: 5.0}, "give a mapping"),
    ],
)
def test_what_is_no_speed(graph: Graph, speeds: dict[int, float], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        speed_weights(graph, speeds)


def test_a_speed_too_low_and_a_graph_without_ways(graph: Graph) -> None:
    assert graph.streets is not None
    way = int(graph.streets.way[int(np.argmax(graph.streets.length))])
    fine = dataclasses.replace(graph.streets, seconds_per_weight=1e-6)
    slow = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=fine)
    with pytest.raises(QueryError, match=f"way {way} takes longer than 32 bits hold"):
        speed_weights(slow, {way: 0.01})
    with pytest.raises(QueryError, match="no OSM ways"):
        speed_weights(grid(3), {way: 30.0})
    assert len(speed_weights(graph, {})[0]) == 0


def test_files(graph: Graph, tmp_path: Path) -> None:
    assert graph.streets is not None
    path = tmp_path / "t.csv"
    path.write_text(f"arc,weight\n3,{graph.weight[3] + 5}\n0,{graph.weight[0] + 7}.0\n")
    changed, change = with_traffic(graph, path)
    different = np.flatnonzero(changed.weight != graph.weight)
    assert different.tolist() == [0, 3] and (change.arcs, change.unknown) == (2, 0)
    way = int(graph.streets.way[3])
    path.write_text(f"source,speed_kmh,way\nhere,7.5,{way}\nthere,8,1\n\n")
    changed, change = with_traffic(graph, path)
    arcs, weights, _ = speed_weights(graph, {way: 7.5})
    assert np.array_equal(changed.weight[arcs], weights) and change.unknown == 1


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", FormatError, "no columns way,speed_kmh or arc,weight"),
        ("way\n1\n", FormatError, "no columns"),
        ("arc,weight\n1,2.5\n", FormatError, "line 2: '1,2.5' is not an arc and a whole weight"),
        ("arc,weight\n1,2\n\n1\n", FormatError, "line 4: '1'"),
        ("arc,weight\n99999999,2\n", GraphError, "arc ids of this graph"),
        ("arc,weight\n1,20000\n1,30000\n", QueryError, "arc 1 is to weigh"),
        ("arc,weight\n1,9999999999\n", GraphError, "the largest of weights"),
        ("arc,weight\n1,1e300\n", GraphError, "the largest of weights"),
        ("arc,weight\n99999999999999999999999,1\n", FormatError, "64 bits"),
        ("way,speed_kmh\n1.5,2\n", FormatError, "line 2: '1.5,2' is not a way and a speed"),
        ("way,speed_kmh\n5,0\n", QueryError, "is 0 km/h; give a number from"),
        ("way,speed_kmh\n5,5e-324\n", QueryError, "on way 5 is 4.94066e-324 km/h; give"),
        ("way,speed_kmh\n9,1\n5,30\n8,1\n5,20\n", QueryError, "way 5 has the speeds 30 and 20 km/h; give one"),
    ],
)
def test_what_is_no_traffic(graph: Graph, tmp_path: Path, content: str, error: type[Exception], message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(error, match=message):
        with_traffic(graph, path)
    path.write_bytes(b"way,speed_kmh\n5,30\xff\n")
    with pytest.raises(FormatError, match="is no text of comma-separated values"):
        with_traffic(graph, path)
    with pytest.raises(FormatError, match="does not exist; check the path"):
        with_traffic(graph, tmp_path / "missing.csv")
