"""Graphs of layers of lines, against sums over the same lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import geopandas
import networkx
import numpy as np
import pandas
import pytest
from shapely import LineString, MultiLineString, Point, transform

import vkssp
from tests.support.osm_maps import streets_of
from vkssp import Graph, GraphError, Router, Solver
from vkssp.graph.geo import haversine

A, B, C, D = (1.50, 42.50), (1.51, 42.50), (1.51, 42.51), (1.50, 42.51)


def layer(**columns: Any) -> Any:
    """Return three lines: A to B, B over a bend to C, and D to C."""
    lines = [LineString([A, B]), LineString([B, (1.512, 42.505), C]), LineString([D, C])]
    return geopandas.GeoDataFrame(columns, geometry=lines, crs=4326)


def metres(*points: tuple[float, float]) -> float:
    return sum(float(haversine(a[1], a[0], b[1], b[0])) for a, b in pairwise(points))


def table(graph: Graph) -> Any:
    """Return the distances between A, B, C and D."""
    assert graph.lat is not None and graph.lon is not None
    places = list(zip(graph.lon.round(6).tolist(), graph.lat.round(6).tolist(), strict=True))
    nodes = [places.index(place) for place in (A, B, C, D)]
    with Solver(graph, "dijkstra") as solver:
        return solver.table(nodes, nodes)


def test_lines_are_joined_at_their_ends() -> None:
    ab, bc, dc = metres(A, B), metres(B, (1.512, 42.505), C), metres(D, C)
    graph = vkssp.from_geodataframe(layer(name=["Nord", None, "Sud"]), name="name")
    wanted = np.array([[0, ab, ab + bc, ab + bc + dc], [ab, 0, bc, bc + dc], [ab + bc, bc, 0, dc]])
    assert np.allclose(table(graph)[:3], wanted, rtol=0, atol=1e-3) and graph.num_arcs == 6
    streets = streets_of(graph)
    assert {streets.arc_name(arc) for arc in range(6)} == {"Nord", "", "Sud"}
    assert sorted(streets.way.tolist()) == [0, 0, 1, 1, 2, 2]
    projected = vkssp.from_geodataframe(layer().to_crs(32631))
    assert np.allclose(table(projected), table(graph), atol=0.05)
    with Router(projected, "dijkstra") as router:
        route = router.route((42.50, 1.505), (42.51, 1.505))
    assert route.distance_m == pytest.approx(ab / 2 + bc + dc / 2, abs=0.1)


def test_weights_speeds_and_directions(caplog: pytest.LogCaptureFixture) -> None:
    inf = np.inf
    graph = vkssp.from_geodataframe(layer(cost=[1.5, 2.0, 4.0]), "cost")
    assert table(graph)[0].tolist() == [0, 1.5, 3.5, 7.5]
    for values in (
        ["yes", "no", "-1"],
        ["F", "B", "T"],
        ["FT", "", "TF"],
        [True, False, -1],
        [1.0, np.nan, -1.0],
        ["F", pandas.NA, "T"],
    ):
        one = vkssp.from_geodataframe(layer(cost=[1.5, 2.0, 4.0], oneway=values), "cost", oneway="oneway")
        assert table(one).tolist() == [[0, 1.5, 3.5, 7.5], [inf, 0, 2, 6], [inf, 2, 0, 4], [inf, inf, inf, 0]]
    caplog.clear()
    vkssp.from_geodataframe(layer(oneway=["yes", "no", "-1"]), oneway="oneway")
    assert not caplog.records
    both_ways = vkssp.from_geodataframe(layer(oneway=["yes", "no", "-1"]))
    assert both_ways.num_arcs == 6 and "a column 'oneway' that is not used" in caplog.text
    # The costs of pgRouting: a negative one closes a direction.
    for back in ([3.0, 2.0, np.nan], pandas.array([3, 2, None], "Int64")):
        both = layer(cost=[1.5, -1.0, 4.0], back=back)
        assert table(vkssp.from_geodataframe(both, "cost", reverse_weight="back")).tolist() == [
            [0, 1.5, inf, inf],
            [3, 0, inf, inf],
            [5, 2, 0, inf],
            [9, 6, 4, 0],
        ]
    fast = vkssp.from_geodataframe(layer(kmh=[36.0, 36.0, 72.0]), speed="kmh")
    assert streets_of(fast).seconds_per_weight > 0
    assert table(fast)[3, 2] == pytest.approx(metres(D, C) / 20, abs=1e-3)
    minutes = vkssp.from_geodataframe(layer(cost=[1.5, 2.0, 4.0]), "cost", seconds=60)
    with Router(minutes, "dijkstra") as router:
        assert router.route((42.5, 1.5), (42.51, 1.51)).duration_s == pytest.approx(210)


def test_parts_labels_and_tolerance() -> None:
    frame = layer(cost=[1.0, 1.0, 1.0])
    half = LineString([B, (1.512, 42.505)])
    frame.loc[1, "geometry"] = MultiLineString([half, [(1.512, 42.505), C]])
    frame.index = [7, 5_000_000_000, 9]
    graph = vkssp.from_geodataframe(frame, "cost")
    assert table(graph)[0].tolist() == pytest.approx([0, 1, 2, 3])
    assert set(streets_of(graph).way.tolist()) == {7, 5_000_000_000, 9}
    gap = layer()
    gap.loc[0, "geometry"] = LineString([A, (B[0] - 5e-6, B[1])])  # 41 cm
    assert np.isinf(table(vkssp.from_geodataframe(layer())).max()) == np.False_
    assert vkssp.from_geodataframe(gap).num_nodes == 5
    joined = vkssp.from_geodataframe(gap, tolerance=0.5)
    assert joined.num_nodes == 4
    assert vkssp.from_geodataframe(gap, tolerance=0.3).num_nodes == 5


def test_a_grid_of_random_lines() -> None:
    rng = np.random.default_rng(3)
    places = rng.random((30, 2)) / 50 + (1.5, 42.5)
    ends = rng.integers(0, 30, (90, 2))
    lines = [LineString([places[a], rng.random(2) / 50 + (1.5, 42.5), places[b]]) for a, b in ends.tolist()]
    cost, back = rng.integers(1, 99, 90) / 4, rng.integers(-30, 99, 90) / 4
    frame = geopandas.GeoDataFrame({"cost": cost, "back": back}, geometry=lines, crs=4326)
    graph = vkssp.from_geodataframe(frame, "cost", reverse_weight="back")
    reference = networkx.MultiDiGraph()
    for (a, b), along, against in zip(ends.tolist(), cost.tolist(), back.tolist(), strict=True):
        reference.add_edge(a, b, weight=along)
        if against >= 0:
            reference.add_edge(b, a, weight=against)
    assert graph.lat is not None and graph.lon is not None
    named = [int(np.argmin(np.hypot(*(places - place).T))) for place in zip(graph.lon, graph.lat, strict=True)]
    assert len(set(named)) == graph.num_nodes == len(np.unique(ends))
    with Solver(graph, "dijkstra") as solver:
        found = solver.distances(range(graph.num_nodes))
    for source, row in zip(named, found, strict=True):
        wanted = networkx.single_source_dijkstra_path_length(reference, source)
        assert row.tolist() == [wanted.get(name, np.inf) for name in named]


@pytest.mark.parametrize(
    ("frame", "options", "text"),
    [
        ({"a": [1]}, {}, "give a GeoDataFrame"),
        (geopandas.GeoDataFrame(geometry=[Point(A)], crs=4326), {}, "lines has Point in row 0; give each row a line"),
        (geopandas.GeoDataFrame(geometry=[None], crs=4326), {}, "lines has no shape in row 0"),
        (geopandas.GeoDataFrame(geometry=[LineString()], crs=4326), {}, "an empty line"),
        (geopandas.GeoDataFrame(geometry=[LineString([(500, 1), (2, 3)])]), {}, "no degrees in row 0; set its crs"),
        (
            geopandas.GeoDataFrame(
                geometry=[transform(LineString([A, B, C]), lambda place: place / [[1], [np.nan], [1]])]
            ),
            {},
            "no degrees in row 0",
        ),
        (layer(ow=[1, np.array([1, 2]), 2]), {"oneway": "ow"}, r"lines\['ow'\] is an array of shape .* in row 1"),
        (layer(kmh=[1, 1e-320, 2]), {"speed": "kmh"}, r"lines\['kmh'\] is .*e-32. in row 1; give speeds above 0"),
        (layer(), {"weight": "cost"}, "lines has no column 'cost'"),
        (
            layer(cost=[1, 2, 3], time=[1, 2, 3]).rename(columns={"time": "cost"}),
            {"weight": "cost"},
            "lines has several columns 'cost'",
        ),
        (layer(cost=[1, "x", 2]), {"weight": "cost"}, r"lines\['cost'\] is 'x' in row 1"),
        (layer(ow=[1, "maybe", 2]), {"oneway": "ow"}, r"lines\['ow'\] is 'maybe' in row 1; give yes, -1 or no"),
        (layer(kmh=[1, 0, 2]), {"speed": "kmh"}, r"lines\['kmh'\] is 0 in row 1; give speeds above 0"),
        (layer(kmh=[1, 3, 2]), {"speed": "kmh", "weight": "kmh"}, "speed and weight are both given"),
        (layer(kmh=[1, 3, 2]), {"reverse_weight": "kmh"}, "reverse_weight is given without weight"),
        (layer(), {"tolerance": -1}, "tolerance is -1"),
        (layer(), {"seconds": "x"}, "seconds is 'x'"),
    ],
)
def test_wrong_layers(frame: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        vkssp.from_geodataframe(frame, **options)
