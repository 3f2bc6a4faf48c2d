"""Street networks of osmnx, against NetworkX on the same network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import osmnx
import pytest
from shapely import LineString

import vkssp
from tests.support.osm_maps import streets_of
from tests.support.osmnx_graphs import andorra_network
from vkssp import Graph, GraphError, QueryError, Router, Solver

HOME, PASS = (42.5078, 1.5211), (42.5425, 1.7337)


@pytest.fixture(scope="module")
def network() -> Any:
    return andorra_network()


def same_distances(graph: Graph, network: Any, weight: Any, bound: float) -> None:
    names = list(network.nodes)
    assert graph.names is not None and graph.names.tolist() == names
    with Solver(graph, "dijkstra") as solver:
        for source in names[:: len(names) // 3]:
            found = solver.distances(source)
            reference = networkx.single_source_dijkstra_path_length(network, source, weight=weight)
            wanted = np.array([reference.get(name, np.inf) for name in names])
            assert np.array_equal(np.isfinite(found), np.isfinite(wanted))
            assert np.allclose(found, wanted, rtol=0, atol=bound)


def test_distances_are_those_of_networkx(network: Any) -> None:
    for weight, given in (("travel_time", None), ("length", "length"), ("speed_kph", "speed_kph")):
        graph = vkssp.from_osmnx(network, given)
        same_distances(graph, network, weight, 1000 * graph.weight_error + 1e-9)
        assert (streets_of(graph).seconds_per_weight > 0) == (weight == "travel_time")
    bare = network.copy()
    for _, _, data in bare.edges(data=True):
        del data["travel_time"]
    graph = vkssp.from_osmnx(bare)
    same_distances(graph, bare, lambda _, __, k: min(e["length"] * 3.6 / e["speed_kph"] for e in k.values()), 1e-3)
    for _, _, data in bare.edges(data=True):
        del data["speed_kph"]
    assert streets_of(vkssp.from_osmnx(bare)).seconds_per_weight == 0


def test_arcs_run_along_their_edges(network: Any) -> None:
    graph = vkssp.from_osmnx(network)
    streets = streets_of(graph)
    names = list(network.nodes)
    wanted = Counter()
    for tail, head, data in network.edges(data=True):
        ends = [(network.nodes[node]["x"], network.nodes[node]["y"]) for node in (tail, head)]
        line = list(data["geometry"].coords) if "geometry" in data else ends
        points = tuple((round(lat, 7), round(lon, 7)) for lon, lat in line)
        wanted[tail, head, points, round(data["length"], 1)] += 1
    found = Counter(
        (
            names[tail],
            names[head],
            tuple(map(tuple, streets.points_along(np.array([arc])).round(7).tolist())),
            round(float(streets.length[arc]), 1),
        )
        for arc, (tail, head) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    )
    assert found == wanted
    # Both directions of a street share a polyline.
    lines = Counter(points for _, _, points, _ in wanted.elements())
    two_way = sum(min(count, lines[points[::-1]]) for points, count in lines.items() if points < points[::-1])
    shared = np.bincount(streets.polyline)
    assert shared.max() == 2 and np.count_nonzero(shared == 2) == two_way > 500
    assert len(shared) == len(streets.polyline_first) - 1


def test_projected_networks_are_the_same(network: Any) -> None:
    graph, projected = vkssp.from_osmnx(network), vkssp.from_osmnx(osmnx.project_graph(network))
    assert projected.names is not None and graph.lat is not None and projected.lat is not None
    at = projected.index_of(graph.names)
    assert np.allclose(projected.lat[at], graph.lat, atol=2e-7)
    assert len(streets_of(projected).polyline_first) == len(streets_of(graph).polyline_first)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_routes_are_lists_of_nodes_of_the_network(network: Any, turns: str) -> None:
    graph = vkssp.from_osmnx(network, turns=turns)
    with Router(graph, "dijkstra") as router:
        route = router.route(HOME, PASS, steps=True)
    assert route.osm_nodes is not None and route.duration_s is not None
    nodes = route.osm_nodes.tolist()
    assert networkx.is_path(network, nodes)
    frame = osmnx.routing.route_to_gdf(network, nodes, weight="travel_time")
    least = networkx.dijkstra_path_length(network, nodes[0], nodes[-1], weight="travel_time")
    if turns == "none":
        assert frame["travel_time"].sum() == pytest.approx(least, abs=1e-3)
    assert route.duration_s > frame["travel_time"].sum()  # the first and the last street are no part of it
    streets = {name for value in frame["name"].dropna() for name in (value if isinstance(value, list) else [value])}
    assert any(step.name in streets for step in route.steps if step.name)
    assert any(step.type == "roundabout" for step in route.steps)


def cross(**changes: Any) -> Any:
    """Return a crossing 0 of streets to the nodes 1 (west), 2 (north), 3 (east) and 4 (south), and a detour 2-5-3."""
    network = networkx.MultiDiGraph(crs="EPSG:4326")
    places = {0: (0, 0), 1: (-1, 0), 2: (0, 1), 3: (1, 0), 4: (0, -1), 5: (1, 1)}
    for node, (x, y) in places.items():
        network.add_node(10 + node, x=1.5 + x / 100, y=42.5 + y / 100, **changes.get(f"node{node}", {}))
    for way, (a, b) in {101: (1, 0), 102: (0, 2), 103: (0, 3), 104: (4, 0), 105: (2, 5), 106: (5, 3)}.items():
        for tail, head in ((a, b), (b, a)):
            network.add_edge(10 + tail, 10 + head, osmid=changes.get(f"way{way}", way), length=900.0, travel_time=90.0)
    return network


def banned(kind: str, origin: int, target: int, via: tuple[str, int] = ("node", 10)) -> dict[str, Any]:
    members = [("from", "way", origin), ("via", *via), ("to", "way", target)]
    told = [{"role": role, "type": kind_, "ref": ref} for role, kind_, ref in members]
    return {"type": "relation", "tags": {"type": "restriction", "restriction": kind}, "members": told}


def passed(network: Any, start: int, goal: int, **options: Any) -> list[int]:
    """Return the nodes on the fastest path from the middle of the street at a node to that at another."""
    places = [(network.nodes[node]["y"], network.nodes[node]["x"]) for node in (start, goal)]
    with Router(vkssp.from_osmnx(network, **options), "dijkstra") as router:
        ids = router.route(*places).osm_nodes
    assert ids is not None
    return [node for node in ids.tolist() if node not in (start, goal)]


@pytest.mark.parametrize(
    ("relations", "changes", "middle"),
    [
        ([], {}, [10]),
        ([banned("no_right_turn", 102, 101)], {}, [10]),  # another turn
        ([banned("no_left_turn", 103, 102)], {}, [15]),  # from east to north: round the corner 5
        ([banned("only_straight_on", 103, 101)], {}, [15]),
        ([banned("no_left_turn", 103, 102)], {"way103": [103, 777]}, [15]),  # a simplified edge of two ways
        ([banned("no_left_turn", 777, 102)], {"way103": [103, 777]}, [15]),
        ([banned("no_left_turn", 103, 999)], {}, [10]),  # a way that is not there
        ([banned("no_left_turn", 103, 102, ("way", 555))], {}, [10]),
        ([{"tags": {"type": "multipolygon"}, "members": []}], {}, [10]),
    ],
)
def test_turn_restrictions(relations: list[Any], changes: dict[str, Any], middle: list[int]) -> None:
    network = cross(**changes)
    for turns in ("restrictions", "costs"):
        # 13 to 12 over the crossing takes as long as over 15, but for the turns; the crossing is made shorter.
        for tail, head in ((13, 10), (10, 13), (10, 12), (12, 10)):
            network.edges[tail, head, 0]["travel_time"] = 60.0
        assert passed(network, 13, 12, turns=turns, restrictions=relations) == middle
    assert passed(network, 13, 12, restrictions=relations) == [10]


def test_signals_take_time() -> None:
    def seconds(network: Any) -> float:
        with Router(vkssp.from_osmnx(network, turns="costs"), "dijkstra") as router:
            found = router.route((42.5, 1.495), (42.5, 1.505)).duration_s
        assert found is not None
        return found

    plain = seconds(cross())
    assert seconds(cross(node0={"highway": "traffic_signals"})) == pytest.approx(plain + 2.0)
    assert seconds(cross(node0={"highway": "crossing"})) == plain


def test_undirected_networks_and_names() -> None:
    network = networkx.MultiGraph(crs="EPSG:4326")
    for at, name in enumerate("abc"):
        network.add_node(name, x=1.5 + at / 100, y=42.5)
    bend = LineString([(1.5, 42.5), (1.505, 42.51), (1.51, 42.5)])
    network.add_edge("b", "a", length=1500.5, geometry=bend, name=["Rue", "Calle"])  # drawn from a to b
    network.add_edge("b", "c", length=820.25, oneway=False)
    graph = vkssp.from_osmnx(network)
    assert graph.names is not None and graph.names.tolist() == ["a", "b", "c"] and graph.num_arcs == 4
    with Solver(graph, "dijkstra") as solver:
        assert solver.distances("c").tolist() == [2320.75, 820.25, 0.0]
    streets = streets_of(graph)
    assert streets.node is None and streets.arc_name(0) == "Rue; Calle"
    assert streets.points_along(np.array([0])).round(7).tolist() == [[42.5, 1.5], [42.51, 1.505], [42.5, 1.51]]
    with Router(graph, "dijkstra") as router:
        assert router.route((42.5, 1.5), (42.5, 1.52)).nodes.tolist() == ["b"]


def test_networks_without_streets_and_ids_of_numpy() -> None:
    network = networkx.MultiDiGraph([(np.int64(5), np.int64(6), {"length": 3.5, "travel_time": 1.0})], crs="EPSG:4326")
    for at, data in enumerate(network.nodes.values()):
        data.update(x=1.5, y=42.5 + at)
    graph = vkssp.from_osmnx(network)
    assert graph.names is not None and graph.names.tolist() == [5, 6] and streets_of(graph).node is not None
    network.remove_edge(5, 6)
    for turns in ("none", "restrictions", "costs"):
        assert vkssp.from_osmnx(network, turns=turns, seconds=1).num_arcs == 0


def test_names_that_no_file_holds_are_replaced(tmp_path: Any) -> None:
    graph = vkssp.from_osmnx(edited(lambda network: network.edges[10, 11, 0].update(name="Rue \ud800\0")))
    names = {streets_of(graph).arc_name(arc) for arc in range(graph.num_arcs)}
    assert "Rue \ufffd" in names
    graph.save(tmp_path / "g.graph")


def edited(change: Callable[[Any], None]) -> Any:
    network = cross()
    change(network)
    return network


@pytest.mark.parametrize(
    ("make", "options", "error", "text"),
    [
        (lambda: {"a": 1}, {}, GraphError, "give a MultiDiGraph of osmnx"),
        (lambda: networkx.path_graph(2), {}, GraphError, "node 0 has no number 'x'"),
        (lambda: edited(lambda n: n.graph.update(crs="EPSG:4326") or n.nodes[11].update(x=500)), {}, GraphError,
         "node 11 is at x=500, y=42.5, which are no degrees"),
        (lambda: edited(lambda n: n.edges[11, 10, 0].pop("length")), {}, GraphError,
         "the edge from 11 to 10 has no 'length'"),
        (lambda: edited(lambda n: n.edges[11, 10, 0].update(travel_time=-1)), {}, GraphError,
         "the edge from 11 to 10 has -1 as 'travel_time'"),
        (lambda: edited(lambda n: [edge.update(length=[8.5, 2.0]) for *_, edge in n.edges(data=True)]), {}, GraphError,
         r"has \[8.5, 2.0\] as 'length'"),
        (lambda: edited(lambda n: n.edges[11, 10, 0].update(travel_time="50")), {}, GraphError,
         "has '50' as 'travel_time'"),
        (lambda: edited(lambda n: [edge.pop("travel_time") and edge.update(speed_kph=1e-320)
                                   for *_, edge in n.edges(data=True)]), {}, GraphError, "has speed (1e-320|9.9)"),
        (cross, {"turns": "costs", "restrictions": [{"tags": {}, "members": [
            {"role": "via", "type": "node", "ref": np.inf}]}]}, GraphError, r"restrictions\[0\] is .*Overpass"),
        (cross, {"weight": "risk"}, GraphError, "the edge from .* has no 'risk'"),
        (cross, {"weight": 7}, GraphError, "weight is 7; give the name of an attribute"),
        (cross, {"weight": "length", "turns": "costs"}, GraphError, "weights are no durations"),
        (cross, {"turns": "all"}, QueryError, "turns is 'all'"),
        (cross, {"seconds": -1}, GraphError, "seconds is -1"),
        (cross, {"turns": "costs", "restrictions": [{"tags": {}}]}, GraphError, r"restrictions\[0\] is .*Overpass"),
        (cross, {"turns": "costs", "profile": "horse"}, QueryError, "profile 'horse' is unknown"),
        (lambda: edited(lambda n: n.edges[11, 10, 0].update(geometry="LINESTRING")), {}, GraphError, "give lines"),
        (lambda: edited(lambda n: n.graph.update(crs="EPSG:99")), {}, vkssp.FormatError, "a system that is not known"),
    ],
)  # fmt: skip
def test_wrong_networks(make: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        vkssp.from_osmnx(make(), **options)
