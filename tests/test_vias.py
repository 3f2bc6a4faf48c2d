"""Routes over via points: the best of all that pass them without turning round, against a search that tries all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.lawful import Town, violations
from tests.osm_maps import ANDORRA, ROAD, Way
from tests.streetmaps import UNIT, street_map
from tests.test_osm_turns_lawful import read_town, towns
from tests.turn_maps import CROSS, ROADS, imported, middle, restriction, steps_of
from vkssp import Graph, NoRouteError, QueryError, Route, Router
from vkssp.geo import haversine
from vkssp.gpu.device import Device
from vkssp.osm import import_extract
from vkssp.routing.legs import find_ways


def turns_round(graph: Graph, route: Route) -> bool:
    """Return whether a route comes to a via point in one direction of a street and leaves it in the other."""
    streets = graph.streets
    assert streets is not None
    for before, after in zip(route.legs, route.legs[1:], strict=False):
        if len(before.arcs) and len(after.arcs):
            a, b = int(before.arcs[-1]), int(after.arcs[0])
            if streets.polyline[a] == streets.polyline[b] and streets.backward[a] != streets.backward[b]:
                return True
    return False


def check_legs(graph: Graph, route: Route) -> None:
    """Check that legs join, that their figures sum to the route's, and that they are as long as they are drawn."""
    assert route.points is not None and route.distance_m is not None
    for before, after in zip(route.legs, route.legs[1:], strict=False):
        assert before.points[-1].tolist() == after.points[0].tolist()
        assert before.destination == after.origin
    assert route.weight == sum(leg.weight for leg in route.legs)
    assert route.distance_m == pytest.approx(sum(leg.distance_m for leg in route.legs))
    metres = haversine(*route.points[:-1].T, *route.points[1:].T).sum()
    assert route.distance_m == pytest.approx(metres, rel=1e-3, abs=0.5)
    assert graph.streets is not None
    assert route.sum(graph.streets.length) == pytest.approx(route.distance_m)


@given(towns(), st.sampled_from(["restrictions", "costs"]), st.booleans(), st.data())
@settings(max_examples=EXAMPLES, phases=(Phase.generate,))
def test_routes_over_via_points_are_the_best_lawful_ones(
    tmp_path: Path, town: Town, turns: str, simplify: bool, data: st.DataObject
) -> None:
    graph, _ = imported(tmp_path, town.nodes, town.ways, town.relations, turns=turns, simplify=simplify)
    unit = graph.streets.seconds_per_weight  # type: ignore[union-attr]
    pieces = [(key, i) for key, refs in town.refs.items() for i in range(len(refs) - 1)]
    with Router(graph, "dijkstra") as router:
        for _ in range(4):
            stops = [data.draw(st.sampled_from(pieces)) for _ in range(data.draw(st.integers(3, 4)))]
            if any(a == b for a, b in zip(stops, stops[1:], strict=False)):
                continue
            start, *via, goal = stops
            wanted = town.best(start, goal, via=via, costs=turns == "costs", all_nodes=not simplify)
            snaps = [router.index.nearest(*middle(town, piece)) for piece in stops]
            ways = find_ways(router.solver, router.index, snaps, straight=True)  # type: ignore[arg-type]
            if wanted is None:
                # Where it does find a way, it turns round.
                if not isinstance(ways, int):
                    route = router.route(
                        *(middle(town, piece) for piece in (start, goal)),
                        via=[*map(lambda piece: middle(town, piece), via)],
                    )
                    assert turns_round(graph, route)
                continue
            assert not isinstance(ways, int)
            assert sum(way.weight for way in ways) * unit == pytest.approx(wanted, abs=1.5 if simplify else 0.03)
