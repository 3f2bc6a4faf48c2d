"""Snapping past small components of the network, as OSRM does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.osm_maps import ROAD, write_osm
from vkssp import Router
from vkssp.errors import NoRouteError, QueryError
from vkssp.graph import Graph
from vkssp.osm import import_extract
from vkssp.route import Route
from vkssp.routing.stops import Stop

#: A ring of streets, a street beside it, and another one beyond that.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.01, 0.01), 4: (0.01, 0.0)}
NODES |= {5: (0.0, 0.012), 6: (0.01, 0.012), 7: (0.0, 0.014), 8: (0.01, 0.014)}
WAYS = [(key, list(ends), ROAD) for key, ends in enumerate([(1, 2), (2, 3), (3, 4), (4, 1), (5, 6), (7, 8)], 1)]


@pytest.fixture(params=["none", "costs"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Graph:
    return import_extract(write_osm(tmp_path / "map.osm", NODES, WAYS), turns=request.param)[0]


def places(route: Route) -> list[tuple[float, float]]:
    return [(round(place.snapped_lat, 5), round(place.snapped_lon, 5)) for place in route.places]


def test_places_in_several_components_are_moved_to_the_large_one(graph: Graph) -> None:
    router = Router(graph, device="cpu", small_component_size=3)
    assert places(router.route(NODES[5], NODES[6])) == [NODES[5], NODES[6]]
    assert places(router.route(NODES[5], NODES[8])) == [NODES[2], NODES[3]]
    assert places(router.route(NODES[1], Stop(*NODES[8], radius_m=1000.0))) == [NODES[1], NODES[3]]
    apart = router.table([NODES[5], NODES[6], NODES[8]]).read()["duration"]
    joined = router.table([NODES[2], NODES[3], NODES[3]]).read()["duration"]
    assert apart.tolist() == joined.tolist()
    assert router.table([NODES[5]], [NODES[6]]).read()["duration"][0, 0] > 0


def test_nothing_is_large_enough(graph: Graph) -> None:
    router = Router(graph, device="cpu", small_component_size=100)
    with pytest.raises(NoRouteError):
        router.route(NODES[5], NODES[8])
    with pytest.raises(QueryError, match="small_component_size is -1"):
        Router(graph, device="cpu", small_component_size=-1)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_farther_streets_are_tried_if_asked_for(turns: str, tmp_path: Path) -> None:
    ways = [*WAYS, (7, [5, 2], {**ROAD, "oneway": "yes"})]  # out of the street beside the ring, not into it
    graph, _ = import_extract(write_osm(tmp_path / "map.osm", NODES, ways), turns=turns)
    strict = Router(graph, device="cpu", small_component_size=100)
    with pytest.raises(NoRouteError):
        strict.route(NODES[1], NODES[6])
    router = Router(graph, device="cpu", small_component_size=100, farther_streets=True)
    assert places(router.route(NODES[6], NODES[1])) == [NODES[6], NODES[1]]
    moved = router.route(NODES[1], NODES[6])
    assert places(moved) == [NODES[1], NODES[3]]
    assert router.table([NODES[1]], [NODES[6]]).read()["duration"][0, 0] == pytest.approx(moved.duration_s)


def test_points_of_several_places_are_those_of_a_route(graph: Graph) -> None:
    router = Router(graph, device="cpu", small_component_size=3)
    ends = [NODES[5], NODES[8]]
    told = router.nearest_of_each(ends, together=True)
    assert [(round(place.snapped_lat, 5), round(place.snapped_lon, 5)) for place in told] == [NODES[2], NODES[3]]
    assert [round(place.snapped_m) for place in router.nearest_of_each(ends)] == [0, 0]
    table = router.table(ends[:1], ends[1:])
    assert table.source_places + table.target_places == told
    square = router.table(ends)
    assert square.source_places == square.target_places == told


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_streets_are_counted_as_osrm_counts_them(turns: str, tmp_path: Path) -> None:
    # A cross of two-way streets, one of them in three ways, one only for residents: eight streets for OSRM.
    nodes = {key: (0.0, 0.01 * key) for key in range(6)} | {6: (0.01, 0.02), 7: (-0.01, 0.02)}
    ways = [(1, [0, 1, 2], ROAD), (2, [2, 3], ROAD), (3, [3, 4], {**ROAD, "maxspeed": "30"}), (4, [4, 5], ROAD)]
    ways += [(5, [2, 6], {**ROAD, "access": "private"}), (6, [2, 7], ROAD)]
    graph, _ = import_extract(write_osm(tmp_path / "map.osm", nodes, ways), turns=turns)
    for size, is_large in ((8, True), (9, False)):
        components = Router(graph, device="cpu", small_component_size=size).index.small_components
        assert components is not None and components.large.all() == components.large.any() == is_large
