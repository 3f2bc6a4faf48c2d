"""Routers without some classes of streets, against routers of maps that lack these streets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import ROAD, write_osm
from vkssp import NoRouteError, QueryError, Router, prepare, read_graph
from vkssp.graph import Graph

#: A grid of five by five junctions; every fifth street is of the class "toll", every seventh "tunnel".
SIZE = 5
NODES = {SIZE * y + x + 1: (0.001 * y, 0.001 * x) for y in range(SIZE) for x in range(SIZE)}
ENDS = [(n, n + d) for n in NODES for d in (1, SIZE) if n + d in NODES and (d != 1 or n % SIZE)]
WAYS = [(number, list(ends), ROAD) for number, ends in enumerate(ENDS, 1)]
CLASSES = ("toll", "tunnel")


def is_of(way: int, name: str) -> bool:
    return way % (5 if name == "toll" else 7) == 0


def with_classes(graph: Graph, names: tuple[str, ...] = CLASSES) -> Graph:
    streets = graph.streets
    assert streets is not None
    classes = sum((streets.way % (5 + 2 * bit) == 0).astype(np.uint32) << np.uint32(bit) for bit in range(len(names)))
    return replace(graph, streets=replace(streets, classes=classes if names else None, class_names=names))


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("prepared", [False, True])
def test_routes_are_those_of_a_map_without_the_streets(tmp_path: Path, turns: str, prepared: bool) -> None:
    graph = with_classes(read_graph(write_osm(tmp_path / "all.osm", NODES, WAYS), turns=turns))
    random = np.random.default_rng(3)
    places = random.uniform(0, 0.004, (12, 2)).tolist()
    with Router(prepare(graph) if prepared else graph, device="cpu") as router:
        for chosen in (["toll"], ["tunnel"], ["toll", "tunnel"]):
            kept = [way for way in WAYS if not any(is_of(way[0], name) for name in chosen)]
            fewer = read_graph(write_osm(tmp_path / "fewer.osm", NODES, kept), turns="none")
            without = router.excluding(chosen)
            assert router.excluding(chosen[::-1]) is without
            with Router(fewer, device="cpu") as expected:
                for origin, destination in zip(places[:6], places[6:], strict=True):
                    assert without.nearest(origin)[0].snapped_m == expected.nearest(origin)[0].snapped_m
                    try:
                        route = without.route(origin, destination)
                    except NoRouteError:
                        with pytest.raises(NoRouteError):
                            expected.route(origin, destination)
                        continue
                    assert graph.streets is not None
                    assert not any(
                        is_of(way, name) for way in graph.streets.way[route.arcs].tolist() for name in chosen
                    )
                    if turns == "none":
                        assert route.distance_m == pytest.approx(expected.route(origin, destination).distance_m)
                if turns == "none":
                    table = without.table(places, metrics="distance").read()["distance"]
                    assert table == pytest.approx(
                        expected.table(places, metrics="distance").read()["distance"], nan_ok=True
                    )
                    (reached,) = without.isochrones(places[0], 100.0)
                    assert reached.road_m == pytest.approx(expected.isochrones(places[0], 100.0)[0].road_m)
        assert not router.excluding("toll").closed
    assert without.closed


def test_a_router_without_classes_follows_changes_of_weights(tmp_path: Path) -> None:
    graph = with_classes(read_graph(write_osm(tmp_path / "all.osm", NODES, WAYS), turns="none"))
    ends = (0.0, 0.0005), (0.004, 0.0035)
    with Router(graph, device="cpu") as router:
        before = router.excluding("toll").route(*ends)
        router.set_weights(2 * graph.weight)
        assert router.excluding("toll").route(*ends).weight == pytest.approx(2 * before.weight, abs=2)
        assert router.excluding("toll").graph.weight.tolist() == (2 * graph.weight).tolist()


def test_unknown_classes_are_refused(tmp_path: Path) -> None:
    plain = with_classes(read_graph(write_osm(tmp_path / "all.osm", NODES, WAYS), turns="none"), ())
    with Router(plain, device="cpu") as router, pytest.raises(QueryError, match="no class 'toll'; it has none"):
        router.excluding("toll")
    with Router(with_classes(plain), device="cpu") as router:
        with pytest.raises(QueryError, match="no class 'fery'; it has toll, tunnel"):
            router.excluding(["toll", "fery"])
        with pytest.raises(QueryError, match="no class to exclude"):
            router.excluding([])
