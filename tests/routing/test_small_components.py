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
    router = Router(graph, device="cpu", small_component_size=4)
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
