"""Sums over the opportunities that places reach, and the nearest of them, against tables between the same places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import shapely

from tests.support.streetmaps import UNIT, street_map
from vkssp import UNREACHABLE, Decay, Graph, MemoryShortageError, QueryError, Router, prepare, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.metric import Unit
from vkssp.routing.phantoms import find_goals, find_starts

Places = list[tuple[float, float]]


@pytest.fixture(scope="module", params=["costs", "none"])
def andorra(andorra_path: Path, request: pytest.FixtureRequest) -> Graph:
    return read_graph(andorra_path, turns=request.param)


@pytest.fixture(scope="module", params=["prepared", "as it is"])
def router(andorra: Graph, request: pytest.FixtureRequest) -> Iterator[Router]:
    graph = prepare(andorra) if request.param == "prepared" else andorra
    with Router(graph, device="cpu") as opened:
        yield opened


def useful(router: Router, places: Places) -> Places:
    """Return the places that are snapped to the same point in every query."""
    index = router.index
    snaps = index.trip_ends(places)
    return [
        place
        for place, snap in zip(places, snaps, strict=True)
        if snap is not None and index.leaves(snap) and index.is_reached(snap) and not index.on_island(snap)
    ]


def scattered(router: Router, count: int, seed: int) -> Places:
    """Return places around nodes, some of them many on one street, and some at the same place."""
    rng, graph = np.random.default_rng(seed), router.graph
    assert graph.lat is not None and graph.lon is not None
    chosen = rng.integers(0, graph.num_nodes, count)
    lat, lon = graph.lat[chosen], graph.lon[chosen]
    moved = rng.uniform(-3e-4, 3e-4, (count, 2)) * (rng.random(count) < 0.7)[:, None]
    places = [(float(a), float(b)) for a, b in np.stack([lat, lon], axis=1) + moved]
    near = [(places[0][0] + 1e-5 * step, places[0][1] + 2e-5 * step) for step in range(80)]
    return useful(router, places + near + places[:5])


def weights_between(router: Router, origins: Places, opportunities: Places, reverse: bool) -> npt.NDArray[np.float64]:
    """Return the weights of all pairs by a table, inf without a path."""
    if reverse:
        return weights_between(router, opportunities, origins, False).T
    table = router.table(origins, opportunities, metrics=["weight"]).read()["weight"]
    return np.where(table == UNREACHABLE, np.inf, table)


@pytest.mark.parametrize("reverse", [False, True])
def test_sums_are_those_of_a_table(router: Router, reverse: bool) -> None:
    origins, opportunities = scattered(router, 60, 1), scattered(router, 90, 2)
    rng = np.random.default_rng(3)
    jobs = rng.integers(0, 100, (len(opportunities), 2))
    weight = weights_between(router, origins, opportunities, reverse)
    limits = [600.0, 30.0, 240.0, 99.95]
    found = router.accessibility(origins, opportunities, jobs, limits=limits, reverse=reverse)
    assert found.dtype == np.int64
    for at, limit in enumerate(limits):
        # A weight is a tenth of a second; what is a twentieth beyond the limit does not count.
        assert np.array_equal(found[:, at], (weight <= 10 * limit) @ jobs)
    counts = router.accessibility(origins, opportunities, limits=240, reverse=reverse)
    assert np.array_equal(counts, (weight <= 2400).sum(axis=1))
    shape = Decay.exponential(300.0)
    near = router.accessibility(origins, opportunities, jobs[:, 0] / 7, decays=shape, reverse=reverse)
    assert np.allclose(near[:, 0], shape(weight / 10) @ (jobs[:, 0] / 7), rtol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_nearest_are_those_of_a_table(router: Router, reverse: bool) -> None:
    origins, opportunities = scattered(router, 60, 4), scattered(router, 40, 5)
    weight = weights_between(router, origins, opportunities, reverse)
    for count, limit in ((1, None), (5, None), (300, None), (4, 100.0)):
        order = np.argsort(weight, axis=1, kind="stable")[:, :count]
        least = np.take_along_axis(weight, order, axis=1)
        least[least > (np.inf if limit is None else 10 * limit)] = np.inf
        found = router.nearest_opportunities(origins, opportunities, count, limit=limit, reverse=reverse)
        assert found.opportunity.shape == found.values.shape == (len(origins), count)
        width = least.shape[1]
        assert np.array_equal(found.opportunity[:, :width], np.where(least < np.inf, order, UNREACHABLE))
        expected = np.where(least < np.inf, least / 10, np.nan).astype(np.float32)
        assert np.allclose(found.values[:, :width], expected, rtol=1e-6, equal_nan=True)
        assert (found.opportunity[:, width:] == UNREACHABLE).all() and np.isnan(found.values[:, width:]).all()


def test_all_nodes_are_origins(router: Router) -> None:
    opportunities, graph = scattered(router, 30, 6), router.graph
    sums = router.accessibility(None, opportunities, limits=[120, 900])
    near = router.nearest_opportunities(None, opportunities, 2)
    assert sums.shape == (graph.num_nodes, 2) and near.opportunity.shape == (graph.num_nodes, 2)
    assert np.array_equal(np.isfinite(near.values) & (near.values <= 120), sums[:, [0]] > np.arange(2))
    # What starts at all of them is, seen backward, what reaches all.
    back = router.accessibility(opportunities, opportunities, limits=[120, 900], reverse=True)
    assert np.array_equal(back[:, 1].sum(), router.accessibility(opportunities, opportunities, limits=900).sum())


@pytest.mark.parametrize("is_prepared", [False, True])
def test_streets_and_areas(device: Device, is_prepared: bool) -> None:
    """A street of 1 000, a loop that is shorter than it, and an area in the middle of another street."""
    streets = [(0, 1, 1000), (0, 2, 10), (2, 1, 10), (1, 3, 1000)]
    graph = street_map([(0, 0), (0, 10), (5, 5), (0, 30)], streets)
    graph = prepare(graph) if is_prepared else graph
    first, last, beyond = (0.0, 1 * UNIT), (0.0, 9 * UNIT), (0.0, 29 * UNIT)
    # More on one street than a search has seeds.
    many = [(0.0, (0.5 + 0.09 * step) * UNIT) for step in range(100)]
    for place in (device, "cpu", [device, "cpu"]):
        with Router(graph, device=place) as router:
            for reverse in (False, True):
                weight = weights_between(router, many, many, reverse)
                found = router.accessibility(many, many, np.arange(100), limits=[8, 19], reverse=reverse)
                assert np.array_equal(found, np.stack([(weight <= limit) @ np.arange(100) for limit in (80, 190)], 1))
                near = router.nearest_opportunities(many, many, 7, reverse=reverse)
                assert np.array_equal(near.opportunity, np.argsort(weight, axis=1, kind="stable")[:, :7])
    with Router(graph, device="cpu") as router:
        # From one end of the street to the other by the loop: 100 + 20 + 100 in place of 800.
        assert router.accessibility([first], [last], [7], limits=[21.9, 22]).tolist() == [[0, 7]]
        assert router.nearest_opportunities([first], [beyond, last, first], 3).opportunity.tolist() == [[2, 1, 0]]
    area = shapely.box(19 * UNIT, -UNIT, 21 * UNIT, UNIT)
    with Router(graph, device="cpu", avoid=area) as router:
        assert router.accessibility([first, beyond], [last, beyond], limits=1e6).tolist() == [1, 1]
        near = router.nearest_opportunities([first, beyond], [last, beyond], 2)
        assert near.opportunity.tolist() == [[0, UNREACHABLE], [1, UNREACHABLE]]


def test_limits_between_weights() -> None:
    """Nothing beyond a limit counts, and what is at it does, also if floating-point numbers miss it a little."""
    roads = Graph.from_edges([0, 0, 0], [1, 2, 3], [2, 3, 4], undirected=True, lat=[0, 1, 2, 3], lon=[0, 1, 2, 3])
    with Router(roads, device="cpu") as router:
        places = [(float(degrees), float(degrees)) for degrees in range(4)]
        sums = router.accessibility(places[:1], places, limits=[0.5, 1.9, 2, 2.5, 3.99, 4])
        assert sums.tolist() == [[1, 1, 2, 2, 3, 4]]
        assert router.nearest_opportunities(places[:1], places, 4, limit=3.5).opportunity.tolist() == [
            [0, 1, 2, UNREACHABLE]
        ]
    for per_weight in (0.1, 0.001, 0.01, 1.0, 0.3):
        unit = Unit("duration", per_weight)
        for weight in (1, 3, 7, 41, 4001, 4009, 10**6 + 1, 4 * 10**9 + 1):
            assert unit.within(weight * per_weight) == unit.within(float(f"{weight * per_weight:.12g}")) == weight
            assert unit.within((weight + 0.9) * per_weight) == weight


def test_what_is_wrong_is_named() -> None:
    graph = street_map([(0, 0), (0, 10)], [(0, 1, 1000)])
    place = (0.0, 0.0)
    with Router(graph, device="cpu") as router:
        for given, message in (
            ({}, "neither limits nor decays"),
            ({"limits": [0]}, "limits is"),
            ({"limits": "soon"}, "limits is"),
            ({"limits": 5, "weights": [1, 2]}, "weights has shape .2,.; give one number for each of the 1 opportunit"),
            ({"limits": 5, "weights": [np.nan]}, "weights.0. is nan"),
            ({"limits": 5, "decays": 3}, "decays"),
            ({"limits": 5, "reverse": 2}, "reverse"),
        ):
            with pytest.raises(QueryError, match=message):
                router.accessibility([place], [place], **given)  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="there are no opportunities; give at least one"):
            router.accessibility([place], [], limits=5)
        with pytest.raises(QueryError, match="origin 1 is"):
            router.nearest_opportunities([place, (50.0, 50.0)], [place])
        with pytest.raises(MemoryShortageError, match="ask for fewer"):
            router.nearest_opportunities([place] * 1000, [place], 2**31)
        for count in (0, "many", 1.5):
            with pytest.raises(QueryError, match="count"):
                router.nearest_opportunities([place], [place], count)  # type: ignore[arg-type]


def test_nodes_of_places_are_joined_as_the_places_are(router: Router) -> None:
    places = scattered(router, 60, 8)
    sources, targets = router.nearest_nodes(places), router.nearest_nodes(places, arriving=True)
    for nodes, find in ((sources, find_starts), (targets, find_goals)):
        for node, snap in zip(nodes.tolist(), router.index.trip_ends(places), strict=True):
            assert snap is not None
            ends = find(router.index, snap)
            assert (node, min(end.weight for end in ends)) in {(end.node, end.weight) for end in ends}
    between = weights_between(router, places, places, False)
    assert np.isfinite(between).any()
    found = router.solver.distances(sources)[:, targets]
    np.testing.assert_array_equal(found != UNREACHABLE, np.isfinite(between))
    for given, message in (([], "there are no places"), ([(0.0, 0.0)], "place 0 is .* not on this map")):
        with pytest.raises(QueryError, match=message):
            router.nearest_nodes(given)
    with pytest.raises(QueryError, match="arriving is 3"):
        router.nearest_nodes(places, arriving=3)  # type: ignore[arg-type]
