"""Alternative routes: each is a route, not much longer, different from those before, and locally optimal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from tests.conftest import EXAMPLES
from tests.support.osm_maps import ANDORRA, ROAD, write_osm
from tests.support.streetmaps import UNIT, street_map
from vkssp import Graph, NoRouteError, QueryError, Route, Router, prepare, read_graph

STRETCH, SHARING, OPTIMAL = 0.25, 0.75, 0.25


def check(graph: Graph, routes: list[Route]) -> None:
    """Check the properties of alternatives, with distances by scipy."""
    best, *others = routes
    weight = graph.weight.astype(np.int64)
    taken = set(best.arcs.tolist())
    # Of parallel arcs the best one, since scipy adds them up.
    order = np.lexsort((weight, graph.head, graph.tail))
    _, first = np.unique(np.stack([graph.tail, graph.head])[:, order], axis=1, return_index=True)
    least = order[first]
    links = coo_array((weight[least], (graph.tail[least], graph.head[least])), shape=(graph.num_nodes,) * 2).tocsr()
    for route in others:
        arcs = route.arcs
        assert (graph.head[arcs[:-1]] == graph.tail[arcs[1:]]).all()
        ends = [route.origin, route.destination, best.origin, best.destination]
        assert ends[:2] == ends[2:]
        assert best.weight <= route.weight <= (1 + STRETCH) * best.weight
        shared = sum(float(weight[arc]) * part for arc, part in zip(arcs, route.parts, strict=True) if arc in taken)  # type: ignore[arg-type]
        turns = float(weight[arcs[[0, -1]]].sum()) * (graph.streets is not None and graph.streets.turn is not None)
        assert shared <= SHARING * best.weight + turns + 2  # parts of the weights of arcs are rounded
        taken |= set(arcs.tolist())
        inner = arcs[1:-1]
        nodes = np.append(graph.tail[inner[:1]], graph.head[inner]).astype(np.int64)
        passed = np.concatenate([[0], np.cumsum(weight[inner])])
        distances = dijkstra(links, indices=nodes)[:, nodes]
        for i in range(len(nodes)):
            for j in range(i + 1, len(nodes)):
                if passed[j] - passed[i] <= OPTIMAL * best.weight:
                    assert distances[i, j] == passed[j] - passed[i]


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_alternatives_on_grids_are_admissible(data: st.DataObject) -> None:
    side = 7
    corners = [(float(y), float(x)) for y in range(side) for x in range(side)]
    pairs = [(a, b) for a in range(side**2) for b in (a + 1, a + side) if b < side**2 and (b % side or b == a + side)]
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    streets: Any = [(a, b, int(rng.integers(50, 150))) for a, b in pairs]
    oneways = tuple(np.flatnonzero(rng.random(len(pairs)) < data.draw(st.sampled_from([0.0, 0.2]))).tolist())
    graph = street_map(corners, streets, oneways)
    if data.draw(st.booleans()):
        graph = prepare(graph)
    places = [(float(y) * UNIT, float(x) * UNIT) for y, x in rng.uniform(0, side - 1, (2, 2))]
    with Router(graph, device="cpu") as router:
        try:
            routes = router.alternatives(*places, 3)
        except NoRouteError:
            return
        assert routes[0].arcs.tolist() == router.route(*places).arcs.tolist()
    check(graph, routes)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_alternatives_in_andorra_are_admissible(turns: str) -> None:
    graph = read_graph(ANDORRA, turns=turns)
    assert graph.lat is not None and graph.lon is not None
    ends = np.random.default_rng(2).integers(0, graph.num_nodes, (40, 2))
    found = 0
    with Router(graph, device="cpu") as router:
        for a, b in ends.tolist():
            places = [(float(graph.lat[node]), float(graph.lon[node])) for node in (a, b)]
            try:
                routes = router.alternatives(*places)
            except NoRouteError:
                continue
            check(graph, routes)
            found += len(routes) > 1
    assert found >= 10


def ring() -> Graph:
    """Return a map of two ways round a block, one a tenth longer, and a third one almost twice as long."""
    nodes = [(0, 0), (0, 5), (0, 25), (0, 30), (10, 15), (-10, 15), (40, 15)]
    streets: Any = [
        (0, 1, 50),
        (1, 4, 100),
        (4, 2, 100),
        (1, 5, 110),
        (5, 2, 110),
        (2, 3, 50),
        (1, 6, 190),
        (6, 2, 190),
    ]
    return street_map(nodes, streets)


def test_both_ways_round_a_block_are_found_but_no_long_one() -> None:
    a, b = (0.0, 1 * UNIT), (0.0, 29 * UNIT)
    with Router(ring(), "dijkstra", "cpu") as router:
        routes = router.alternatives(a, b, steps=True)
        streets: Any = router.graph.streets
        assert [[int(s) for s in streets.polyline[route.arcs]] for route in routes] == [[0, 1, 2, 5], [0, 3, 4, 5]]
        assert all(route.steps[-1].type == "arrive" for route in routes)
        assert len(router.alternatives(a, b, max_stretch=0.01)) == 1
        assert len(router.alternatives(a, b, max_sharing=0.1)) == 1
        assert len(router.alternatives(a, b, max_stretch=1.0)) == 3
        assert len(router.alternatives(a, b, 0)) == 1
        assert len(router.alternatives(a, (0.0, 2 * UNIT))) == 1
        with pytest.raises(QueryError, match="number is -1"):
            router.alternatives(a, b, -1)
        with pytest.raises(QueryError, match="max_sharing is 2"):
            router.alternatives(a, b, max_sharing=2)


def test_a_street_from_junction_to_junction_is_an_alternative(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.001, 0.005), 4: (-0.0015, 0.005), 5: (0.0, -0.001), 6: (0.0, 0.011)}
    ways = [(way, ids, ROAD) for way, ids in enumerate(([1, 3, 2], [1, 4, 2], [1, 5], [2, 6]), 1)]
    graph = read_graph(write_osm(tmp_path / "m.osm", nodes, ways), turns="costs")
    with Router(graph, device="cpu") as router:
        best, other = router.alternatives((0.0, 0.0), (0.0, 0.01), 2)
    assert best.weight < other.weight < 1.1 * best.weight
    assert [float(route.points[1][0]) for route in (best, other)] == pytest.approx([0.001, -0.0015])


def test_alternatives_follow_changed_weights_and_areas() -> None:
    a, b = (0.0, 1 * UNIT), (0.0, 29 * UNIT)
    area = {"type": "Polygon", "coordinates": [[[0.0149, 0.009], [0.0151, 0.009], [0.0151, 0.011], [0.0149, 0.009]]]}
    with Router(ring(), "dijkstra", "cpu", avoid=area) as router:
        routes = router.alternatives(a, b, max_stretch=1.0)
        streets: Any = router.graph.streets
        assert [set(streets.polyline[route.arcs]) for route in routes] == [{0, 3, 4, 5}, {0, 6, 7, 5}][: len(routes)]
    with Router(ring(), "dijkstra", "cpu") as router:
        assert len(router.alternatives(a, b)) == 2
        router.set_weights(np.where(np.isin(streets.polyline, [3, 4]), 500, router.graph.weight))
        assert len(router.alternatives(a, b)) == 1
