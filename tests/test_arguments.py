"""Arguments of the wrong kind: one short error names each of them, whatever it is, and says what to give."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import geopandas
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from tests.support.graphs import heap_dijkstra
from tests.support.streetmaps import street_map
from vkssp import (
    Graph,
    GraphError,
    MemoryShortageError,
    Order,
    QueryError,
    Router,
    Solver,
    SolverPool,
    Streets,
    VksspError,
    landmark_order,
    memory,
    prepare,
    read_graph,
    z_order,
)
from vkssp.formats import read_file
from vkssp.generate import barabasi_albert, from_expression, gnm, martin, rmat, road_grid, uniform_random
from vkssp.gpu.device import Device
from vkssp.graph.traffic import changed_weights, speed_weights, with_traffic
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.routing.areas import read_areas
from vkssp.routing.geojson import places_geojson, route_geojson, write_geojson
from vkssp.routing.isochrone import isochrone_geojson, write_isochrones_of_each
from vkssp.routing.map import write_isochrone_map, write_map
from vkssp.routing.snap import StreetIndex
from vkssp.routing.value_map import write_value_map
from vkssp.solver.table_maker import table_of_nodes

HERE, THERE = (0.0001, 0.0001), (0.0009, 0.0001)
#: Arguments by their names, all of them right.
Arguments = dict[str, Any]


class Frame:
    """A table as pandas has them: it is long when it is shown, and yields the names of its columns."""

    def __repr__(self) -> str:
        return "lat lon\n" * 10_000

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[str]:
        return iter(["lat", "lon"])


class Torn:
    """Something that cannot be compared, and is neither true nor false, like an array of two truth values."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


#: What is wrong wherever it is given, but for the few places that are named with the cases.
WRONG: dict[str, Callable[[], Any]] = {
    "number": lambda: 1j,
    "huge": lambda: -(10**5000),
    "bytes": lambda: b"\0",
    "ragged": lambda: [[1], [2, 3]],
    "object": object,
    "frame": Frame,
    "torn": Torn,
    "mapping": lambda: {0: "a"},
    "graph": lambda: nx.path_graph(3),
    "matrix": lambda: sparse.csr_array((2, 3)),
    "complex": lambda: np.array([1j, 2]),
    "masked": lambda: np.ma.array([0, 1, 1], mask=[False, True, False]),
    "scalar mask": lambda: np.ma.masked,
    "objects": lambda: np.array([None, np.zeros(2)], object),
    "three": lambda: np.zeros((2, 2, 2), np.int64),
}


def check_refused(call: Callable[..., Any], arguments: Arguments, but: tuple[str, ...] = ()) -> None:
    """Give each argument in turn what is wrong, and check the error: its kind, its length, and that it names a cure."""
    for name in arguments:
        for kind, make in WRONG.items():
            if f"{name} {kind}" in but:
                continue
            with pytest.raises(VksspError) as raised:
                found = call(**{**arguments, name: make()})
                if inspect.isgenerator(found):
                    list(found)
            message = str(raised.value)
            told = f"{call}: {name} as {kind}: {message}"
            assert len(message) < 500 and "\n" not in message, told
            assert re.search(r"[;,:] (give|choose|make|leave|a path|numbers|.* takes|.* go)\b", message), told


@pytest.fixture(scope="module")
def streets() -> Graph:
    return street_map([(0, 0), (0, 1), (1, 1), (1, 0)], [(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)])


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])


def test_arguments_of_graphs(graph: Graph, streets: Graph, tmp_path: Path) -> None:
    pair = {"lat": [0.0, 1.0], "lon": [0.0, 1.0]}
    rows = {"first_out": [0, 1, 2], "head": [1, 0]}
    check_refused(Graph.from_csr, {**rows, "weight": [1, 2], **pair, "streets": None})
    check_refused(
        Graph.from_edges, {"tail": [0], "head": [1], "weight": [1], "num_nodes": 2, "undirected": False, **pair}
    )
    check_refused(Graph.from_scipy, {"matrix": sparse.csr_array((2, 2)), **pair}, ("matrix graph",))
    check_refused(Graph, {"first_out": graph.first_out, "head": graph.head, "weight": graph.weight})
    check_refused(graph.with_weights, {"weight": [1, 2, 3]})
    check_refused(graph.renumbered, {"order": Order.from_nodes([0, 1, 2])})
    check_refused(graph.save, {"path": tmp_path / "a"})
    check_refused(Graph.load, {"path": tmp_path / "a"})
    check_refused(Order.from_nodes, {"node": [0, 1]})
    check_refused(Order, {"rank": np.zeros(1, np.uint32), "node": np.zeros(1, np.uint32)})
    check_refused(z_order, pair)
    check_refused(landmark_order, rows)
    check_refused(prepare, {"graph": graph, "progress": False})
    check_refused(prepare(graph).hierarchy.check, {"graph": graph})  # type: ignore[union-attr]
    check_refused(RenumberedGraph, {"graph": graph, "order": "auto", "keep": False})
    check_refused(changed_weights, {"graph": graph, "weights": [1], "arcs": [0]})
    known = streets.streets
    assert known is not None
    fields = {name: getattr(known, name) for name in (*Streets.DTYPES, "names", "seconds_per_weight")}

    def with_streets(**values: Any) -> Graph:
        rows = streets.first_out, streets.head, streets.weight
        return Graph.from_csr(*rows, lat=streets.lat, lon=streets.lon, streets=Streets(**values))

    check_refused(with_streets, fields)
    check_refused(known.take, {"arcs": [0]})
    check_refused(known.check, {"num_arcs": 8, "num_nodes": 4})
    check_refused(known.without_turns, {"weight": streets.weight})
    check_refused(known.arcs_of_ways, {"ways": [100]})
    check_refused(known.polyline_points, {"polyline": 0})
    check_refused(known.points_along, {"arcs": [0]})
    check_refused(known.arc_name, {"arc": 0})
    check_refused(known.arc_ref, {"arc": 0})
    for ask in (known.arc_name, known.arc_ref, known.polyline_points):
        with pytest.raises(GraphError, match="is -1; give a whole number from 0 to"):
            ask(-1)


def test_arguments_of_readers_and_generators(tmp_path: Path, streets: Graph) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1 2 3\n")
    read = {
        "path": path,
        "format": "edge_list",
        "weights": "unit",
        "directed": True,
        "scale": 1.0,
        "coordinates": False,
    }
    check_refused(read_graph, {**read, "progress": False})
    check_refused(read_file, read)
    check_refused(
        lambda profile, turns: read_graph("tests/data/andorra.osm.pbf", profile=profile, turns=turns),
        {"profile": "car", "turns": "none"},
    )
    check_refused(with_traffic, {"graph": streets, "path": path})
    check_refused(read_areas, {"areas": {}})
    check_refused(from_expression, {"text": "gnm:4,2"})
    drawn = {"seed": 1, "weights": (1, 2)}
    check_refused(gnm, {"num_nodes": 4, "num_edges": 2, **drawn, "undirected": True})
    check_refused(rmat, {"scale": 2, "degree": 2, **drawn, "a": 0.5, "b": 0.1, "c": 0.1, "undirected": True})
    check_refused(rmat, {"scale": 2, "permute": True})
    check_refused(road_grid, {"side": 3, "seed": 1, "keep": 0.5, "shape_nodes": 0})
    check_refused(barabasi_albert, {"num_nodes": 4, "attached": 1, **drawn})
    check_refused(martin, {"num_nodes": 4, "predecessors": 1, **drawn})
    check_refused(uniform_random, {"num_nodes": 4, "degree": 1, **drawn})


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("kind", ["device", "cpu", "pool"])
def test_arguments_of_solvers(device: Device, graph: Graph, tmp_path: Path, kind: str) -> None:
    make: Any = SolverPool if kind == "pool" else Solver
    algorithm = "dijkstra" if kind == "cpu" else "near_far"
    chosen = {} if kind == "cpu" else {"devices" if kind == "pool" else "device": device, "delta": 5}
    check_refused(make, {"graph": graph, "algorithm": algorithm, **chosen, "order": "auto", "reduction": "none"})
    if kind == "pool":
        check_refused(SolverPool, {"graph": graph, "devices": device, "waiting_bytes": 100})
    else:
        check_refused(Solver, {"graph": graph, "algorithm": algorithm, "counters": "totals"})
    devices = () if kind == "cpu" else ([device],) if kind == "pool" else (device,)
    with make(graph, algorithm, *devices) as solver:
        before = heap_dijkstra(graph, 0).tolist()
        ids = {"sources": [0, 1], "targets": [1, 2]}
        check_refused(solver.distances, {"source": 0, "limit": 5, "chunked": False})
        check_refused(solver.distances, {"source": [0, 1], "limit": 5, "chunked": False})
        check_refused(solver.distances, {"source": [(0, 0)], "limit": 5, "chunked": False})
        check_refused(solver.distance, {"source": 0, "target": 1})
        check_refused(solver.path, {"source": 0, "target": 1})
        check_refused(solver.search_path, {"seeds": [(0, 0)], "targets": [(1, 0)]})
        check_refused(solver.nearest, {"sources": [0, 1], "offsets": [0, 0], "limit": 5})
        check_refused(solver.table, {**ids, "limit": 5, "chunked": True})
        check_refused(solver.pairs, ids)
        check_refused(solver.write_table, {"path": tmp_path / "a.npy", **ids, "limit": 5})
        check_refused(solver.set_weights, {"weights": [1], "arcs": [0]})
        rows = {"graph": graph, "seeds": [[(0, 0)]], "nodes": [1], "whole": False, "limit": 5}
        check_refused(solver.row_blocks, rows, ("seeds three",))
        check_refused(
            lambda metrics, **more: table_of_nodes(solver, metrics=metrics, **more), {**ids, "metrics": ["weight"]}
        )
        if kind != "pool":
            check_refused(solver.search, {"seeds": [(0, 0)], "targets": [(1, 0)]})
        # Nothing has changed.
        assert solver.distances(0).tolist() == before
        assert solver.distances(zip([0, 1], [9, 0], strict=True)).tolist() == [9, 0, 3]


def test_arguments_of_routers(device: Device, streets: Graph, tmp_path: Path) -> None:
    check_refused(Router, {"graph": streets, "algorithm": "near_far", "device": device, "metric": "distance"})
    check_refused(Router, {"graph": streets, "avoid": {}})
    with pytest.raises(
        QueryError, match=r"^graph is a networkx Graph; make a Graph, with from_networkx, or from_osmnx"
    ):
        Router(nx.path_graph(3))  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"^path is a networkx Graph, no file; make a Graph of it with from_networkx"):
        read_graph(nx.path_graph(3))  # type: ignore[arg-type]
    with Router(streets, "near_far", device) as router:
        around = {"limits": [1.0], "width_m": 50.0}
        check_refused(
            router.route,
            {"origin": HERE, "destination": THERE, "via": [HERE], "steps": False, "continue_straight": True},
        )
        check_refused(lambda lat, lon: router.route((lat, lon), THERE), {"lat": 0.0, "lon": 0.0})
        check_refused(router.nearest, {"place": HERE, "number": 1})
        check_refused(router.isochrones, {"origin": HERE, **around})
        check_refused(router.isochrones_of_each, {"origins": [HERE, THERE], **around})
        check_refused(router.service_areas, {"sources": [HERE], "limit": 9.0})
        check_refused(router.table, {"sources": [HERE], "targets": [THERE], "metrics": ["weight"]})
        check_refused(router.set_weights, {"weights": [10], "arcs": [0]})
        check_refused(router.set_speeds, {"speeds": {100: 30.0}})
        check_refused(lambda speed: speed_weights(streets, {100: speed}), {"speed": 30.0})
        index = router.index
        check_refused(StreetIndex, {"graph": streets})
        check_refused(index.trip_ends, {"places": [HERE]})
        near = {"leaving": False, "reached": False, "limit": 9.0}
        check_refused(index.nearest_of_each, {"places": [HERE], **near})
        check_refused(index.nearest_streets, {"lat": 0.0, "lon": 0.0, "number": 1, **near})
        route, found, assigned = router.route(HERE, THERE), router.isochrones(HERE, [1.0]), router.service_areas([HERE])
        path, places, page = (tmp_path / name for name in ("a.csv", "a.geojson", "a.html"))
        table = router.table([HERE], [THERE])
        check_refused(route.sum, {"values": streets.weight})
        check_refused(table.write, {"path": path, "sources": ["a"], "targets": [1], "progress": False})
        check_refused(assigned.write, {"path": path, "ids": ["a"]})
        check_refused(assigned.geojson, {"ids": ["a"]})
        check_refused(assigned.polyline, {"number": 0})
        check_refused(route_geojson, {"route": route})
        check_refused(write_geojson, {"path": places, "route": route})
        check_refused(places_geojson, {"places": router.nearest(HERE)})
        check_refused(isochrone_geojson, {"found": found})
        check_refused(write_isochrones_of_each, {"path": places, "found": [found], "names": ["a"]})
        check_refused(write_map, {"path": page, "graph": streets, "route": route, "title": ""})
        check_refused(
            write_isochrone_map,
            {"path": page, "graph": streets, "found": found, "facts": {}, "title": ""},
            ("facts mapping",),
        )
        valued = {"path": page, "graph": streets, "columns": {"a": [1] * 4}, "facts": {}, "title": ""}
        check_refused(write_value_map, {**valued, "nodes": [0, 1, 2, 3]}, ("facts mapping",))
        check_refused(lambda shapes: write_value_map(**valued, shapes=shapes), {"shapes": []})
        check_refused(lambda values: write_value_map(page, streets, {"values": values}), {"values": [1] * 4})
        assert router.isochrones(HERE, 1.0)[0].limit == found[0].limit  # one limit is a list of one
        assert router.table([HERE], metrics="distance").metrics == ("distance",)
        # Texts are no numbers, and a pair has an order; a table of places is no place.
        several = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([0.0, 1.0], [0.0, 1.0]), crs=4326)
        for place in (("0.0001", "0.0001"), {0.0001, 0.0002}, (True, False), "12", several):
            with pytest.raises(QueryError, match="give a pair of latitude and longitude"):
                router.route(place, THERE)  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="there are 2 names for 1 places; give one for each"):
            write_isochrones_of_each(places, iter([found]), ["a", "b"])
        assert not list(tmp_path.glob("a.*"))


def test_ids_that_do_not_fit_into_memory(device: Device, graph: Graph) -> None:
    with Solver(graph, "near_far", device) as solver:
        for ask in (solver.table, solver.distances, solver.nearest, lambda ids: solver.pairs(ids, [0])):
            with pytest.raises(QueryError, match=r"^sources has 1,000,000,000,000 entries, .* memory; give fewer"):
                ask(range(10**12))


def test_masks_are_no_ids_and_no_weights(device: Device, graph: Graph) -> None:
    mask, hidden = np.array([True, False, True]), np.ma.array([0, 1, 2], mask=[0, 1, 0])
    shown = np.ma.array([0, 2, 1], mask=False)
    with Solver(graph, "near_far", device) as solver:
        asked: list[tuple[Callable[[Any], Any], str]] = [
            (solver.table, "sources"),
            (solver.distances, "sources"),
            (solver.nearest, "sources"),
            (lambda ids: solver.pairs(ids, [0, 1, 2]), "sources"),
            (lambda ids: solver.set_weights([1, 1, 1], ids), "arcs"),
            (lambda ids: Graph.from_edges(ids, [0, 1, 2], [1, 1, 1]), "tail"),
        ]
        for ask, name in asked:
            with pytest.raises(VksspError, match=rf"^{name} holds truth values; give .* np\.flatnonzero\({name}\)"):
                ask(mask)
            with pytest.raises(VksspError, match=rf"^{name} has masked entries; .* {name}\.compressed\(\)"):
                ask(hidden)
        for values in (mask, hidden):
            with pytest.raises(GraphError, match=r"^weights? (holds truth values|has masked entries)"):
                solver.set_weights(values)
        for source in (True, np.True_, np.ma.masked):
            with pytest.raises(QueryError, match="give a node id, an integer"):
                solver.distance(source, 2)
        assert solver.table(shown, shown).tolist() == [[0, 7, 4], [2**32 - 1, 0, 2**32 - 1], [2**32 - 1, 3, 0]]
        assert [row.tolist() for row in solver.table(shown[:1], np.flatnonzero(mask), chunked=True)] == [[[0, 7]]]


def test_rows_that_are_none_do_not_reach_compiled_code() -> None:
    """They made scipy write beyond its arrays."""
    for first_out, head in (([0, 1, 2], [9, 0]), ([0, 5], [0]), ([0, 2, 1], [0, 0]), ([1, 1], [])):
        with pytest.raises(GraphError, match=r"^(first_out|head)"):
            landmark_order(first_out, head)  # type: ignore[arg-type]


def test_ids_that_need_more_nodes_than_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**30)
    huge = sparse.coo_array(([1], ([0], [0])), shape=(4_000_000_001, 4_000_000_001))
    for make in (
        lambda: Graph.from_edges([4_000_000_000], [1], [1], names=False),
        lambda: Graph.from_edges([], [], [], num_nodes=4_000_000_001),
        lambda: Graph.from_scipy(huge),
    ):
        with pytest.raises(MemoryShortageError, match=r"^a graph of 4,000,000,001 nodes .* names=True"):
            make()
    for make in (lambda: gnm(2**31 - 1, 1), lambda: uniform_random(2**31 - 1, 0), lambda: road_grid(20_000)):
        with pytest.raises(MemoryShortageError, match=r"^a graph of .* nodes and .* arcs: .*; give "):
            make()
