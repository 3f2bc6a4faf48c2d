"""Short texts of results: each public class tells in one line what it holds, and no array of numbers."""

from __future__ import annotations

import inspect

import pytest

import vkssp
import vkssp.dask
from tests.support.streetmaps import UNIT, street_map
from vkssp import CpuDevice, Decay, Features, Graph, Order, RenumberedGraph, Router, Solver, SolverPool, Stop
from vkssp.solver.table_maker import table_of_nodes

#: Public classes without objects to show: errors, and devices, which `tests/gpu` shows.
OTHERS = {name for name in vkssp.__all__ if name.endswith("Error")} | {"Device", "DeviceInfo"}


def test_every_public_object_is_shown_in_one_short_line() -> None:
    side = 12
    nodes = [(float(y), float(x)) for y in range(side) for x in range(side)]
    east = [(at, at + 1, 10) for at in range(side * side - 1) if at % side < side - 1]
    north = [(at, at + side, 10) for at in range(side * (side - 1))]
    graph = street_map(nodes, [*east, *north])
    a, b = (UNIT, UNIT), (9 * UNIT, 8 * UNIT)
    with Router(graph, device="cpu") as router, Solver(graph, device="cpu") as solver:
        route = router.route(a, b, steps=True)
        cells = router.grid(200)
        flows = solver.flows([0, 1], [5, 6], [[1, 2], [3, 4]], turns=True)
        pool = SolverPool(graph, devices="cpu")
        matching = router.match([(y * UNIT, y * UNIT) for y in range(1, 5)])
        shown = [
            *(graph, graph.streets, solver, pool, router, CpuDevice(), RenumberedGraph(graph)),
            *(Order.from_nodes(range(graph.num_nodes)), Decay.exponential(1.5)),
            *(route, route.legs[0], route.steps[0], route.origin, Features.of_nodes(graph, {"a": nodes_of(graph)})),
            *(router.isochrones(a, [10])[0], router.service_areas([a, b]), cells, router.table([a, b])),
            table_of_nodes(solver, [0, 1]),
            router.nearest_opportunities(cells, [a, b], 2),
            vkssp.dask.table(graph, [a, b], rows=1),
            vkssp.Tuning("a GPU", "a driver"),
            *(solver.nearest([0, 1]), solver.centrality(), solver.centrality(sample=5), solver.betweenness()),
            *(flows, flows.turns, solver.trees(0), solver.table_on_device([0, 1])),
            *(
                matching,
                next(one for one in matching.tracepoints if one),
                router.trip([a, b]),
                router.routes([a], [b]),
                Stop(*a, bearing=(90, 20)),
            ),
        ]
        texts = {type(one).__name__: repr(one) for one in shown}
        pool.close()
    classes = {name for name in vkssp.__all__ if inspect.isclass(getattr(vkssp, name))}
    assert classes <= set(texts) | OTHERS
    longest = {"Streets": 600, "Step": 400}
    for name, text in texts.items():
        assert text.startswith(f"{name}(") and "\n" not in text, text
        assert len(text) <= longest.get(name, 220), text
    assert texts["Route"] == f"Route({route.distance_m / 1000:.1f} km, 15 s, {len(route.nodes)} nodes, from " + (
        f"{route.origin.name!r}, to {route.destination.name!r})"
    )
    assert texts["PlaceTable"] == "PlaceTable(2 sources, 2 targets: duration)"
    assert texts["DaskTable"] == "DaskTable(2 sources, 2 targets: duration, 2 blocks)"
    assert texts["ServiceAreas"] == "ServiceAreas(2 places, 144 of 144 nodes)"
    assert texts["Isochrone"].startswith("Isochrone(10 s, ") and texts["Isochrone"].endswith("m of road)")
    assert repr(solver).endswith(", closed)") and repr(graph) in texts["Solver"]


def nodes_of(graph: Graph) -> range:
    """Return the nodes of a graph."""
    return range(graph.num_nodes)


@pytest.mark.parametrize("name", ["Hierarchy"])
def test_hierarchies_are_shown_by_their_sizes(name: str) -> None:
    text = repr(vkssp.prepare(Graph.from_edges([0, 1], [1, 2], [1, 1], undirected=True)).hierarchy)
    assert text.startswith(f"{name}(node=uint32[3], first_node=")
