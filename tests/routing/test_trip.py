"""Trips through places in an order that is chosen for them, against all orders."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.osm_maps import ANDORRA
from tests.support.streetmaps import UNIT, street_map
from vkssp import NoRouteError, QueryError, Router, read_graph
from vkssp.routing.trip import EXACT, order_of_trip

PLACES = [(42.5078, 1.5211), (42.5361, 1.5828), (42.5676, 1.5976), (42.4636, 1.4910), (42.5425, 1.7337)]
costs = st.integers(2, 6).flatmap(
    lambda n: st.lists(st.integers(0, 20) | st.just(np.inf), min_size=n * n, max_size=n * n).map(
        lambda values: np.array(values, float).reshape(n, n)
    )
)


def cost_of(cost: np.ndarray, order: list[int], roundtrip: bool) -> float:
    legs = list(pairwise([*order, order[0]] if roundtrip else order))
    return float(sum(0.0 if a == b else cost[a, b] for a, b in legs))


def test_of_equally_short_trips_the_last_in_order_is_taken() -> None:
    ring = np.array(
        [[0, 694.9, 973.4, 1076.1], [694.9, 0, 1264.3, 813], [973.4, 1264.3, 0, 767.1], [1076.1, 813, 767.1, 0]]
    )
    assert order_of_trip(ring, "any", "any", True)[0].tolist() == [0, 2, 3, 1]
    assert order_of_trip(ring[:3, :3], "any", "any", True)[0].tolist() == [0, 2, 1]


@given(costs, st.sampled_from(["any", "first"]), st.sampled_from(["any", "last"]), st.booleans())
@settings(max_examples=EXAMPLES)
def test_no_order_of_few_places_is_better(cost: np.ndarray, source: str, destination: str, roundtrip: bool) -> None:
    count = len(cost)
    allowed = [
        list(order)
        for order in permutations(range(count))
        if (source == "any" or order[0] == 0) and (destination == "any" or order[-1] == count - 1)
    ]
    best = min(cost_of(cost, order, roundtrip) for order in allowed)
    if best == np.inf:
        with pytest.raises(NoRouteError, match="no trip visits all places"):
            order_of_trip(cost, source, destination, roundtrip)
        return
    order, is_best = order_of_trip(cost, source, destination, roundtrip)
    assert order.tolist() in allowed and is_best
    assert cost_of(cost, order.tolist(), roundtrip) == best


@pytest.mark.parametrize("roundtrip", [True, False])
def test_the_order_of_many_places_is_good(roundtrip: bool) -> None:
    """Places on a circle: the best order goes round it, and insertion with improvement finds it."""
    rng = np.random.default_rng(3)
    angle = rng.permutation(np.linspace(0.0, 2 * np.pi, 60, endpoint=False))
    at = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    cost = np.hypot(*(at[:, None] - at[None]).T).T
    order, is_best = order_of_trip(cost, "first", "any", roundtrip)
    side = 2.0 * np.sin(np.pi / 60)
    assert len(at) > EXACT and not is_best and order[0] == 0 and sorted(order) == list(range(60))
    assert cost_of(cost, order.tolist(), roundtrip) == pytest.approx(side * (60 if roundtrip else 59))


def test_a_trip_through_andorra_is_the_shortest_of_all_routes() -> None:
    with Router(read_graph(ANDORRA), device="cpu") as router:
        trip = router.trip(PLACES, source="first", steps=True)
        table = router.table(PLACES, metrics="weight").read()["weight"]
        open_trip = router.trip(PLACES, source="first", destination="last", roundtrip=False)
    best = min(cost_of(table, [0, *rest], True) for rest in permutations(range(1, len(PLACES))))
    assert trip.route.weight == best and trip.is_best
    assert [leg.origin.lat for leg in trip.route.legs] == [PLACES[number][0] for number in trip.order]
    assert trip.route.legs[-1].destination.lat == PLACES[trip.order[0]][0]
    assert trip.order[trip.position].tolist() == list(range(len(PLACES)))
    assert trip.properties["order"] == trip.order.tolist() and len(trip.features("steps")) == len(trip.route.steps)
    assert open_trip.order[[0, -1]].tolist() == [0, len(PLACES) - 1] and len(open_trip.route.legs) == len(PLACES) - 1


def test_trips_that_cannot_be_made_are_refused() -> None:
    graph = street_map([(0, 0), (0, 10), (50, 0), (50, 10)], [(0, 1, 100), (2, 3, 100)])
    near, far = (0.0, 2 * UNIT), (50 * UNIT, 2 * UNIT)
    with Router(graph, "dijkstra", "cpu") as router:
        with pytest.raises(QueryError, match="places has 1 of them; give two or more"):
            router.trip([near])
        with pytest.raises(QueryError, match="source"):
            router.trip([near, near], source="last")
        with pytest.raises(NoRouteError, match="no trip visits all places"):
            router.trip([near, far, near])
        assert router.trip([near, near]).route.weight == 0
