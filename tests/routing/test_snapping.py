"""Where trips begin and end: which streets the profile rules out, and which can only be left, or only be reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.osm_maps import ROAD, graph_of, streets_of, write_osm
from tests.support.saved_graphs import npy, rewritten
from tests.support.streetmaps import UNIT, street_map
from vkssp import FormatError, Graph, QueryError, Router, read_graph
from vkssp.cli import main
from vkssp.osm.profile import FOLDER
from vkssp.routing.snap import StreetIndex

#: A street along the equator, a drive off it to the north, and a house beside the drive.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.0, 0.004), 4: (0.003, 0.001)}
WAYS = [(1, [1, 2, 3], ROAD), (2, [2, 4], {"highway": "service", "access": "private"})]
HOUSE, TOWN = (0.002, 0.0011), (0.0, 0.0035)


def own_profile(tmp_path: Path) -> Path:
    """Write the car's profile without what rules out streets."""
    text = (FOLDER / "car.toml").read_text(encoding="utf-8")
    assert text.count('\nservice = ["private"]\n') == 1
    path = tmp_path / "resident.toml"
    path.write_text(text.replace('\nservice = ["private"]\n', "\n"), encoding="utf-8")
    return path


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
@pytest.mark.parametrize("profile", ["car", "bike", "foot", "resident"])
def test_a_trip_begins_on_the_street_or_for_residents_on_the_drive(tmp_path: Path, profile: str, turns: str) -> None:
    source = write_osm(tmp_path / "map.osm", NODES, WAYS)
    graph = read_graph(source, profile=own_profile(tmp_path) if profile == "resident" else profile, turns=turns)
    graph.save(tmp_path / "saved")
    for loaded in (graph, Graph.load(tmp_path / "saved")):
        with Router(loaded, "dijkstra") as router:
            on_drive = profile == "resident"
            snapped = (0.002, 0.001) if on_drive else (0.0, 0.0011)
            way = 0.0045 if on_drive else 0.0024
            out, into = router.route(HOUSE, TOWN), router.route(TOWN, HOUSE)
            over = router.route((0.0, 0.0002), TOWN, via=[HOUSE])
            (reached,) = router.isochrones(HOUSE, [3600])
            table = router.table([HOUSE, TOWN], metrics=["distance"]).read()["distance"]
            for place in (out.origin, into.destination, over.vias[0], reached.origin, router.nearest(HOUSE)[0]):
                assert place is not None
                assert (place.snapped_lat, place.snapped_lon) == pytest.approx(snapped, abs=2e-6)
            for metres in (out.distance_m, into.distance_m, table[0, 1], table[1, 0]):
                assert metres == pytest.approx(way * 111_195, rel=2e-3)
            assert len(router.nearest(HOUSE, 9)) == (3 if on_drive else 2)
            # What is snapped to a junction may go up the drive, and isochrones cover it.
            assert reached.road_m == pytest.approx(0.007 * 111_195, rel=2e-3)


def test_a_graph_that_does_not_tell_may_be_snapped_to_anywhere(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, NODES, WAYS)
    assert streets_of(graph).snappable is not None
    old = Graph.from_csr(
        graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon,
        streets=replace(streets_of(graph), snappable=None),
    )  # fmt: skip
    old.save(tmp_path / "old")
    assert StreetIndex(Graph.load(tmp_path / "old")).nearest(*HOUSE) == StreetIndex(old).nearest(*HOUSE)
    snap = StreetIndex(old).nearest(*HOUSE)
    assert snap is not None and snap.lat == pytest.approx(HOUSE[0])
    assert streets_of(graph_of(tmp_path, NODES, WAYS[:1])).snappable is None, "nothing is kept that tells nothing"


def test_where_no_trip_may_begin_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = graph_of(tmp_path, NODES, WAYS[1:])
    with pytest.raises(QueryError, match=r"no trip can begin on any street .* access\.snap_prevention .* import"):
        Router(graph, "dijkstra")
    graph.save(tmp_path / "drives")
    assert main(["nearest", str(tmp_path / "drives"), "--at", "0.002,0.001"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("vkssp: no trip can begin") and told.count("\n") == 1
    # The next one is too far off.
    far = {**NODES, 5: (0.5, 0.0), 6: (0.5, 0.001)}
    graph = graph_of(tmp_path, far, [(1, [5, 6], ROAD), WAYS[1]])
    with (
        Router(graph, "dijkstra") as router,
        pytest.raises(QueryError, match=r"over 20 km from any road of this map that a trip may begin on"),
    ):
        router.route(HOUSE, (0.5, 0.0))


def test_the_import_counts_what_it_rules_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(write_osm(tmp_path / "map.osm", NODES, WAYS))
    assert main(["import", source, str(tmp_path / "map.graph")]) == 0
    assert "no trip begins or ends on 1 polylines" in capsys.readouterr().out


def block(away: float, side: int = 24) -> Graph:
    """A town of streets to the south-west of (0, 10), a one-way street out of it to the east there, and one into it."""
    nodes = [(-float(y), 10.0 - x) for y in range(side) for x in range(side)]
    streets = [(side * y + x, side * y + x + 1, 100) for y in range(side) for x in range(side - 1)]
    streets += [(side * y + x, side * (y + 1) + x, 100) for y in range(side - 1) for x in range(side)]
    out, into = len(nodes), len(nodes) + 1
    nodes += [(0.0, 20.0), (away, 20.0)]
    oneways = len(streets), len(streets) + 1
    return street_map(nodes, [*streets, (0, out, 100), (into, 0, 100)], oneways=oneways)  # type: ignore[arg-type]


def test_a_street_that_can_only_be_left_gives_way_to_one_nearby() -> None:
    def at(y: float, x: float) -> tuple[float, float]:
        return y * UNIT, x * UNIT

    graph = block(0.2)
    outward, inward, centre = at(-0.01, 11.5), at(0.05, 11.5), at(-5, 10)
    with Router(graph, "dijkstra") as router:
        index = router.index
        last = index.num_polylines
        one_sided = [index.nearest(*place) for place in (outward, inward)]
        assert all(
            snap is not None and snap.polyline == polyline
            for snap, polyline in zip(one_sided, (last - 2, last - 1), strict=True)
        )
        # At 11.5 the town is 167 m off, at 12.5 it is 278 m off.
        for place in (outward, inward):
            for route in (router.route(place, centre), router.route(centre, place)):
                end = min((route.origin, route.destination), key=lambda p: abs(p.lat - place[0]))  # type: ignore[union-attr]
                assert end is not None and end.snapped_lon == pytest.approx(10 * UNIT)
        # The nearest to leave by is the street into town.
        away = router.route(at(-0.01, 12.5), centre).origin
        assert away is not None and away.snapped_lon == pytest.approx(12.5 * UNIT, rel=1e-3)
        assert away.snapped_lat > 0.01 * UNIT
        into = router.route(centre, at(-0.01, 12.5)).destination
        assert into is not None and into.snapped_lon == pytest.approx(12.5 * UNIT)
        out = router.route(at(0.06, 12.5), centre).origin
        assert out is not None and out.snapped_lon == pytest.approx(12.5 * UNIT, rel=1e-3)
        places = [outward, inward, at(-0.01, 12.5), at(0.06, 12.5), centre, at(-10, 5)]
        table = router.table(places).read()["duration"]
        for i, origin in enumerate(places):
            for j, destination in enumerate(places):
                assert table[i, j] == pytest.approx(router.route(origin, destination).duration_s, abs=0.11)
        # In a hamlet no street is told from the others.
        small = StreetIndex(block(0.2, 6))
        assert small.trip_ends(np.array([outward])) == [small.nearest(*outward)] != index.trip_ends(np.array([outward]))
        # Who asks for the nearest street gets it, whatever leads there.
        assert router.nearest(outward)[0].snapped_lon == pytest.approx(11.5 * UNIT)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_the_core_is_open_streets_even_if_most_are_private(tmp_path: Path, turns: str) -> None:
    """Copies of private streets for the start of trips are a larger piece, and none of them can be reached."""
    private = {**ROAD, "access": "private"}
    ways = [*WAYS[:1], (2, [2, 4, 5, 6], private), (3, [4, 7, 8], private), (4, [5, 8, 9, 6], private)]
    nodes = {**NODES, **{key: (0.001 * (key - 1), 0.0015 if key > 6 else 0.001) for key in range(5, 10)}}
    graph = read_graph(write_osm(tmp_path / "map.osm", nodes, ways), turns=turns)
    index = StreetIndex(graph)
    places = index.points + np.array([1e-5, 1e-5])
    assert index.trip_ends(places) == index.nearest_of_each(places)
    for snap in index.nearest_of_each(places):
        assert snap is not None and index.leaves(snap) and index.is_reached(snap)


def test_places_at_a_junction_stay_there() -> None:
    graph = block(0.2)
    index = StreetIndex(graph)
    where = np.array([[0.0, 10 * UNIT], [0.0, 10 * UNIT + 1e-9]])
    for snap in index.trip_ends(where):
        assert snap is not None and (snap.lat, snap.lon) == (0.0, pytest.approx(10 * UNIT)) and snap.is_end


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3, np.uint8), "streets.snappable has dtype uint8; give bool"),
        (np.ones(3, np.bool_), "streets.snappable has shape .* one entry per arc"),
        (np.array([2], np.uint8).view(np.bool_), "neither true nor false"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, array: Any, message: str) -> None:
    path = tmp_path / "map.graph"
    graph_of(tmp_path, NODES, WAYS).save(path)
    rewritten(path, "streets_snappable.npy", npy(array))
    with pytest.raises(FormatError, match=message):
        Graph.load(path)


def test_junctions_may_have_any_numbers() -> None:
    """Not as many of them are counted as the largest number, which a file tells."""
    graph = street_map([(0, 0), (0, 1), (5, 0), (5, 1)], [(0, 1, 10), (2, 3, 10)])
    assert graph.streets is not None
    streets = replace(graph.streets, junction=np.array([7, 2**32 - 1, 0, 4_000_000_000], np.uint32))
    index = StreetIndex(replace(graph, streets=streets))
    index.prepare()
    snaps = index.trip_ends(np.array([[0.0, 0.0005], [0.005, 0.0005]]))
    assert len({index.part(snap) for snap in snaps if snap is not None}) == 2
    assert [index.nodes_at(node) for node in range(4)] == [[0], [1], [2], [3]]


def test_of_equally_near_streets_the_first_one_is_taken() -> None:
    """Between the ends of two streets; rounding makes one or the other nearer by less than a micrometre."""
    for shift in range(40):
        west, middle = 1.0 + 1.7e-4 * shift, 1.00036 + 1.7e-4 * shift
        nodes = np.array([[0.001, west], [0.0, west], [0.0, 2 * middle - west], [0.001, 2 * middle - west]])
        graph = street_map((nodes / UNIT).tolist(), [(0, 1, 100), (2, 3, 100)])
        index = StreetIndex(graph)
        (first,) = index.nearest_of_each([(0.0, middle)])
        assert first is not None and first.polyline == 0
        assert [snap.polyline for snap in index.nearest_streets(0.0, middle, 2)] == [0, 1]
