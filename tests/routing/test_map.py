"""The map page: nothing in it needs a network, what it holds is the map, and names cannot break out of it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.support.pages import EVIL, METRES, Page, a_route, decode, decode_points, grid, lines_of
from tests.support.paths import SHARED
from vkssp import Router
from vkssp.errors import FormatError, QueryError
from vkssp.features.quantities import format_distance, format_duration
from vkssp.graph import Graph
from vkssp.route import Leg, Place, Step
from vkssp.routing import network as maps
from vkssp.routing.isochrone import Isochrone
from vkssp.routing.map import isochrone_page, page, write_isochrone_map, write_map
from vkssp.routing.network import encode, encode_points, network_of
from vkssp.routing.page import VALUE_SCRIPTS

DATA = SHARED / "osm"


def street_lines(graph: Graph) -> Any:
    assert graph.streets is not None
    return [shapely.LineString(graph.streets.polyline_points(k)) for k in np.unique(graph.streets.polyline)]


def test_what_was_encoded_comes_back() -> None:
    values = np.array([0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28, 2**35 - 1])
    assert decode(encode(values)).tolist() == values.tolist()
    assert base64.b64decode(encode([300])) == bytes([0b1010_1100, 0b10])
    assert encode([]) == ""
    points = np.array([[-90, 180], [90, -180], [90, -180], [0, 0], [0, 1]]) * maps.PAGE_SCALE
    assert decode_points(encode_points(points)).tolist() == points.tolist()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, to run the page's own decoder")
def test_the_page_decodes_what_was_encoded() -> None:
    points = np.array([[-90, 180], [90, -180], [-33.456789, 151.000001]])
    numbers = [0, 127, 128, 2**35 - 1]
    script = re.search(r'<script id="decode">(.*?)</script>', page(grid(2), a_route(grid(2))), re.S)
    assert script is not None
    encoded = encode_points(np.rint(points * maps.PAGE_SCALE).astype(np.int64))
    calls = f"decode('{encode(numbers)}'), decodePoints('{encoded}', {maps.PAGE_SCALE})"
    program = f"{script[1]}\nconsole.log(JSON.stringify([{calls}].map((values) => Array.from(values))))"
    answer = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True, timeout=60)
    values, degrees = json.loads(answer.stdout)
    assert values == numbers
    np.testing.assert_allclose(np.reshape(degrees, (-1, 2)), points, rtol=0, atol=1e-9)


def test_the_page_holds_the_roads_and_the_route() -> None:
    graph = grid(12)
    route = a_route(graph)
    payload = Page(page(graph, route)).payload()
    points = decode_points(payload["route"]) / payload["scale"]
    np.testing.assert_allclose(points, route.points, rtol=0, atol=6e-7)
    drawn, real = shapely.union_all(lines_of(payload)), shapely.union_all(street_lines(graph))
    assert shapely.hausdorff_distance(drawn, real) < 2 / maps.PAGE_SCALE
    # Each road is there once: twice, and the sum of lengths would be twice what it is.
    total = sum(line.length for line in lines_of(payload))
    assert total == pytest.approx(sum(line.length for line in street_lines(graph)), rel=1e-3)


def test_pieces_of_a_street_are_joined() -> None:
    graph = grid(5, names=("",))
    network = network_of(graph, a_route(graph).points)
    # Rows are fast and columns slow: five whole streets of each, where the graph has forty pieces.
    assert graph.streets is not None and len(np.unique(graph.streets.polyline)) == 40
    assert np.bincount(network.speed_class).tolist() == [0, 5, 0, 5]


def changed(graph: Graph, weight: Any = None, **streets: Any) -> Graph:
    """Return a graph with another weight or other attributes of its streets."""
    assert graph.streets is not None
    return Graph.from_csr(
        graph.first_out,
        graph.head,
        graph.weight if weight is None else weight,
        lat=graph.lat,
        lon=graph.lon,
        streets=replace(graph.streets, **streets),
    )


def test_speed_classes_are_of_the_way_not_of_the_arc() -> None:
    graph = grid(4, names=("",))
    assert graph.streets is not None
    # One arc of the fast way takes ten seconds longer, as for a signal.
    weight = np.array(graph.weight)
    weight[0] += 100
    assert classes_of(changed(graph, weight, way=graph.streets.way)) == {1, 2, 3}
    assert classes_of(changed(graph, weight, way=np.where(graph.streets.way < 100 + 12, 1, 2))) == {1, 3}


def classes_of(graph: Graph) -> set[int]:
    return set(network_of(graph, a_route(graph).points).speed_class.tolist())


def test_speed_classes_need_durations() -> None:
    assert classes_of(changed(grid(4))) == {1, 3}
    assert classes_of(changed(grid(4), seconds_per_weight=0.05)) == {3, 4}
    assert classes_of(changed(grid(4), seconds_per_weight=0.0)) == {1}
    # On a map for walkers the fastest roads are drawn as streets.
    assert classes_of(changed(grid(4), seconds_per_weight=1.0)) == {1}


def test_zero_weights_have_a_speed() -> None:
    assert classes_of(changed(grid(3), np.zeros(grid(3).num_arcs))) == {len(maps.CLASS_KMH)}


def test_large_networks_are_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(8, shape_points=40)
    route = a_route(graph)
    whole = network_of(graph, route.points)
    monkeypatch.setattr(maps, "SIMPLIFY_ABOVE", 100)
    monkeypatch.setattr(maps, "TOLERANCE_M", 5.0)
    payload = Page(page(graph, route)).payload()
    assert decode(payload["counts"]).sum() < 0.9 * len(whole.points)
    scale = np.array([1, np.cos(np.radians(46))]) * METRES
    drawn, real = (
        shapely.transform(shapely.union_all(lines), lambda points: points * scale)
        for lines in (lines_of(payload), street_lines(graph))
    )
    assert 0.5 < shapely.hausdorff_distance(drawn, real) < 5.3


def test_what_is_too_large_keeps_the_roads_around_the_route(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(60, names=tuple(["", *map(str, range(5000))]))
    route = a_route(graph, points=np.array([[46.0, 7.0], [46.002, 7.003]]))
    whole = network_of(graph, route.points)
    monkeypatch.setattr(maps, "MAX_POINTS", 4 * len(whole.points) // 10)
    part = network_of(graph, route.points)
    assert 0.39 * len(whole.points) < len(part.points) <= 0.4 * len(whole.points)
    near = [46.004 * maps.PAGE_SCALE, 7.006 * maps.PAGE_SCALE]
    assert (part.points < near).all(axis=1).sum() == (whole.points < near).all(axis=1).sum()
    # Elsewhere the slow roads, half of all, are the first to go.
    _, slow, _, fast = np.bincount(part.speed_class, minlength=4)
    assert 0 < slow < 0.05 * fast


def test_a_graph_without_streets_is_drawn_straight() -> None:
    graph = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 2], [1, 1, 1, 1], lat=[1, 2, -3], lon=[4, 5, 6])
    nowhere = {"duration_s": None, "distance_m": None, "origin": None, "destination": None}
    found = Page(page(graph, a_route(graph, **nowhere)))
    payload = found.payload()
    assert "".join(found.texts["title"]) == "1.0000, 4.0000 → -3.0000, 6.0000"
    assert [end["at"] for end in payload["ends"]] == [[1, 4], [-3, 6]]
    lines = [np.asarray(line.coords).tolist() for line in lines_of(payload)]
    assert lines == [[[1, 4], [2, 5]], [[2, 5], [-3, 6]]]
    assert payload["attribution"] == ""


@pytest.mark.parametrize("side", [1, -1])
def test_a_map_across_the_180th_meridian_goes_on(side: int) -> None:
    """Roads, route, pins and areas are beside each other, on the side of the route's middle."""
    graph = grid(4)
    assert graph.lon is not None and graph.streets is not None
    points = graph.streets.points.copy()
    points[:, 1] = (
        points[:, 1].astype(np.int64) + 1_730_000_000 - 45_000 + 1_800_000_000
    ) % 3_600_000_000 - 1_800_000_000
    lon = (graph.lon + 173 - 0.0045 + 180) % 360 - 180
    graph = Graph.from_csr(
        graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=lon, streets=replace(graph.streets, points=points)
    )
    with Router(graph, "dijkstra") as router:
        ends = [(46.0, 179.9957), (46.006, -179.9957)][::side]
        route, (area,) = router.route(*ends, steps=True), router.isochrones(ends[0], [10**5])
    drawn = Page(page(graph, route)).payload()
    reached = Page(isochrone_page(graph, [area])).payload()
    for payload in (drawn, reached):
        roads = np.concatenate([shapely.get_coordinates(line) for line in lines_of(payload)])
        rest = [decode_points(part["points"]) / payload["scale"] for part in payload.get("areas", ())]
        rest += [decode_points(payload["route"]) / payload["scale"]] if "route" in payload else []
        rest += [np.array([end[key] for end in payload["ends"]]) for key in ("at", "snapped")]
        rest += [np.reshape(payload.get("steps", ()), (-1, 2))]
        for found in (roads, *rest):
            assert (np.abs(np.abs(found[:, 1]) - 180) < 0.01).all()
            assert (np.sign(found[:, 1]) == np.sign(roads[0, 1])).all()
    assert len(decode(reached["areas"][0]["polygons"])) == 1


def test_a_graph_of_one_place(tmp_path: Path) -> None:
    graph = Graph.from_csr([0, 0], [], [], lat=[1.0], lon=[2.0])
    here = {"points": np.array([[1.0, 2.0]]), "weight": 0, "distance_m": 0.0, "duration_s": 0.0}
    write_map(tmp_path / "map.html", graph, a_route(grid(2), **here, origin=None, destination=None))
    payload = Page((tmp_path / "map.html").read_text("utf-8")).payload()
    assert payload["points"] == "" and payload["classes"] == [0] * 5


def test_what_cannot_be_drawn_or_written(tmp_path: Path) -> None:
    graph = grid(2)
    with pytest.raises(QueryError, match="graph has no coordinates"):
        page(Graph.from_edges([0], [1], [1]), a_route(graph, points=None))
    with pytest.raises(QueryError, match="route has no points"):
        page(graph, a_route(graph, points=None))
    with pytest.raises(QueryError, match=r"route\.points"):
        page(graph, a_route(graph, points=np.zeros((0, 2))))
    with pytest.raises(FormatError, match="cannot write"):
        write_map(tmp_path / "missing" / "map.html", graph, a_route(graph))


def test_the_page_loads_nothing() -> None:
    text = page(grid(3), a_route(grid(3)))
    found = Page(text)
    for tag, attributes in found.elements:
        assert "src" not in attributes and "srcset" not in attributes, tag
        if tag == "link":
            assert (attributes["href"] or "").startswith("data:")
    style = re.sub(r"(?s)/\*.*?\*/", "", "".join(found.texts["style"]))
    assert not re.search(r"url\((?!data:)|@import|//", style)
    scripts = "".join(found.texts["script"])
    loaders = r"\bfetch\s*\(|XMLHttpRequest|\bimport\s*\(|sourceMappingURL|WebSocket|sendBeacon|EventSource"
    assert not re.search(loaders, scripts)
    # Addresses are there to be followed by a reader, or name a namespace; nothing else is.
    addresses = set(re.findall(r"(?:https?:)?//[\w-]+(?:\.[\w-]+)+[\w/-]*", scripts))
    allowed = {"https://leafletjs.com", "https://www.openstreetmap.org/copyright", "http://www.w3.org/2000/svg"}
    assert addresses == allowed
    equivalents = {attributes.get("http-equiv"): attributes.get("content") for _, attributes in found.elements}
    policy = equivalents["Content-Security-Policy"] or ""
    assert "default-src 'none'" in policy and "http" not in policy


def test_the_page_is_well_formed() -> None:
    text = page(grid(3), a_route(grid(3)))
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.unbalanced == [] and found.open == []
    assert ("html", {"lang": "en"}) in found.elements
    assert any(a.get("name") == "viewport" for _, a in found.elements)
    assert "{{" not in re.sub(r"(?s)<script>.*?</script>", "", text)


def test_the_panel_says_what_there_is_to_say() -> None:
    panel = page(grid(3), a_route(grid(3))).split('<aside id="panel">')[1].split("</aside>")[0]
    text = re.sub(r"<[^>]+>", " ", panel)
    for words in ("Début → 46.0040, 7.0060", "46.00000, 7.00000", "1 h 23 min", "27.4 km", "0.84 ms"):
        assert words in text
    assert "llvmpipe (LLVM 15)" in text and "delta_step" in text
    assert "weight 49,800" in page(grid(3), a_route(grid(3), duration_s=None))
    assert "OpenStreetMap contributors" in Page(page(grid(3), a_route(grid(3)))).payload()["attribution"]


def test_names_stay_text() -> None:
    graph = grid(3, names=("", EVIL, "Þórsgata"))
    place = Place(46.0, 7.0, 46.0, 7.0, 3.0, EVIL)
    route = a_route(graph, device=EVIL, algorithm=EVIL, origin=place, destination=place)
    plain = Page(page(grid(3), a_route(grid(3))))
    for title in (None, EVIL):
        found = Page(page(graph, route, title=title))
        extra = len(found.elements) - len(plain.elements)
        # The destination's name comes with its coordinates below it.
        assert extra == 1 and found.unbalanced == []
        assert EVIL in "".join(found.texts["title"])
        payload = found.payload()
        assert payload["names"] == ["", EVIL, "Þórsgata"]
        assert payload["ends"][0]["name"] == EVIL
        assert "".join(found.texts["b"]).count(EVIL) == 2


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    graph = grid(2, names=("", b"caf\xe9".decode("utf-8", "surrogateescape")))
    write_map(tmp_path / "map.html", graph, a_route(graph))
    assert "caf?" in Page((tmp_path / "map.html").read_text("utf-8")).payload()["names"]


def test_only_names_that_are_seen_travel() -> None:
    graph = grid(3, names=("", "one", *[f"unseen {k}" for k in range(50)]))
    payload = Page(page(graph, a_route(graph))).payload()
    labels = decode(payload["labels"])
    assert len(labels) == sum(payload["classes"])
    assert set(labels.tolist()) | {0} == set(range(len(payload["names"])))
    assert len(payload["names"]) == 12


def test_figures_read_as_people_say_them() -> None:
    metres = [0, 640.4, 999.7, 27_412, 1_234_567]
    assert [format_distance(m) for m in metres] == ["0 m", "640 m", "1.0 km", "27.4 km", "1,235 km"]
    seconds = [0, 35, 59.6, 2580, 3599, 4980]
    words = ["0 s", "35 s", "1 min", "43 min", "1 h 0 min", "1 h 23 min"]
    assert [format_duration(s) for s in seconds] == words


def test_a_city_fits_into_a_small_page() -> None:
    graph = grid(120, shape_points=2)
    assert graph.streets is not None and len(graph.streets.points) > 100_000
    assert len(page(graph, a_route(graph)).encode()) < 1_200_000


def test_a_country_fits_into_a_small_page(tmp_path: Path) -> None:
    extract = DATA / "andorra-gh.osm.pbf"
    if not extract.exists():
        pytest.skip("the extract of Andorra is not beside the checkout")
    from vkssp.osm import read_extract

    graph = read_extract(extract)
    write_map(tmp_path / "map.html", graph, a_route(graph))
    assert (tmp_path / "map.html").stat().st_size < 600_000
    payload = Page((tmp_path / "map.html").read_text("utf-8")).payload()
    drawn, real = shapely.union_all(lines_of(payload)), shapely.union_all(street_lines(graph))
    assert shapely.hausdorff_distance(drawn, real) * METRES < 1.5 * maps.TOLERANCE_M
    assert len(set(payload["names"])) > 100 and sum(count > 0 for count in payload["classes"]) >= 3


def an_isochrone(limit: int, area: Any, **changes: Any) -> Isochrone:
    place = Place(46.0, 7.0, 46.0001, 7.0, 11.0, "Début")
    return Isochrone(
        **{"limit": limit, "seconds": limit / 10, "area": area, "road_m": 1234.0, "origin": place, **changes}
    )


def test_isochrones_on_a_map_hold_all_that_is_reached(tmp_path: Path) -> None:
    near = shapely.MultiPolygon([shapely.box(7.0, 46.0, 7.01, 46.01)])
    hole = shapely.Polygon(
        shapely.box(6.99, 45.99, 7.03, 46.02).exterior, [shapely.box(7.015, 46.0, 7.02, 46.01).exterior]
    )
    far = shapely.MultiPolygon([hole, shapely.box(7.1, 46.1, 7.2, 46.2)])
    found = [an_isochrone(6000, far), an_isochrone(3000, near)]
    text = isochrone_page(grid(4), found, facts={"Device": EVIL})
    seen = Page(text)
    assert seen.unbalanced == [] and seen.open == []
    payload = seen.payload()
    areas = []
    for area in payload["areas"]:
        points = decode_points(area["points"]) / payload["scale"]
        rings = iter(np.split(points[:, ::-1], np.cumsum(decode(area["rings"]))[:-1]))
        polygons = [[next(rings) for _ in range(count)] for count in decode(area["polygons"]).tolist()]
        areas.append(shapely.union_all([shapely.Polygon(outer, holes) for outer, *holes in polygons]))
    assert areas[0].symmetric_difference(near).area < 1e-9
    assert areas[1].symmetric_difference(far.difference(near)).area < 1e-9
    assert [end["letter"] for end in payload["ends"]] == ["A"] and len(
        {area["colour"] for area in payload["areas"]}
    ) == 2
    panel = re.sub(r"<[^>]+>", " ", text.split('<aside id="panel">')[1].split("</aside>")[0])
    assert panel.index("5 min") < panel.index("10 min") and "Reached from Début" in panel and "1.2 km of road" in panel
    write_isochrone_map(tmp_path / "map.html", grid(4), found)
    assert (tmp_path / "map.html").stat().st_size > 150_000


def test_isochrones_that_reach_nothing_or_begin_nowhere() -> None:
    empty = an_isochrone(10, shapely.MultiPolygon(), seconds=None)
    assert Page(isochrone_page(grid(2), [empty])).payload()["areas"][0]["points"] == ""
    for found in ([], [an_isochrone(10, shapely.MultiPolygon(), origin=None)]):
        with pytest.raises(QueryError, match="isochrones have no origin"):
            isochrone_page(grid(2), found)


def test_steps_and_via_points_on_a_map() -> None:
    graph, leg = grid(3), a_route(grid(3))
    step = Step("turn", "left", f"Turn left onto {EVIL}", EVIL, "", 5, None, 640.0, 9.0, 46.0, 7.003, 0, 1)
    here, last = Place(46.0, 7.003, 46.0, 7.003, 0.0), leg.destination
    assert leg.origin is not None and last is not None and leg.points is not None
    legs = [
        Leg(leg.nodes, leg.arcs, np.ones(2), 1, leg.points, 1.0, 1.0, *ends, steps=(step,))
        for ends in ((leg.origin, here), (here, last))
    ]
    text = page(graph, a_route(graph, legs=tuple(legs)))
    found = Page(text)
    payload = found.payload()
    assert found.unbalanced == []
    assert [(end["role"], end["letter"]) for end in payload["ends"]] == [("from", "A"), ("via", "1"), ("to", "B")]
    assert payload["steps"] == [[46.0, 7.003]] * 2 and sum(tag == "button" for tag, _ in found.elements) == 2
    assert "".join(found.texts["button"]).count(f"Turn left onto {EVIL}") == 2


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, to parse the script")
@pytest.mark.parametrize("name", VALUE_SCRIPTS)
def test_the_script_can_be_read(name: str) -> None:
    script = Path(maps.__file__).with_name(name)
    subprocess.run(["node", "--check", str(script)], check=True, timeout=60)
