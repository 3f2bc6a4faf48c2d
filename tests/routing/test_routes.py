"""Routes of many pairs of places at once, against the routes that `Router.route` returns for each of them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import shapely

from tests.support.osm_maps import ANDORRA
from tests.support.streetmaps import UNIT, street_map
from vkssp import (
    UNREACHABLE,
    DistanceOverflowError,
    Graph,
    NoRouteError,
    NoStreetError,
    QueryError,
    Route,
    Router,
    Routes,
    Stop,
    prepare,
    read_graph,
)
from vkssp.gpu.device import Device
from vkssp.jit import kernels
from vkssp.routing.places import text

Pairs = tuple[Sequence[Any], Sequence[Any]]


@pytest.fixture(scope="module")
def andorra() -> Graph:
    return prepare(read_graph(ANDORRA))


def alone(router: Router, origin: Any, destination: Any, **options: Any) -> Route | None:
    try:
        return router.route(origin, destination, **options)
    except NoRouteError:
        return None


def check(router: Router, pairs: Pairs, vias: Sequence[Any] | None = None, **options: Any) -> Routes:
    """Check that all routes at once, and the arrays of them, are what `Router.route` returns for each pair."""
    routes = router.routes(*pairs, via=vias, **options)
    assert len(routes) == len(pairs[0])
    (points, first_point), (arcs, first, parts) = routes.points, routes.arcs
    for number, (route, origin, destination) in enumerate(zip(routes, *pairs, strict=True)):
        via = () if vias is None else vias[number]
        expected = alone(router, origin, destination, via=via, **options)
        assert routes.has_route[number] == (expected is not None)
        along = points[first_point[number] : first_point[number + 1]]
        here = slice(first[number], first[number + 1])
        if expected is None or route is None:
            assert route is expected and np.isnan(routes.distance_m[number]) and len(along) == len(arcs[here]) == 0
            assert routes.duration_s is None or np.isnan(routes.duration_s[number])
            continue
        for name in ("weight", "distance_m", "duration_s", "origin", "destination", "vias", "steps"):
            assert getattr(route, name) == getattr(expected, name), (number, name)
        assert (routes.weight[number], routes.distance_m[number]) == (expected.weight, expected.distance_m)
        assert expected.duration_s == (None if routes.duration_s is None else routes.duration_s[number])
        for name in ("nodes", "arcs", "parts", "points", "osm_nodes"):
            assert np.array_equal(getattr(route, name), getattr(expected, name)), (number, name)
        assert np.array_equal(along, expected.points)
        if expected.origin is not None and router.index.graph.streets is not None:
            assert np.array_equal(arcs[here], expected.arcs) and np.array_equal(parts[here], expected.parts)
    return routes


def places_of(graph: Graph, count: int, seed: int) -> Pairs:
    """Return pairs of places at junctions and near them, on the same streets, at one place, and several times."""
    assert graph.lat is not None and graph.lon is not None
    rng = np.random.default_rng(seed)
    nodes = rng.integers(0, graph.num_nodes, (2, count))
    origins, destinations = (np.stack([graph.lat[some], graph.lon[some]], axis=1) for some in nodes)
    origins[: count // 2] += rng.uniform(-4e-4, 4e-4, (count // 2, 2))
    near = slice(count // 4, count // 2)
    destinations[near] = origins[near] + rng.uniform(-2e-4, 2e-4, destinations[near].shape)
    destinations[count // 4] = origins[count // 4]
    destinations[-1], origins[-2:] = origins[-1], origins[0]
    return list(map(tuple, origins.tolist())), list(map(tuple, destinations.tolist()))


def test_routes_of_a_real_map(device: Device, andorra: Graph) -> None:
    pairs = places_of(andorra, 40, 3)
    with Router(andorra, device="cpu") as router, Router(andorra, device=device) as other:
        routes = check(router, pairs)
        assert routes.has_route.sum() > 30
        again = other.routes(*map(np.array, pairs))  # type: ignore[arg-type]
        assert again[0] is not None and again[0].origin == routes[0].origin  # type: ignore[union-attr]
        for name in ("weight", "distance_m", "duration_s"):
            assert np.array_equal(getattr(again, name), getattr(routes, name), equal_nan=True)
        for one, same in zip(routes.arcs, again.arcs, strict=True):
            assert np.array_equal(one, same)
        check(router.minimizing("distance"), (pairs[0][12:28], pairs[1][12:28]))
        area = shapely.box(1.52, 42.50, 1.53, 42.51)
        outside = [row for row, pair in enumerate(zip(*pairs, strict=True)) if not _touches(area, pair)][:16]
        check(router.avoiding(area), ([pairs[0][row] for row in outside], [pairs[1][row] for row in outside]))


def _touches(area: Any, places: Sequence[tuple[float, float]]) -> bool:
    return any(area.covers(shapely.Point(lon, lat)) for lat, lon in places)


def test_steps_conditions_and_small_components(andorra: Graph) -> None:
    origins, destinations = places_of(andorra, 16, 4)
    with Router(andorra, device="cpu", small_component_size=1000) as router:
        check(router, (origins, destinations), steps=True)
        stops = [Stop(*place, approach="curb") for place in origins[:6]]
        check(router, (stops, destinations[:6]), snapping="any")
        vias = [(), destinations[3:4], stops[:2], (), origins[:3], [origins[3]]]
        check(router, (origins[:6], destinations[:6]), vias, steps=True)
        check(router, (origins[:6], destinations[:6]), vias, continue_straight=False)


def test_lengths_of_legs_are_added_up_as_numpy_does() -> None:
    counts = np.array([0, 1, 7, 8, 9, 127, 128, 129, 136, 137, 300, 1023, 4096, 5003])
    first, rng = np.concatenate([[0], np.cumsum(counts)]), np.random.default_rng(3)
    total, legs = int(first[-1]), len(counts)
    along, lengths = np.zeros((total, 4), np.uint32), 10 ** rng.uniform(-3, 3, total)
    along.flags.writeable = lengths.flags.writeable = False
    ends, at = np.full((legs, 2), -1), np.zeros((legs, 2))
    sums, arcs, is_cut, found = np.empty(legs), np.empty(total, np.int64), np.empty((legs, 2), np.bool_), first + 1
    given = first, np.arange(total), ends, at, np.zeros(legs, np.bool_), along, along.view(np.float32), lengths
    put_legs = kernels("vkssp.routing.kernels.leg").put_legs
    put_legs(*given, found, arcs, np.empty(counts.max()), is_cut, sums, np.empty((64, 3)))
    assert np.array_equal(found, first) and np.array_equal(arcs, np.arange(total)) and not is_cut.any()
    assert sums.tolist() == [np.add.reduce(lengths[begin:end]) for begin, end in pairwise(first.tolist())]


def islands() -> Graph:
    """A loop of one-way streets, an island, and parallel streets, one of which takes no time."""
    nodes = [(0, 0), (0, 10), (10, 10), (10, 0), (40, 0), (40, 5)]
    streets = [(0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 0, 100), (4, 5, 50), (0, 2, 0, [(6.0, 4.0)]), (0, 1, 90)]
    return street_map(nodes, streets, oneways=(0, 1, 2, 3))  # type: ignore[arg-type]


@pytest.mark.parametrize("prepared", [True, False])
def test_routes_of_small_maps(device: Device, prepared: bool) -> None:
    graph = islands()
    ys = [(0, 2), (0, 8), (10, 4), (40, 1), (40, 4), (0, 0), (6, 4)]
    places = [(y * UNIT, x * UNIT) for y, x in ys]
    pairs = [(a, b) for a in places for b in places]
    origins, destinations = zip(*pairs, strict=True)
    with Router(prepare(graph) if prepared else graph, device=device) as router:
        routes = check(router, (origins, destinations))
        assert 0 < routes.has_route.sum() < len(pairs)
        assert (routes.weight[~routes.has_route] == UNREACHABLE).all()
        first = int(np.argmin(routes.has_route))
        with pytest.raises(NoRouteError, match=f"pair {first}: no route leads"):
            router.routes(origins, destinations, strict=True)


def test_real_weights_and_bare_graphs_and_sums_that_do_not_fit() -> None:
    graph = islands()
    origins, destinations = [(0, UNIT), (0, UNIT)], [(10 * UNIT, 4 * UNIT), (40 * UNIT, 0)]
    real = graph.with_weights(graph.weight / 8, scale=1e-8)
    with Router(real, device="cpu") as router:
        routes = check(router, (origins, destinations))
        assert routes.weight.dtype == np.float64 and np.isinf(routes.weight[1])
    bare = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon)
    with Router(bare, device="cpu") as router:
        assert check(router, (origins, destinations)).duration_s is None
    heavy = street_map([(0, 0), (0, 10), (0, 20), (0, 30)], [(at, at + 1, 2**31 - 3) for at in range(3)])
    with Router(heavy, device="cpu") as router, pytest.raises(DistanceOverflowError):
        router.routes([(0, 0)] * 20, [(0, 30 * UNIT)] * 20)
    vias = [(0, 10 * UNIT), (0, 20 * UNIT)]
    with Router(heavy, device="cpu") as router:  # each leg fits into 32 bits, their sum does not
        assert check(router, ([(0, 0)], [(0, 30 * UNIT)]), [vias]).weight.tolist() == [3 * (2**31 - 3)]


def test_errors_name_the_leg_without_a_route() -> None:
    """Where parts of the network lie apart, so that nothing is searched, and where a search finds nothing."""
    chain = street_map([(0, 0), (0, 10), (0, 20)], [(0, 1, 100), (1, 2, 100)], oneways=(0, 1))
    one, island = (10.0, 0.0), (40.0, 1.0)
    for graph, small, points, wrong in (
        (islands(), None, [(0.0, 2.0), one, one, island], 2),
        (islands(), None, [island, one, (0.0, 2.0)], 0),
        (chain, 0, [(0.0, 0.0), (0.0, 20.0), (0.0, 10.0)], 1),
        (chain, 0, [(0.0, 10.0), (0.0, 0.0), (0.0, 20.0)], 0),
    ):
        origin, *via, destination = [(y * UNIT, x * UNIT) for y, x in points]
        begin, end = [origin, *via, destination][wrong : wrong + 2]
        leg = f"no route leads from {text(begin)} to {text(end)};"
        with Router(graph, device="cpu", small_component_size=small) as router:
            with pytest.raises(NoRouteError, match=f"^{leg}"):
                router.route(origin, destination, via=via)
            with pytest.raises(NoRouteError, match=f"pair 8: {leg}"):
                router.routes([origin] * 2, [origin, destination], via=[[], via], strict=True, first_number=7)


def test_routes_as_features_and_in_files(tmp_path: Path) -> None:
    places = [(0, 2 * UNIT), (10 * UNIT, 4 * UNIT), (40 * UNIT, UNIT)]
    with Router(islands(), device="cpu") as router:
        routes = router.routes([places[0], places[0], places[1]], [places[1], places[2], places[1]])
    assert routes[1] is None and routes[:2] == [routes[0], None] and routes[-1] is routes[2]
    frame = routes.to_geodataframe()
    assert frame["id"].tolist() == [0, 1, 2] and frame.geometry.isna().tolist() == [False, True, False]
    assert frame["from_name"].tolist()[0] == "Street 0" and frame["weight"].isna().tolist() == [False, True, False]
    route = routes[0]
    assert route is not None and frame.geometry[0].equals(route.geometry)
    routes.write(tmp_path / "routes.geojson", ["a", "b", "c"])
    lines = json.loads((tmp_path / "routes.geojson").read_text())["features"]
    assert [line["properties"]["id"] for line in lines] == ["a", "b", "c"] and lines[1]["geometry"] is None
    assert lines[0]["properties"]["distance_m"] == route.distance_m
    assert len(lines[2]["geometry"]["coordinates"]) == 2  # of one point
    routes.write(tmp_path / "routes.parquet")
    assert geopandas.read_parquet(tmp_path / "routes.parquet").geometry[0].equals(route.geometry)
    copy = pickle.loads(pickle.dumps(routes))
    assert (
        copy[1] is None
        and np.array_equal(copy[0].arcs, route.arcs)
        and copy.features().table().keys() == (routes.features().table().keys())
    )
    with pytest.raises(QueryError, match="2 ids for 3 pairs"):
        routes.features(["a", "b"])


def test_refusals() -> None:
    far = 3 * UNIT, 7 * UNIT
    with Router(islands(), device="cpu", radius_m=100) as router:
        for origins, destinations, told in (
            ([far], [far, far], "1 origins and 2 destinations"),
            ([], [], "there are no origins"),
            ([far, (91, 0)], [far, far], "origin 1 is 91"),
            ([far, far], [far, (50, 50)], "destination 1 is 50.00000,50.00000, which is not on this map"),
            (7, [far], "origins is 7"),
        ):
            with pytest.raises(QueryError, match=told):
                router.routes(origins, destinations)
        for destinations, vias, name in (
            ([(0, 0), far], None, "destination 1"),
            ([(0, 0), (0, 0)], [[], [(0, 0), far]], "via point 2 of pair 1"),
        ):
            with pytest.raises(NoStreetError, match=f"{name} is ") as caught:
                router.routes([(0, 0), (0, 0)], destinations, via=vias)
            assert caught.value.place == name


def test_via_points_are_refused_by_their_numbers() -> None:
    with Router(islands(), device="cpu") as router:
        here, there = [(0, 0), (0, 0)], [(0, UNIT), (0, UNIT)]
        with pytest.raises(QueryError, match="via has 1 lists of places for 2 pairs"):
            router.routes(here, there, via=[[]])
        with pytest.raises(QueryError, match="via point 2 of pair 8 is 50"):
            router.routes(here, there, via=[[], [(0, 0), (50, 50)]], first_number=7)
        there[0] = (40 * UNIT, UNIT)
        routes = check(router, (here, there), [[(10 * UNIT, 0)], [(10 * UNIT, 0)]])
        assert routes.has_route.tolist() == [False, True]
