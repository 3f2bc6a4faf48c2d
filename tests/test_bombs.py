"""Small graphs whose values, or the way in which their arrays share streets and places, would take much memory."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.osm_maps import ROAD, write_osm
from tests.support.streetmaps import UNIT, street_map
from vkssp import FormatError, Graph, GraphError, QueryError, Router, Streets, read_graph, z_order
from vkssp.graph.hierarchy import Hierarchy
from vkssp.routing.isochrone import isochrones
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_via_states
from vkssp.routing.snap import StreetIndex
from vkssp.routing.voronoi import Approach, earliest

MIB = 2**20


def most_memory(what: Callable[[], object]) -> int:
    """Return the most bytes that were taken at a time while a function ran."""
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def changed(graph: Graph, **arrays: Any) -> Graph:
    """Return a graph some arrays of whose streets are others."""
    assert graph.streets is not None
    streets = dataclasses.replace(graph.streets, **arrays)
    return Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)


def square() -> Graph:
    return street_map([(0, 0), (0, 1), (1, 1), (1, 0)], [(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 10)])


def test_the_number_of_a_junction_sizes_nothing() -> None:
    graph = changed(square(), junction=np.array([2**29, 7, 2**32 - 1, 7], np.uint32))
    index = StreetIndex(graph)
    assert most_memory(index.prepare) < 64 * MIB  # most of it the modules of scipy
    assert [index.nodes_at(node) for node in range(4)] == [[0], [1, 3], [2], [1, 3]]
    other = StreetIndex(changed(square(), junction=np.array([1, 0, 2, 0], np.uint32)))
    for one, same in zip(index.parts, other.parts, strict=True):
        assert np.array_equal(one, same)


def test_ways_past_a_point_that_many_arcs_and_nodes_share() -> None:
    """All arcs run along one street and end at one place, of which each node is a copy."""
    count = 700
    ends = np.arange(count)
    graph = Graph.from_edges(ends, np.roll(ends, 1), 10 + ends, lat=np.zeros(count), lon=np.zeros(count))
    streets = Streets(
        **{name: np.zeros(count, Streets.DTYPES[name]) for name in Streets.PER_ARC if name != "length"},  # type: ignore[arg-type]
        length=np.full(count, 100, np.float32),
        names=("",),
        polyline_first=np.array([0, 2], np.uint32),
        points=np.array([[0, 0], [0, 10**4]], np.int32),
        **{name: np.zeros(count, Streets.DTYPES[name]) for name in Streets.PER_NODE_OR_NONE},  # type: ignore[arg-type]
    )
    graph = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)
    index = StreetIndex(graph)
    index.prepare()
    for fraction in (0.5, 1.0):
        snap = Snap(0, fraction, 0, 0.0, fraction * 1e-3, 0.0)
        assert most_memory(lambda snap=snap: find_via_states(index, snap)) < 4 * MIB
        (via_state,) = find_via_states(index, snap)
        assert 0 < len(via_state.starts) <= 64 and 0 < len(via_state.goals) <= 64
        assert min(end.weight for end in via_state.starts) == (5 if fraction == 0.5 else 0)


def test_many_ways_along_one_street() -> None:
    """They are tangents of a parabola: each is the earliest somewhere, and crosses all others."""
    at = np.linspace(0, 1, 702)[1:-1]
    ways = [Approach(0.0, 1.0, 1e6 * x**2, 1e6 * (x**2 + 1 - 2 * x), number) for number, x in enumerate(at.tolist())]
    assert most_memory(lambda: list(earliest(ways, 10**7))) < 2 * MIB
    found = list(earliest(ways, 10**7))
    assert sorted(part[2] for part in found) == list(range(700))
    for low, high, source, _ in found[::50]:
        middle = (low + high) / 2
        assert min(way.at(middle) for way in ways) == pytest.approx(ways[source].at(middle))


def test_many_streets_near_many_places() -> None:
    streets = [(0, 1, 10, [(0.5, x / 1000)]) for x in range(2000)]
    index = StreetIndex(street_map([(0, 0), (0, 2)], streets))
    places = np.random.default_rng(1).random((300, 2)) * UNIT
    index.prepare()
    assert most_memory(lambda: index.nearest_of_each(places)) < 100 * MIB
    found = index.nearest_of_each(places)
    assert found[::60] == [index.nearest(lat, lon) for lat, lon in places[::60].tolist()]


def test_streets_that_cross_everywhere_take_no_more_memory_than_others() -> None:
    rng = np.random.default_rng(1)
    tail, head = rng.permutation(1400).reshape(2, -1)
    lat, lon = rng.random((2, 1400)) / 10
    graph = Graph.from_edges(tail, head, np.ones(700), lat=lat, lon=lon)
    index = StreetIndex(graph)
    assert most_memory(lambda: isochrones(index, np.zeros(1400, np.uint32), [], [10])) < 300 * MIB


def test_a_hierarchy_of_too_many_arcs_is_refused(tmp_path: Path) -> None:
    """A clique of supernodes takes a number for each node, and stands for an arc between any two."""
    count = 6000
    ends = np.arange(count - 1)
    graph = Graph.from_edges(ends, ends + 1, np.ones(count - 1))
    ids, none = np.arange(count, dtype=np.uint32), np.zeros(0, np.uint32)
    one = np.array([0, 1], np.uint32)
    hierarchy = Hierarchy(ids, one * np.uint32(count), np.zeros(2, np.uint32), none, one)
    with pytest.raises(GraphError, match=r"has 17,997,000 arcs, more than 16,789,216"):
        hierarchy.check(graph)
    dataclasses.replace(graph, hierarchy=hierarchy).save(tmp_path / "g")
    with pytest.raises(FormatError, match=r"g is damaged .*has 17,997,000 arcs"):
        Graph.load(tmp_path / "g")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("length", np.float32(1e30), r"streets.length\[2\] is 1e\+30; give metres from 0 to 400000000"),
        ("seconds_per_weight", 1e308, r"streets.seconds_per_weight is 1e\+308; give 1e-18 to 1e\+09, or 0"),
        ("seconds_per_weight", 1e-320, r"streets.seconds_per_weight is 1e-320; give 1e-18 to 1e\+09, or 0"),
        ("layer", np.uint8(3), r"streets.layer\[2\] is 3; give 0 to 2"),
    ],
)
def test_values_that_no_map_has_are_refused(name: str, value: Any, message: str) -> None:
    graph = square()
    assert graph.streets is not None
    if name != "seconds_per_weight":
        array = getattr(graph.streets, name)
        array = np.zeros(4, Streets.DTYPES[name]) if array is None else array.copy()
        array[2] = value
        value = array
    with pytest.raises(GraphError, match=message):
        changed(graph, **{name: value})


def test_coordinates_next_to_zero_overflow_nowhere() -> None:
    tiny = [0.0, 1e-320, 1e-300]
    assert z_order(np.array(tiny), np.array(tiny[::-1])).node.tolist() == [0, 1, 2]
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1, 1, 1], lat=[0.0, 1e-170, 1e-3], lon=[0.0, 1e-3, 1e-310])
    with Router(graph, "dijkstra") as router:
        assert not router.isochrones((0.0, 0.0), [2])[0].area.is_empty


def test_streets_that_take_longer_than_a_weight_can_tell_are_refused_by_name(tmp_path: Path) -> None:
    nodes = {i + 1: (0.0, -179.0 if i % 2 else 0.0) for i in range(2000)}
    source = write_osm(tmp_path / "long.osm", nodes, [(1, list(nodes), ROAD)])
    with pytest.raises(QueryError, match="way 1 takes longer than 32 bits hold at 25 km/h"):
        read_graph(source)
