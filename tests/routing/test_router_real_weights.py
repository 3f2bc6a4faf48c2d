"""Routes, tables and areas on street maps of real weights: those of whole weights, in the caller's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.streetmaps import UNIT, street_map
from vkssp import DistanceOverflowError, Graph, Router, read_graph
from vkssp.gpu.device import Device

#: Units in which few distances fit into 32 bits.
SMALL = 5e-9
HOME, SHOP = (0.1 * UNIT, 0.2 * UNIT), (3 * UNIT, 3.7 * UNIT)


def town(scale: Any = "auto") -> tuple[Graph, Graph]:
    """Return a grid of streets of whole weights, tenths of seconds, and the same with eighths of these weights."""
    side = 5
    streets = [(side * y + x, side * y + x + 1, 80 + 7 * x + y) for y in range(side) for x in range(side - 1)]
    streets += [(side * y + x, side * y + x + side, 90 + 5 * y + x) for y in range(side - 1) for x in range(side)]
    whole = street_map([(y, x) for y in range(side) for x in range(side)], streets)
    return whole, whole.with_weights(whole.weight / 8, scale=scale)


def finer(graph: Graph) -> Graph:
    """Return the same weights 8 times as fine: eighths of whole numbers are whole numbers of 1/8."""
    return graph.with_weights(graph.to_scipy().data, scale=1 / 8)


def test_answers_are_those_of_whole_weights(device: Device, tmp_path: Path) -> None:
    whole, real = town()
    assert real.streets is not None and whole.streets is not None
    assert real.weight_error == 0.0
    # As fine as the whole weights, so that parts of streets are rounded alike.
    real = finer(real)
    assert real.streets is not None and real.streets.seconds_per_weight == pytest.approx(0.1 / 8)
    with Router(whole, device=device) as one, Router(real, device=device) as other:
        route, same = one.route(HOME, SHOP, steps=True), other.route(HOME, SHOP, steps=True)
        assert same.weight == route.weight / 8 and isinstance(same.weight, float)
        assert same.nodes.tolist() == route.nodes.tolist() and same.distance_m == route.distance_m
        assert route.duration_s is not None and same.duration_s == pytest.approx(route.duration_s / 8)
        assert [step.instruction for step in same.steps] == [step.instruction for step in route.steps]
        assert same.legs[0].weight == route.legs[0].weight / 8
        metrics = ["duration", "distance", "weight"]
        wanted, found = (router.table([HOME, SHOP], metrics=metrics).read() for router in (one, other))
        assert np.allclose(found["duration"], wanted["duration"] / 8) and found["weight"].dtype == np.float64
        assert np.array_equal(found["weight"], wanted["weight"] / 8)
        assert np.array_equal(found["distance"], wanted["distance"])
        areas = other.service_areas([HOME, SHOP])
        assert np.array_equal(areas.source, one.service_areas([HOME, SHOP]).source)
        assert np.allclose(areas.values, one.service_areas([HOME, SHOP]).values / 8)
        areas.write(tmp_path / "areas.csv")
        sums = [router.accessibility([HOME], [SHOP], [3], limits=[t, 2 * t]) for router, t in ((one, 80), (other, 10))]
        assert np.array_equal(*sums)
        nearest = [router.nearest_opportunities([HOME], [SHOP]).values for router in (one, other)]
        assert np.allclose(nearest[1], nearest[0] / 8)
        here, there = one.isochrones(HOME, [16, 40]), other.isochrones(HOME, [2, 5])
        assert [area.road_m for area in there] == pytest.approx([area.road_m for area in here])
        assert [(area.limit, area.seconds) for area in there] == [(20.0, 2.0), (50.0, 5.0)]


def test_bare_weights_are_in_the_callers_units(device: Device) -> None:
    whole, real = town()
    bare = Graph.from_csr(whole.first_out, whole.head, real.to_scipy().data, lat=whole.lat, lon=whole.lon)
    with Router(bare, device=device) as router:
        values = router.service_areas([HOME]).values
        assert values.dtype == np.float64 and values.max() > 5
        limit = float(np.sort(values)[12])
        within = router.service_areas([HOME], limit).values
        assert np.array_equal(np.isfinite(within), values <= limit)
        assert [(area.limit, area.seconds) for area in router.isochrones(HOME, [12.5])] == [(12.5, None)]
        assert router.table([HOME], [SHOP]).read()["weight"][0, 0] == router.route(HOME, SHOP).weight
        assert router.nearest_opportunities([HOME], [SHOP]).values[0, 0] == router.route(HOME, SHOP).weight


def test_speeds_and_weights_are_set_in_the_callers_units(device: Device) -> None:
    whole, real = town()
    with Router(whole, device=device) as one, Router(finer(real), device=device) as other:
        other.set_weights(whole.weight)  # 8 times as slow as before
        assert other.route(HOME, SHOP).duration_s == pytest.approx(one.route(HOME, SHOP).duration_s, abs=0.1)
        for router in (one, other):
            router.set_speeds({100: 15.0, 101: 3.0})
        assert np.allclose(other.graph.to_scipy().data, one.graph.weight, atol=0.51)
        assert other.route(HOME, SHOP).duration_s == pytest.approx(one.route(HOME, SHOP).duration_s, abs=0.5)


#: Two nodes of the grid lie in it, so that streets are closed.
CORNERS = [[0.9e-3, 1.9e-3], [2.1e-3, 1.9e-3], [2.1e-3, 2.1e-3], [0.9e-3, 2.1e-3], [0.9e-3, 1.9e-3]]
AREA = {"type": "Polygon", "coordinates": [CORNERS]}

QUESTIONS: dict[str, Callable[[Router], Any]] = {
    "route": lambda router: router.route(HOME, SHOP).weight,
    "table": lambda router: router.table([HOME], [SHOP], ["weight"]).read()["weight"][0, 0],
    "areas": lambda router: np.nanmax(router.service_areas([SHOP]).values),
    "isochrones": lambda router: router.isochrones(HOME, [1e6])[0].road_m,
    "isochrones of each": lambda router: next(router.isochrones_of_each([HOME, SHOP], [1e6]))[0].road_m,
    "accessibility": lambda router: float(router.accessibility([HOME], [SHOP], limits=1e6)[0]),
    "table back": lambda router: router.table([HOME], [SHOP], ["weight"], reverse=True).read()["weight"][0, 0],
    "areas back": lambda router: np.nanmax(router.service_areas([SHOP], reverse=True).values),
    "isochrones back": lambda router: router.isochrones(HOME, [1e6], reverse=True)[0].road_m,
    "nearest": lambda router: router.nearest_opportunities([HOME], [SHOP]).values[0, 0],
    "solver": lambda router: np.nanmax(np.where(np.isinf(found := router.solver.distances(0)), np.nan, found)),
}


@pytest.mark.parametrize("avoid", [None, AREA], ids=["", "avoid"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_unit_is_doubled_until_distances_fit(device: Device, question: str, avoid: Any) -> None:
    graph, coarse = town(SMALL)[1], town(1e-6)[1]
    with Router(graph, device=device, avoid=avoid) as router, Router(coarse, device=device, avoid=avoid) as other:
        assert QUESTIONS[question](router) == pytest.approx(QUESTIONS[question](other), rel=1e-5)
        scale = router.graph.scale
        assert scale is not None and scale > SMALL and np.log2(scale / SMALL) % 1 == 0
        assert router.solver.graph.scale == scale and other.graph.scale == 1e-6
        # Streets that areas close have the new unit, too.
        assert np.allclose(router.graph.to_scipy().data, graph.to_scipy().data, atol=router.graph.weight_error)
        assert router.route(HOME, SHOP).weight == pytest.approx(other.route(HOME, SHOP).weight, rel=1e-5)


def test_metres_do_not_depend_on_the_unit_of_weights(device: Device) -> None:
    one, other = (Router(graph, device=device, metric="distance") for graph in town())
    with one, other:
        assert one.route(HOME, SHOP).distance_m == other.route(HOME, SHOP).distance_m
        assert one.route(HOME, SHOP).weight == other.route(HOME, SHOP).weight


def test_a_distance_of_another_metric_that_does_not_fit_is_an_error(device: Device) -> None:
    # Streets of 150 m, whose lengths are said to be 40 000 km and more.
    _, real = town()
    assert real.streets is not None
    lengths = np.full(real.num_arcs, 3.9e8, np.float32)
    graph = Graph.from_csr(
        real.first_out,
        real.head,
        real.to_scipy().data,
        lat=real.lat,
        lon=real.lon,
        streets=replace(real.streets, length=lengths),
    )
    with Router(graph, device=device, metric="distance") as router, pytest.raises(DistanceOverflowError):
        router.route(HOME, SHOP)


def test_turns_are_in_the_unit_of_the_weights(andorra_path: Path) -> None:
    whole = read_graph(andorra_path)
    real = whole.with_weights(whole.weight * 1.37)
    assert whole.streets is not None and real.streets is not None
    assert whole.streets.turn is not None and real.streets.turn is not None and real.scale is not None
    assert np.abs(real.streets.turn * real.scale - whole.streets.turn).max() <= real.scale / 2
    back = real.with_weights(whole.weight)
    assert back.streets is not None and np.array_equal(back.streets.turn, whole.streets.turn)
    assert back.streets.seconds_per_weight == pytest.approx(whole.streets.seconds_per_weight)
    coarser = real.coarsened()
    assert coarser.streets is not None and coarser.streets.turn is not None
    assert (coarser.streets.turn <= coarser.weight).all()


def test_nodes_of_routes_are_named(device: Device) -> None:
    whole, _ = town()
    names = [f"corner {node}" for node in range(whole.num_nodes)]
    named = Graph.from_csr(
        whole.first_out, whole.head, whole.weight, lat=whole.lat, lon=whole.lon, streets=whole.streets, names=names
    )
    for metric in ("duration", "distance"):
        with Router(whole, device=device, metric=metric) as one, Router(named, device=device, metric=metric) as other:
            wanted = one.route(HOME, SHOP).nodes.tolist()
            assert other.route(HOME, SHOP).nodes.tolist() == [names[node] for node in wanted]
            assert other.solver.path("corner 0", "corner 24").nodes.tolist()[0] == "corner 0"
