"""Service areas: which place serves each node and each part of a street; in files, and on the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.support.streetmaps import UNIT, street_map
from vkssp import UNREACHABLE, FormatError, Graph, QueryError, Router, read_graph
from vkssp.cli import main
from vkssp.gpu.device import Device
from vkssp.routing.phantoms import find_starts
from vkssp.routing.places import starting_points
from vkssp.routing.service_areas_file import colour
from vkssp.routing.voronoi import StreetCells, part_of_line

#: A street of 1 000 from one junction to the next, one way street of 500 beside it, a ferry, and a street that goes on.
LINE = [(0, 0), (0, 10), (0, 20), (5, 0)]


def line_map() -> Graph:
    streets: Any = [(0, 1, 1000), (1, 2, 3000), (0, 3, 500)]
    return street_map(LINE, streets, oneways=(2,))


def spans(served: StreetCells) -> list[tuple[int, float, float, int, int]]:
    rows = zip(*(column.tolist() for column in served), strict=True)
    return [(line, round(low, 6), round(high, 6), source, weight) for line, low, high, source, weight in rows]


@pytest.fixture(scope="module")
def andorra(andorra_path: Path) -> Graph:
    return read_graph(andorra_path)


@pytest.fixture(scope="module")
def router(andorra: Graph, device: Device) -> Iterator[Router]:
    with Router(andorra, device=device) as opened:
        yield opened


@pytest.fixture(scope="module")
def places(andorra: Graph) -> list[tuple[float, float]]:
    assert andorra.lat is not None and andorra.lon is not None
    chosen = np.random.default_rng(3).integers(0, andorra.num_nodes, 25)
    found = [(float(andorra.lat[node]) + 2e-4, float(andorra.lon[node])) for node in chosen]
    return [*found, found[4]]


def test_streets_are_divided_where_both_ways_take_as_long(device: Device) -> None:
    with Router(line_map(), device=device) as router:
        first, last = (0.0, 1 * UNIT), (0.0, 20 * UNIT)
        found = router.service_areas([first, last])
        # From a tenth of the first street: 900 to its end, and 3 000 the other way along the next: 1 050 from there.
        assert found.nodes.distance.tolist() == [100, 900, 0, 600]
        assert found.source.tolist() == [0, 0, 1, 0]
        assert found.values == pytest.approx([10.0, 90.0, 0.0, 60.0])  # a weight is a tenth of a second
        assert spans(found.streets) == [
            (0, 0.0, 1.0, 0, 0),
            (1, 0.0, 0.35, 0, 900),
            (1, 0.35, 1.0, 1, 0),
            (2, 0, 1, 0, 100),
        ]
        # The same, but not so far.
        within = router.service_areas([first, last], limit=30)
        assert within.nodes.distance.tolist() == [100, UNREACHABLE, 0, UNREACHABLE]
        assert np.isnan(within.values[[1, 3]]).all()
        assert spans(within.streets) == [(0, 0.0, 0.4, 0, 0), (1, 0.9, 1.0, 1, 0), (2, 0.0, 0.4, 0, 100)]
        # Of two at the same place the first; two on one street share it.
        assert set(router.service_areas([last, first, last]).source.tolist()) == {0, 1}
        shared = router.service_areas([(0.0, 2 * UNIT), (0.0, 6 * UNIT)])
        assert [span[:4] for span in spans(shared.streets)][:2] == [(0, 0.0, 0.4, 0), (0, 0.4, 1.0, 1)]
        assert shared.source.tolist() == [0, 1, 1, 0]
    with Router(line_map(), device=device, metric="distance") as router:
        found = router.service_areas([first, last])
        middle = [span for span in spans(found.streets) if span[0] == 1]
        assert [span[2] for span in middle] == pytest.approx([0.05, 1.0], abs=1e-3)
        assert found.values[1] == pytest.approx(9 * UNIT * 111_195, rel=1e-3)


def test_nobody_gets_off_a_ferry(device: Device) -> None:
    graph = street_map([(0, 0), (0, 10), (0, 20), (0, 30)], [(0, 1, 100), (1, 2, 100), (2, 3, 100)], ferries=(1,))
    with Router(graph, device=device) as router:
        found = router.service_areas([(0.0, 0.0)])
        assert found.nodes.distance.tolist() == [0, 100, 200, 300]
        assert [span[0] for span in spans(found.streets)] == [0, 2]


def test_areas_to_avoid(device: Device) -> None:
    """One in the middle of the second street: from either side it is served up to there, and nothing beyond."""
    area = shapely.box(14 * UNIT, -UNIT, 16 * UNIT, UNIT)
    with Router(line_map(), device=device, avoid=area) as router:
        found = router.service_areas([(0.0, 1 * UNIT)])
        assert found.source.tolist() == [0, 0, UNREACHABLE, 0]
        assert spans(found.streets) == [(0, 0.0, 1.0, 0, 0), (1, 0.0, 0.4, 0, 900), (2, 0.0, 1.0, 0, 100)]
        both = router.service_areas([(0.0, 1 * UNIT), (0.0, 20 * UNIT)])
        assert [span[1:4] for span in spans(both.streets) if span[0] == 1] == [(0.0, 0.4, 0), (0.6, 1.0, 1)]
    # A place between two of them, from where no junction can be reached.
    shut = shapely.union_all([shapely.box(x * UNIT, -UNIT, (x + 1) * UNIT, UNIT) for x in (11, 17)])
    with Router(line_map(), device=device, avoid=shut) as router:
        found = router.service_areas([(0.0, 14 * UNIT)])
        assert (found.source == UNREACHABLE).all() and np.isnan(found.values).all()
        assert spans(found.streets) == [(1, 0.2, 0.7, 0, 0)]


def test_nodes_as_searches_from_each_place_have_them(router: Router, places: list[tuple[float, float]]) -> None:
    index = router.index
    snaps = starting_points(index, places, [""] * len(places))
    alone = [[(end.node, end.weight) for end in find_starts(index, snap)] for snap in snaps]
    each = np.stack([router.solver.distances(seeds) for seeds in alone])
    found = router.service_areas(places)
    least = each.min(axis=0)
    assert np.array_equal(found.nodes.distance, least)
    assert np.array_equal(found.source, np.where(least == UNREACHABLE, UNREACHABLE, each.argmin(axis=0)))
    assert not (found.source == len(places) - 1).any()  # as an earlier one is at the same place


def test_streets_as_routes_have_them(router: Router, places: list[tuple[float, float]]) -> None:
    found = router.service_areas(places)
    served, rng = found.streets, np.random.default_rng(0)
    middles, parts = [], []
    for part in rng.permutation(len(served.polyline))[:120].tolist():
        low, high = served.low[part], served.high[part]
        points = part_of_line(found.polyline(int(served.polyline[part])), low, (low + high) / 2)
        middle = tuple(points[-1].tolist())
        if router.nearest(middle)[0].snapped_m < 0.05:
            middles.append(middle)
            parts.append(part)
    assert len(parts) > 100
    seconds = router.table(places, middles).read()["duration"]
    of_source = seconds[served.source[parts], np.arange(len(parts))]
    # A route may end on a crossing street, and both round to whole weights.
    agree = of_source <= np.nanmin(seconds, axis=0) + 0.25
    assert np.count_nonzero(agree) >= 0.97 * len(parts)
    near = served.weight[parts] * found.unit.per_weight
    assert np.count_nonzero(near <= of_source + 0.25) >= 0.97 * len(parts)


def test_streets_are_those_of_isochrones(router: Router, places: list[tuple[float, float]]) -> None:
    """What one place serves within a limit is what is reached from there; what many serve does not overlap."""
    metres = np.array([line_metres(router, number) for number in range(router.index.num_polylines)])
    for limit in (60, 600):
        served = router.service_areas(places[:1], limit).streets
        (reached,) = router.isochrones(places[0], [limit])
        assert ((served.high - served.low) * metres[served.polyline]).sum() == pytest.approx(reached.road_m, rel=1e-3)
    served = router.service_areas(places).streets
    follows = served.polyline[1:] == served.polyline[:-1]
    assert (served.low < served.high).all() and (served.high[:-1] <= served.low[1:])[follows].all()
    divided = served.source[1:] != served.source[:-1]
    assert np.count_nonzero(follows & divided) > 10


def line_metres(router: Router, number: int) -> float:
    from vkssp.graph.geo import haversine

    points = router.index.polyline_points(number)
    return float(haversine(*points[:-1].T, *points[1:].T).sum())


def test_files(router: Router, places: list[tuple[float, float]], tmp_path: Path) -> None:
    found, names = router.service_areas(places, limit=900), [f"depot {number}" for number in range(len(places))]
    for ending in ("csv", "npy", "geojson"):
        found.write(tmp_path / f"a.{ending}", names)
    packed = np.load(tmp_path / "a.npy")
    assert np.array_equal(packed["source"], found.source)
    assert np.array_equal(packed["duration_s"], found.values, equal_nan=True)
    with open(tmp_path / "a.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["node"]) for row in rows] == list(range(router.graph.num_nodes))
    told = [names[source] if source != UNREACHABLE else "" for source in found.source.tolist()]
    assert [row["source"] for row in rows] == told and "" in told
    seconds = np.array([float(row["duration_s"] or "nan") for row in rows])
    assert seconds == pytest.approx(found.values, abs=1e-3, nan_ok=True)
    written = json.loads((tmp_path / "a.geojson").read_text())
    assert written == json.loads(json.dumps(found.geojson(names)))
    lines, points = (
        [each for each in written["features"] if each["geometry"]["type"] == kind] for kind in ("LineString", "Point")
    )
    # Without those that are too short to be seen.
    assert 0.95 * len(found.streets.polyline) < len(lines) <= len(found.streets.polyline)
    assert [point["properties"]["source"] for point in points] == names
    serves = set(zip(found.streets.source.tolist(), found.streets.weight.tolist(), strict=True))
    for line in lines:
        source = names.index(line["properties"]["source"])
        assert line["properties"]["stroke"] == colour(source)
        assert (source, round(line["properties"]["duration_s"] * 10)) in serves
        assert shapely.from_geojson(json.dumps(line["geometry"])).is_valid
    assert len({colour(number) for number in range(500)}) > 400
    with pytest.raises(QueryError, match="there are 1 names for 26 sources"):
        found.write(tmp_path / "b.csv", ["one"])
    with pytest.raises(FormatError, match=r"its name must end in one of \.npy, \.csv, \.geojson, \.json"):
        found.write(tmp_path / "b.txt")


def test_streets_across_the_180th_meridian(device: Device, tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [90, 90], lat=[0.0, 0.0], lon=[179.999, -179.998])
    with Router(graph, device=device) as router:
        router.service_areas([(0.0, 179.999)]).write(tmp_path / "a.geojson")
    lines = json.loads((tmp_path / "a.geojson").read_text())["features"][:2]
    for line in lines:
        assert line["geometry"]["type"] == "MultiLineString" and line["properties"]["weight"] in (0, 90)
        assert {abs(lon) for part in line["geometry"]["coordinates"] for lon, _ in part} == {179.998, 179.999, 180.0}


@pytest.mark.parametrize(
    ("sources", "limit", "message"),
    [
        ([], None, "there are no sources; give at least one"),
        (5, None, "sources is 5; give a list of pairs"),
        ([(0.0, 0.0), (50.0, 0.0)], None, "source 1 is 50.00000,0.00000, which is not on this map"),
        ([(0.0, 0.0)], 0, "limit is 0; give seconds or weights, more than 0, that fit into 32 bits"),
        ([(0.0, 0.0)], "far", "limit is 'far'; give seconds"),
    ],
)
def test_bad_questions(device: Device, sources: Any, limit: Any, message: str) -> None:
    with Router(line_map(), device=device) as router, pytest.raises(QueryError, match=message):
        router.service_areas(sources, limit)


def test_on_the_command_line(
    capsys: pytest.CaptureFixture[str], andorra: Graph, places: list[tuple[float, float]], tmp_path: Path
) -> None:
    graph, sources, nodes = (str(tmp_path / name) for name in ("andorra.graph", "shops.csv", "nodes.csv"))
    andorra.save(graph)
    rows = [f"shop {number},{lat},{lon}" for number, (lat, lon) in enumerate(places)]
    Path(sources).write_text("\n".join(["id,lat,lon", *rows]))
    Path(nodes).write_text("5\n900\n")

    def run(*arguments: str) -> Any:
        assert main(["service-areas", graph, *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    streets, table = str(tmp_path / "a.geojson"), str(tmp_path / "a.csv")
    result = run("--sources", sources, "--output", streets, "--limit", "500")
    assert result["sources"] == 26 and sum(result["nodes_of_sources"]) == result["reached"] < result["nodes"]
    properties = [each["properties"] for each in json.loads(Path(streets).read_text())["features"]]
    assert max(each.get("duration_s", 0) for each in properties) <= 500
    assert {each["source"] for each in properties} <= {f"shop {number}" for number in range(26)}
    result = run("--sources", nodes, "--output", table, "--limit", "600")
    with open(table, newline="") as stream:
        told = list(csv.DictReader(stream))
    assert told[900]["source"] == "900" and float(told[900]["duration_s"]) == 0.0
    assert [sum(row["source"] == name for row in told) for name in ("5", "900")] == result["nodes_of_sources"]
    assert max(float(row["duration_s"] or 0) for row in told) <= 600
    for arguments, message in (
        (("--sources", nodes, "--output", streets), "sources that are nodes have no streets"),
        (("--sources", nodes, "--output", table, "--metric", "distance"), "--avoid and --metric are for places"),
        (("--sources", sources, "--output", str(tmp_path / "a.txt")), "its name must end in one of"),
        (("--sources", sources, "--output", sources), "which is needed for something else"),
    ):
        assert main(["service-areas", graph, *arguments]) == 2
        assert message in capsys.readouterr().err


def test_former_names_give_a_warning(
    capsys: pytest.CaptureFixture[str], andorra: Graph, places: list[tuple[float, float]], tmp_path: Path
) -> None:
    with Router(andorra, "dijkstra") as router:
        with pytest.warns(DeprecationWarning, match=r"^Router\.assign is called Router\.service_areas now"):
            found = router.assign(places)
        assert np.array_equal(found.source, router.service_areas(places).source)
    assert main(["assign", "no.graph", "--sources", "no.csv", "--output", str(tmp_path / "a.csv")]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "vkssp: 'assign' is called 'service-areas' now; use this name" and "no.csv" in second
