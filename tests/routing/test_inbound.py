"""From where a place is reached: isochrones, tables and service areas of trips to places, against routes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.lawful import Town
from tests.support.osm_maps import LINE, ROAD, osm_xml
from tests.support.towns import towns
from tests.support.turn_maps import imported
from vkssp import UNREACHABLE, Graph, NoRouteError, Router, prepare, read_graph
from vkssp.cli import main
from vkssp.gpu.device import Device
from vkssp.routing.isochrone import DEFAULT_WIDTH_M
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_goals
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import Spans, begun_streets, reached_spans
from vkssp.solver.accessibility import backward
from vkssp.solver.solver import Solver

Place = tuple[float, float]


def points_on_streets(index: StreetIndex, rng: np.random.Generator, count: int) -> list[tuple[Place, Snap]]:
    """Return places on streets, inside of them and at their ends, that every query snaps to the same point."""
    found = []
    for polyline in rng.integers(0, index.num_polylines, count).tolist():
        line = index.polyline_points(polyline)
        at = rng.integers(0, len(line) - 1)
        share = rng.choice([0.0, rng.random(), 1.0], p=[0.15, 0.7, 0.15])
        lat, lon = ((1 - share) * line[at] + share * line[at + 1]).tolist()
        (snap,) = index.trip_ends([(lat, lon)])
        alike = snap is not None and index.leaves(snap) and index.is_reached(snap) and not index.on_island(snap)
        if snap is not None and alike and (index.avoided is None or not index.avoided.covers(lat, lon)):
            found.append(((lat, lon), snap))
    return found


def positions(index: StreetIndex, snap: Snap) -> list[tuple[int, float, int]]:
    """Return the polylines that a point lies on, its parts of them, and the least weights along them."""
    graph = index.graph
    weight = graph.weight if graph.streets is None else graph.streets.without_turns(graph.weight)
    found = [(snap.polyline, snap.fraction)]
    if snap.is_end:
        nodes = set(index.nodes_of(snap))
        for arc in range(graph.num_arcs):
            is_backward = bool(index.backward[arc])
            for node, end in ((graph.tail[arc], is_backward), (graph.head[arc], not is_backward)):
                if int(node) in nodes:
                    found.append((int(index.polyline_of[arc]), float(end)))
    return [(line, at, max(1, int(weight[index.arcs(line)].min()))) for line, at in found]


def is_in(spans: Spans, index: StreetIndex, snap: Snap, slack: float) -> bool:
    """Return whether a point lies within spans that are made longer by a weight."""
    return any(
        ((spans.polyline == line) & (spans.low - slack / least <= at) & (at <= spans.high + slack / least)).any()
        for line, at, least in positions(index, snap)
    )


def weight_between(router: Router, origin: Place, destination: Place) -> float:
    try:
        return router.route(origin, destination).weight
    except NoRouteError:
        return np.inf


def check_reach(router: Router, seed: int) -> int:
    """Compare the reach of a place with routes to it from points on streets; return how many were compared."""
    index = router.index
    points = points_on_streets(index, np.random.default_rng(seed), 16)
    if not points:
        return 0
    destination, end = points[0]
    seeds = [(goal.node, goal.weight) for goal in find_goals(index, end)]
    with Solver(backward(index.searched), device="cpu") as solver:
        nowhere = np.full(index.graph.num_nodes, UNREACHABLE, np.uint32)
        distances = solver.distances(seeds) if seeds else nowhere
    begun = begun_streets(index, end, reverse=True)
    weights = [weight_between(router, place, destination) for place, _ in points]
    limits = sorted({int(weight) for weight in weights if 0 < weight < np.inf}) or [1]
    for limit in (limits[0], limits[len(limits) // 2], limits[-1], limits[-1] // 2 + 1):
        spans, next_spans = (
            reached_spans(index, distances, begun, [most], reverse=True)[0] for most in (limit, limit + 1)
        )
        for (_, snap), weight in zip(points, weights, strict=True):
            # In a route the weight of a part of a street is rounded to a whole number.
            inside = is_in(next_spans, index, snap, 1e-9) if weight <= limit else is_in(spans, index, snap, -1e-9)
            assert inside == (weight <= limit), (snap, weight, limit)
    return len(points)


@given(
    towns(),
    st.sampled_from(["none", "restrictions", "costs"]),
    st.sampled_from(["duration", "distance"]),
    st.booleans(),
    st.integers(0, 1000),
)
@settings(max_examples=EXAMPLES)
def test_a_point_is_within_reach_exactly_if_the_route_from_it_takes_at_most_the_limit(
    tmp_path: Path, town: Town, turns: str, metric: str, avoids: bool, seed: int
) -> None:
    graph, _ = imported(tmp_path, town.nodes, town.ways, town.relations, turns=turns)
    x, y = np.random.default_rng(seed).uniform(0, 0.002, 2)
    area = shapely.box(x, y, x + 2e-4, y + 2e-4) if avoids else None
    with Router(graph, device="cpu", metric=metric, avoid=area) as router:
        check_reach(router, seed)


@pytest.mark.parametrize("turns", ["costs", "none"])
@pytest.mark.parametrize("avoids", [False, True])
def test_the_same_on_a_real_map(andorra_path: Path, turns: str, avoids: bool) -> None:
    area = shapely.box(1.525, 42.506, 1.527, 42.508) if avoids else None
    with Router(read_graph(andorra_path, turns=turns), device="cpu", avoid=area) as router:
        assert sum(check_reach(router, seed) for seed in range(6)) > 30


@pytest.fixture(scope="module", params=["costs", "none"])
def andorra(andorra_path: Path, request: pytest.FixtureRequest) -> Graph:
    return read_graph(andorra_path, turns=request.param)


def useful_places(router: Router, count: int, seed: int) -> list[Place]:
    return [place for place, _ in points_on_streets(router.index, np.random.default_rng(seed), count)]


@pytest.mark.parametrize("algorithm", ["dijkstra", "near_far", "phast"])
@pytest.mark.parametrize("metric", ["duration", "distance"])
def test_tables_are_those_of_the_other_direction(
    andorra: Graph, device: Device, algorithm: str, metric: str, tmp_path: Path
) -> None:
    graph = prepare(andorra) if algorithm == "phast" else andorra
    where = device if algorithm == "near_far" else "cpu"
    area = shapely.box(1.525, 42.506, 1.527, 42.508) if algorithm == "dijkstra" else None
    with Router(graph, algorithm, where, metric=metric, avoid=area) as router:
        here, there = useful_places(router, 8, 1), useful_places(router, 40, 2)
        here += there[:3]
        metrics = ["weight", "duration", "distance"]
        inbound = router.table(here, there, metrics, reverse=True)
        found, wanted = inbound.read(), router.table(there, here, metrics).read()
        assert inbound.shape == (len(here), len(there))
        assert np.array_equal(found["weight"], wanted["weight"].T)
        exact, other = ("duration", "distance") if metric == "duration" else ("distance", "duration")
        assert np.array_equal(found[exact], wanted[exact].T, equal_nan=True)
        # Of several best paths another one may be taken.
        close = np.isclose(found[other], wanted[other].T, rtol=1e-6, atol=1e-3, equal_nan=True)
        assert close.mean() > 0.97
        inbound.write(tmp_path / "t.npy")


def test_isochrones_follow_weights_that_change(andorra: Graph, device: Device) -> None:
    place = (42.5078, 1.5211)
    for where in ("cpu", device):
        with Router(andorra, device=where) as router:
            (before,) = router.isochrones(place, [300], reverse=True)
            (outward,) = router.isochrones(place, [300])
            assert before.reverse and not outward.reverse and before.road_m != outward.road_m
            (of_each,) = router.isochrones_of_each([place], [300], reverse=True)
            assert of_each[0].area.equals(before.area) and of_each[0].figures == before.figures
            router.set_weights(np.minimum(2 * andorra.weight.astype(np.int64), UNREACHABLE - 1))
            (slower,) = router.isochrones(place, [300], reverse=True)
            assert slower.road_m < before.road_m
        with Router(andorra.with_weights(2 * andorra.weight), device=where) as router:
            (again,) = router.isochrones(place, [300], reverse=True)
            assert again.area.equals(slower.area)


def test_one_way_streets_are_left_in_their_direction_only(tmp_path: Path) -> None:
    """A street along the equator, and beside it a one-way street from its place 3 by place 8 to its place 5."""
    ways: Any = [(1, list(range(1, 8)), ROAD), (2, [3, 8, 5], {**ROAD, "oneway": "yes"})]
    (tmp_path / "map.osm").write_text(osm_xml({**LINE, 8: (0.002, 0.004)}, ways))
    place, before, after = (0.002, 0.004), shapely.Point(0.0035, 0.001), shapely.Point(0.0045, 0.001)
    with Router(read_graph(tmp_path / "map.osm"), device="cpu") as router:
        (inward,) = router.isochrones(place, [50], 5, reverse=True)
        (outward,) = router.isochrones(place, [50], 5)
        assert inward.area.contains(before) and inward.area.contains(shapely.Point(0.0028, 0))
        assert outward.area.contains(after) and outward.area.contains(shapely.Point(0.0052, 0))
        assert not inward.area.contains(after) and not outward.area.contains(before)
        areas = router.service_areas([place, (0.0, 0.0065)], reverse=True)
        (number,) = (
            n for n in range(router.index.num_polylines) if router.index.polyline_points(n)[:, 0].max() > 0.001
        )
        one_way = areas.streets.polyline == number
        cells = [(areas.streets.low[row], areas.streets.source[row]) for row in np.flatnonzero(one_way)]
        # What is on the one-way street before the first place serves it, and what is behind it does not.
        assert cells == [(0.0, 0), (pytest.approx(0.5, abs=0.01), 1)]


def test_service_areas_are_the_nearest_by_tables(andorra: Graph) -> None:
    with Router(andorra, device="cpu") as router:
        places, origins = useful_places(router, 9, 3), useful_places(router, 60, 4)
        areas = router.service_areas(places, reverse=True)
        weights = router.table(origins, places, ["weight"]).read()["weight"].astype(np.int64)
        for (origin, snap), row in zip(
            points_on_streets(router.index, np.random.default_rng(4), 60), weights, strict=True
        ):
            on = [
                int(source)
                for line, low, high, source, _ in zip(*areas.streets, strict=True)
                if line == snap.polyline and low - 1e-3 <= snap.fraction <= high + 1e-3
            ]
            assert not on or row[on].min() <= row.min() + 1, origin
        limited = router.service_areas(places, 120, reverse=True)
        with Router(andorra, device="cpu") as other:
            (alone,) = other.isochrones(places[0], [120], reverse=True)
        within = (limited.nodes.source == 0) & (limited.nodes.distance <= 1200)
        lat, lon = andorra.lat[within], andorra.lon[within]  # type: ignore[index]
        assert shapely.intersects_xy(alone.area, lon, lat).all()


def test_on_the_command_line(
    capsys: pytest.CaptureFixture[str], andorra: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    andorra.save("g.graph")
    place = (42.5078, 1.5211)

    def run(*arguments: str) -> Any:
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    query = ["isochrone", "g.graph", "--minutes", "5", "--output", "i.geojson"]
    inward = run(*query, "--to", "42.5078,1.5211", "--map", "i.html")
    with Router(andorra) as router:
        (found,) = router.isochrones(place, [300], reverse=True)
    assert inward["isochrones"] == [found.figures] and inward["reverse"] is True
    (feature,) = json.loads(Path("i.geojson").read_text())["features"]
    assert feature["properties"]["reverse"] is True
    assert shapely.equals(shapely.from_geojson(json.dumps(feature["geometry"])), found.area)
    assert "From where one reaches" in Path("i.html").read_text()
    assert run(*query, "--from", "42.5078,1.5211")["isochrones"] != inward["isochrones"]
    Path("p.csv").write_text("id,lat,lon\na,42.5078,1.5211\nb,42.5361,1.5828\n")
    each = run(*query, "--places", "p.csv", "--reverse")
    assert each["places"][0] == {"place": "a", "isochrones": [found.figures]}
    assert main([*query, "--from", "42.5078,1.5211", "--reverse"]) == 2
    assert "--reverse is for --places; give --to in place of --from" in capsys.readouterr().err
    assert str(DEFAULT_WIDTH_M)[:2] in run_help(capsys, "isochrone")

    Path("n.csv").write_text("node\n3\n9\n12\n")
    for kind, columns in (("p.csv", ["duration", "distance"]), ("n.csv", ["weight", "distance"])):
        table = ["table", "g.graph", "--sources", kind, "--metrics", ",".join(columns)]
        run(*table, "--output", "there.npy")
        run(*table, "--output", "back.npy", "--reverse")
        there, back = np.load("there.npy"), np.load("back.npy")
        for name in there.dtype.names or ():
            assert np.allclose(back[name], there[name].T, equal_nan=True)
        assert not np.array_equal(there, back)
    run("table", "g.graph", "--sources", "n.csv", "--targets", "all", "--output", "all.npy", "--reverse")
    with Solver(backward(andorra), device="cpu") as solver:
        assert np.array_equal(np.load("all.npy"), unit_values(andorra, solver.distances([3, 9, 12])), equal_nan=True)
    for kind in ("p.csv", "n.csv"):
        areas = ["service-areas", "g.graph", "--sources", kind, "--output", "a.npy"]
        outward, inward = run(*areas), run(*areas, "--reverse")
        assert inward["reached"] and inward["nodes_of_sources"] != outward["nodes_of_sources"]


def unit_values(graph: Graph, weights: Any) -> Any:
    from vkssp.graph.metric import unit_of

    return unit_of(graph, "duration").values(weights)


def run_help(capsys: pytest.CaptureFixture[str], command: str) -> str:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    return capsys.readouterr().out


def test_names_of_places_in_errors(andorra: Graph) -> None:
    with Router(andorra, device="cpu") as router:
        for call, name in (
            (lambda: router.isochrones((0, 0), [60], reverse=True), "to is 0.00000"),
            (lambda: router.isochrones_of_each([(0, 0)], [60], reverse=True), r"places\[0\]"),
            (lambda: router.table([(0, 0)], reverse=3), "reverse is 3; give True or False"),  # type: ignore[arg-type]
        ):
            with pytest.raises(Exception, match=name):
                call()
