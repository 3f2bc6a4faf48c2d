"""Pages of values: each row has its class and its place, and names cannot break out of the page."""

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

from tests.support.pages import EVIL, Page, decode, decode_points, grid, lines_of
from vkssp.errors import FormatError, QueryError
from vkssp.features.classes import MOST_CLASSES, classes_of
from vkssp.graph import Graph
from vkssp.routing import network as maps
from vkssp.routing.value_map import value_page, write_value_map

nan = float("nan")


def floats(column: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    kind = "<f8" if column["wide"] else "<f4"
    return np.frombuffer(base64.b64decode(column["values"]), kind).astype(np.float64)


def payload_of(graph: Graph, columns: Any, **more: Any) -> Any:
    return Page(value_page(graph, columns, **more)).payload()


def numbers_of(payload: Any) -> tuple[Any, Any]:
    """Return the places of the points that are marked, in degrees, and the number of each one's place."""
    numbers: list[int] = []
    for back in decode(payload["values"]["places"]).tolist():
        begun = max(numbers, default=-1) + 1
        numbers.append(begun - back if back else begun)
    marks = np.cumsum(decode(payload["values"]["marks"]))
    return decode_points(payload["points"])[marks] / payload["scale"], np.array(numbers)


def legend_of(text: str) -> list[list[tuple[str, int]]]:
    """Return the labels and counts of each column's classes."""
    item = re.compile(r"<b>([^<]*)</b><span[^>]*>([\d,]+)</span>")
    return [
        [(label, int(count.replace(",", ""))) for label, count in item.findall(part.split("</ol>")[0])]
        for part in text.split('<ol class="legend"')[1:]
    ]


def at_nodes(graph: Graph, payload: Any, column: int = 0) -> tuple[Any, Any]:
    """Return the value and the class of each node, by where the page has them."""
    places, numbers = numbers_of(payload)
    assert graph.lat is not None and graph.lon is not None
    of = {tuple(np.rint(place * 1e6)): number for place, number in zip(places, numbers, strict=True)}
    found = [of[lat, lon] for lat, lon in zip(np.rint(graph.lat * 1e6), np.rint(graph.lon * 1e6), strict=True)]
    one = payload["values"]["columns"][column]
    return floats(one)[found], decode(one["classes"])[found]


def test_streets_have_the_values_of_their_nodes() -> None:
    graph, random = grid(12), np.random.default_rng(1)
    values = random.lognormal(0, 3, 144)
    values[random.choice(144, 30, replace=False)] = [0] * 20 + [nan] * 5 + [np.inf] * 5
    text = value_page(graph, {"one": values, "two": np.arange(144)})
    payload = Page(text).payload()
    assert payload["values"]["kind"] == "streets" and sum(payload["classes"]) == len(lines_of(payload))
    for number, given in enumerate([values, np.arange(144.0)]):
        known = np.isfinite(given)
        found, classes = at_nodes(graph, payload, number)
        np.testing.assert_allclose(found[known], given[known], rtol=1e-7)
        assert (np.isfinite(found) == known).all() and ((classes == 0) == ~known).all()
        legend = dict(enumerate(legend_of(text)[number], 1))
        for one, (label, count) in legend.items():
            members = given[classes == one] if label != "no value" else given[classes == 0]
            assert count == len(members)
            if label != "no value":
                low, _, high = label.replace(",", "").partition(" to ")
                np.testing.assert_allclose([float(low), float(high or low)], [members.min(), members.max()], rtol=6e-3)
        # No value of a class is beyond one of the next.
        edges = [edge for one in range(1, classes.max() + 1) for edge in np.sort(given[classes == one])[[0, -1]]]
        assert (np.diff(edges) >= 0).all() and sum(count for _, count in legend.values()) == 144
    assert legend_of(text)[0][0] == ("0", 20) and legend_of(text)[0][-1] == ("no value", 10)
    assert payload["values"]["columns"][0]["colours"] == list(range(MOST_CLASSES))


def test_classes_have_equally_many_rows() -> None:
    random = np.random.default_rng(2)
    for size in (7, 700, 12345):
        values = random.normal(size=size)
        number = classes_of(values).numbers(values)
        assert np.ptp(np.bincount(number)) <= 1 and len(np.bincount(number)) == MOST_CLASSES
        expected = np.empty(size, np.int64)
        expected[np.argsort(values)] = np.arange(size) * MOST_CLASSES // size
        assert np.abs(number - expected).max() <= 1 and (number != expected).mean() < 0.01


def class_sizes(values: Any) -> list[tuple[float, float, int]]:
    values = np.asarray(values, np.float64)
    classes = classes_of(values)
    count = np.bincount(classes.numbers(values) + 1, minlength=1)[1:]
    return list(zip(classes.low.tolist(), classes.high.tolist(), count.tolist(), strict=True))


def test_equal_values_are_in_one_class() -> None:
    assert class_sizes([5, 5, 5]) == [(5, 5, 3)]
    assert class_sizes([]) == class_sizes([nan, np.inf]) == []
    assert class_sizes([0.0, -0.0, 1, 1, 9]) == [(0, 0, 2), (1, 1, 2), (9, 9, 1)]
    # Zeros are frequent, and the others share what is left.
    assert class_sizes([0] * 500 + list(range(1, 61)))[:2] == [(0, 0, 500), (1, 10, 10)]
    assert class_sizes([0] * 2 + list(range(1, 139)))[0] == (0, 18, 20)
    # So is a value in the middle, or at the end.
    middle = class_sizes([*range(-30, 0), *[0] * 50, *range(1, 31)])
    assert (0, 0, 50) in middle and [count for low, _, count in middle if low] == [10] * 6
    assert class_sizes([*range(60), *[99] * 60])[-2:] == [(50, 59, 10), (99, 99, 60)]
    random = np.random.default_rng(3)
    for _ in range(200):
        values = random.integers(0, random.integers(1, 40), random.integers(0, 200)) ** random.integers(1, 4)
        sizes = class_sizes(values)
        lows, highs = [low for low, _, _ in sizes], [high for _, high, _ in sizes]
        assert len(sizes) == min(len(sizes), MOST_CLASSES, len(np.unique(values)))
        for low, high, count in sizes:
            assert count == ((values >= low) & (values <= high)).sum() > 0
        assert all(high < low for high, low in zip(highs, lows[1:], strict=False)) and sum(
            count for *_, count in sizes
        ) == len(values)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2, 2.5], ["1", "2", "2.5"]),
        ([1000.1, 1000.2, 1e15, -3], ["-3", "1,000.1", "1,000.2", "1.0000e+15"]),
        (range(14_000), ["0 to 1,999", "2,000 to 3,999", "4,000 to 5,999"]),
        ([1e-9, 2e-9], ["1.00e-09", "2.00e-09"]),
        ([0, 2e-5, 1e-4, 3.0], ["0", "2.00e-05", "1.00e-04", "3.00e+00"]),
        ([0.0002, 0.001], ["0.0002", "0.001"]),
    ],
)
def test_labels_tell_classes_apart(values: Any, labels: list[str]) -> None:
    assert classes_of(np.asarray(values, np.float64)).labels()[: len(labels)] == labels


def line_of_nodes(lon: Any) -> Graph:
    """Return a graph of nodes on a line, each with arcs to and from the next."""
    ids = np.arange(len(lon) - 1)
    return Graph.from_edges(ids, ids + 1, np.ones(len(ids)), undirected=True, lat=np.ones(len(lon)), lon=lon)


def test_nodes_at_one_place_show_the_mean_of_those_with_a_value() -> None:
    graph = line_of_nodes([0, 1, 1, 1, 2, 3])
    text = value_page(graph, {"v": [nan, 1, nan, 4, 0.1, 0.1]})
    payload = Page(text).payload()
    value, number = at_nodes(graph, payload)
    np.testing.assert_allclose(value, [nan, 2.5, 2.5, 2.5, 0.1, 0.1], rtol=1e-6)
    assert number.tolist() == [0, 2, 2, 2, 1, 1]
    # A row without a value is counted as such, wherever it is.
    assert legend_of(text) == [[("0.1", 2), ("2.5", 2), ("no value", 2)]]


def test_nodes_apart_are_dots() -> None:
    graph = grid(20, names=("",))
    assert graph.lat is not None and graph.lon is not None
    apart = np.arange(0, 400, 7)
    payload = payload_of(graph, {"v": apart}, nodes=apart)
    assert payload["values"]["kind"] == "dots" and len(lines_of(payload)) == 40
    points = decode_points(payload["values"]["points"]) / payload["scale"]
    column = payload["values"]["columns"][0]
    np.testing.assert_allclose(points[:, 0], graph.lat[floats(column).astype(int)], rtol=0, atol=6e-7)
    np.testing.assert_allclose(points[:, 1], graph.lon[floats(column).astype(int)], rtol=0, atol=6e-7)
    assert sorted(floats(column)) == apart.tolist()
    # A quarter of the map that is whole has streets, and the page begins there.
    quarter = np.flatnonzero((graph.lat < 46.019) & (graph.lon < 7.028))
    payload = payload_of(graph, {"v": quarter}, nodes=quarter)
    value, number = at_nodes(graph, payload)
    assert payload["values"]["kind"] == "streets" and (np.isfinite(value) == np.isin(np.arange(400), quarter)).all()
    assert ((number == 0) == np.isnan(value)).all()
    np.testing.assert_allclose(payload["extent"], [[46, 7], [46.018, 7.027]], atol=1e-6)


def rows_of_polygons(payload: Any) -> list[Any]:
    """Return the area of each row."""
    points = decode_points(payload["values"]["points"])[:, ::-1] / payload["scale"]
    rings = iter(np.split(points, np.cumsum(decode(payload["values"]["rings"]))[:-1]))
    polygons = iter([[next(rings) for _ in range(k)] for k in decode(payload["values"]["polygons"]).tolist()])
    parts = [[next(polygons) for _ in range(k)] for k in decode(payload["values"]["parts"]).tolist()]
    return [shapely.union_all([shapely.Polygon(outer, holes) for outer, *holes in part]) for part in parts]


def test_polygons_and_points_are_where_they_were_given() -> None:
    box = shapely.box(7.0, 46.0, 7.01, 46.01)
    hole = shapely.Polygon(
        shapely.box(7.02, 46.0, 7.05, 46.03).exterior, [shapely.box(7.03, 46.01, 7.04, 46.02).exterior]
    )
    shapes = [box.reverse(), shapely.MultiPolygon([hole, shapely.box(7.06, 46.0, 7.07, 46.01)]), box]
    payload = payload_of(grid(4), {"v": [3, nan, 1]}, shapes=shapes)
    found = rows_of_polygons(payload)
    assert all(one.symmetric_difference(given).area < 1e-12 for one, given in zip(found, shapes, strict=True))
    assert decode(payload["values"]["columns"][0]["classes"]).tolist() == [2, 0, 1]
    # In one path, which is filled where rings wind around a point, holes run against their exteriors.
    rings = decode_points(payload["values"]["points"])
    first = np.split(rings, np.cumsum(decode(payload["values"]["rings"]))[:-1])
    assert [shapely.is_ccw(shapely.LinearRing(ring[:, ::-1])) for ring in first] == [True, True, False, True, True]
    points = shapely.points([[7.1234567, 46.0], [-1.5, -89.9]])
    payload = payload_of(grid(4), {"v": [1e300, 1e-300]}, shapes=points)
    assert decode_points(payload["values"]["points"]).tolist() == [[46_000_000, 7_123_457], [-89_900_000, -1_500_000]]
    assert floats(payload["values"]["columns"][0]).tolist() == [1e300, 1e-300]


def lines_of_rows(payload: Any) -> list[Any]:
    """Return the lines of each row."""
    points = decode_points(payload["values"]["points"])[:, ::-1] / payload["scale"]
    lines = iter(np.split(points, np.cumsum(decode(payload["values"]["lines"]))[:-1]))
    return [[next(lines) for _ in range(k)] for k in decode(payload["values"]["parts"]).tolist()]


def test_lines_are_where_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    bent = shapely.LineString([(7.0, 46.0), (7.01, 46.00001), (7.02, 46.0), (7.02, 46.01)])
    two = shapely.MultiLineString([[(7.03, 46.0), (7.04, 46.01)], [(7.05, 46.0), (7.06, 46.01)]])
    text = value_page(grid(4), {"v": [3, nan]}, shapes=[bent, two])
    payload = Page(text).payload()
    assert payload["values"]["kind"] == "lines" and legend_of(text) == [[("3", 1), ("no value", 1)]]
    expected = [[shapely.get_coordinates(bent)], [shapely.get_coordinates(one) for one in two.geoms]]
    for found, given in zip(lines_of_rows(payload), expected, strict=True):
        np.testing.assert_allclose(np.concatenate(found), np.concatenate(given), atol=6e-7)
        assert len(found) == len(given)
    # Of many points those within a tolerance of the line without them are left out.
    monkeypatch.setattr("vkssp.routing.value_map.SIMPLIFY_ABOVE", 5)
    (found,), _ = lines_of_rows(payload_of(grid(4), {"v": [3, nan]}, shapes=[bent, two]))
    np.testing.assert_allclose(found, shapely.get_coordinates(bent)[[0, 2, 3]], atol=6e-7)


def test_a_map_of_values_across_the_180th_meridian_goes_on() -> None:
    lon = (np.linspace(179.7, 180.5, 9) + 180) % 360 - 180
    graph = line_of_nodes(lon)
    streets = payload_of(graph, {"v": np.arange(9)})
    dots = payload_of(graph, {"v": [1, 2, 3]}, nodes=[0, 4, 8])
    across = shapely.Polygon([(179.9, 0), (-179.9, 0), (-179.9, 1), (179.9, 1)])
    west, east = shapely.box(179.7, 0, 179.8, 1), shapely.box(-179.8, 0, -179.7, 1)
    areas = payload_of(graph, {"v": [1, 2, 3]}, shapes=[across, west, east])
    crossing = shapely.LineString([(179.9, 0), (-179.9, 0)]), shapely.LineString([(-179.8, 0), (-179.7, 1)])
    lines = payload_of(graph, {"v": [1, 2]}, shapes=crossing)
    pages = streets, dots, areas, lines
    drawn = [np.concatenate([shapely.get_coordinates(line) for line in lines_of(one)]) for one in pages]
    drawn += [decode_points(one["values"]["points"]) / one["scale"] for one in pages[1:]]
    for points in (*drawn, *(np.array(one["extent"]) for one in pages)):
        assert np.ptp(points[:, 1]) < 1 and (np.abs(np.abs(points[:, 1]) - 180) < 0.6).all()
    assert [round(area.area, 6) for area in rows_of_polygons(areas)] == [0.2, 0.1, 0.1]
    places, numbers = numbers_of(streets)
    found = floats(streets["values"]["columns"][0])[numbers][np.argsort(places[:, 1], kind="stable")]
    assert list(dict.fromkeys(found.tolist())) == list(range(9)) and len(found) == 16


def test_large_networks_keep_the_places_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(8, shape_points=40, names=("",))
    whole = payload_of(graph, {"v": np.arange(64)})
    monkeypatch.setattr(maps, "SIMPLIFY_ABOVE", 100)
    monkeypatch.setattr(maps, "TOLERANCE_M", 500.0)
    payload = payload_of(graph, {"v": np.arange(64)})
    # Nothing but the nodes: eight on each of sixteen streets.
    assert decode(payload["counts"]).tolist() == [8] * 16 and decode(whole["counts"]).sum() > 4000
    assert at_nodes(graph, payload)[0].tolist() == at_nodes(graph, whole)[0].tolist() == list(range(64))
    # The slower streets, half of all, do not fit. Their rows count all the same.
    monkeypatch.setattr(maps, "MAX_POINTS", 64)
    text = value_page(graph, {"v": np.arange(64)}, nodes=np.arange(64))
    payload = Page(text).payload()
    assert decode(payload["counts"]).tolist() == [8] * 8 and at_nodes(graph, payload)[0].tolist() == list(range(64))
    assert sum(count for _, count in legend_of(text)[0]) == 64


def test_the_first_view_leaves_out_a_few_places_far_away() -> None:
    random = np.random.default_rng(5)
    lon = np.concatenate([[-5.0, 12.0], random.uniform(7, 8, 500)])
    view = np.array(payload_of(line_of_nodes(lon), {"v": np.arange(502)})["extent"])
    assert 6.8 < view[0, 1] < 7.05 and 7.95 < view[1, 1] < 8.2
    # Where no place lies apart, all are in view.
    for some in (lon[2:], lon[:3]):
        view = np.array(payload_of(line_of_nodes(some), {"v": np.arange(len(some))})["extent"])
        np.testing.assert_allclose(view[:, 1], [some.min(), some.max()], atol=1e-6)


def test_names_of_columns_stay_text() -> None:
    plain = Page(value_page(grid(3), {"one": np.arange(9), "two": np.arange(9)}))
    text = value_page(grid(3), {EVIL: np.arange(9), "{{title}}": np.arange(9)}, facts={EVIL: EVIL}, title=EVIL)
    found = Page(text)
    # Only the name and the text of the fact are more.
    assert len(found.elements) == len(plain.elements) + 2 and found.unbalanced == [] and found.open == []
    assert [column["name"] for column in found.payload()["values"]["columns"]] == [EVIL, "{{title}}"]
    assert found.texts["option"] == [EVIL, "{{title}}"] and "".join(found.texts["title"]) == EVIL
    assert [attributes.get("class") for tag, attributes in found.elements if "hidden" in attributes] == ["legend"]
    assert "one" in Page(value_page(grid(3), {"one": np.arange(9)})).texts["h1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"columns": {}}, r"columns is empty; give at least one"),
        ({"columns": [1, 2]}, r"columns is \[1, 2\]; give a mapping"),
        ({"columns": {3: [1] * 9}}, r"columns has the name 3; give texts"),
        ({"columns": {"a": ["x"] * 9}}, r"columns\['a'\] is no array of numbers.*; give numbers"),
        ({"columns": {"a": [True] * 9}}, r"columns\['a'\] .* dtype bool; give numbers"),
        ({"columns": {"a": [1] * 9, "b": [1] * 8}}, r"columns\['b'\] has 8 values for 9 nodes; give one for each"),
        ({"nodes": [0, 1]}, r"columns\['a'\] has 9 values for 2 nodes"),
        ({"nodes": [9] * 9}, r"nodes\[0\] is 9; node ids of this graph go from 0 to 8"),
        ({"nodes": [], "columns": {"a": []}}, r"there are no nodes to draw; give at least one"),
        ({"shapes": [], "columns": {"a": []}}, r"there are no shapes to draw"),
        ({"nodes": [0] * 9, "shapes": [shapely.Point(0, 0)] * 9}, r"nodes and shapes are both given; give the one"),
        ({"shapes": shapely.Point(0, 0)}, r"shapes is a shapely Point; give a list"),
        ({"shapes": [1, 2]}, r"shapes has dtype int64; give shapely points"),
        ({"shapes": [None]}, r"shapes\[0\] is None; give shapely points only, lines only, or polygons only"),
        ({"shapes": [shapely.Point(0, 0), shapely.box(0, 0, 1, 1)]}, r"shapes\[1\] is a shapely Polygon; give"),
        ({"shapes": [shapely.LinearRing([(0, 0), (1, 1), (0, 1)])]}, r"shapes\[0\] is a shapely LinearRing; give"),
        (
            {"shapes": [shapely.LineString([(0, 0), (1, 1)]), shapely.Point(0, 0)]},
            r"shapes\[1\] is a shapely Point; give",
        ),
        ({"shapes": [shapely.Point(0, 0), shapely.Point()]}, r"shapes\[1\] is empty; leave it out, or give a shape"),
        (
            {"shapes": [shapely.Point(0, 46), shapely.Point(46, 91)]},
            r"shapes\[1\] has x 46.0 and y 91.0; give longitude",
        ),
        ({"graph": Graph.from_edges([0], [1], [1])}, r"graph has no coordinates"),
        ({"graph": Graph.from_csr([0], [], [], lat=[], lon=[]), "columns": {"a": []}}, r"there are no nodes"),
        ({"facts": ["a"]}, r"facts is \['a'\]; give a mapping"),
        ({"title": 3}, r"title is 3; give a text"),
    ],
)
def test_what_cannot_be_drawn(tmp_path: Path, arguments: Any, words: str) -> None:
    with pytest.raises(QueryError, match=f"^{words}"):
        write_value_map(tmp_path / "map.html", **{"graph": grid(3), "columns": {"a": np.arange(9)}, **arguments})
    assert not list(tmp_path.iterdir())


def test_the_file_is_a_page_that_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "map.html"
    write_value_map(path, grid(3), {"v": np.arange(9)}, facts={"Device": "cpu"})
    found = Page(path.read_text("utf-8"))
    assert found.unbalanced == [] and found.open == [] and "cpu" in found.texts["dd"]
    assert not any({"src", "href"} & set(attributes) for tag, attributes in found.elements if tag != "link")
    assert "class Values" in "".join(found.texts["script"])
    with pytest.raises(FormatError, match=r"must end in \.html or \.htm"):
        write_value_map(tmp_path / "map.geojson", grid(3), {"v": np.arange(9)})


#: As much of Leaflet as the classes of the page need when they are made.
LEAFLET = """
const extend = (base) => (members) => {
  const made = function (...given) { if (this.initialize) this.initialize(...given); };
  made.prototype = Object.assign(Object.create(base.prototype), members);
  made.extend = extend(made);
  return made;
};
function Renderer() {}
Renderer.prototype.initialize = function () {};
Renderer.extend = extend(Renderer);
const L = { Renderer };
"""


def run_scripts(text: str, program: str) -> Any:
    """Return what a program prints as JSON, after the classes of a page are defined; `payload` is the page's data."""
    scripts = re.findall(r"(?s)<script[^>]*>(.*?)</script>", text)
    decoder = next(script for script in scripts if "function decode(" in script)
    classes = next(script for script in scripts if "const Roads" in script).split("const payload = JSON.parse")[0]
    before = f"{LEAFLET}{decoder}" + classes.replace('"use strict";', "")
    whole = f"{before}\nconst payload = {json.dumps(Page(text).payload())};\n{program}"
    answer = subprocess.run(["node", "-e", whole], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(answer.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, to run the page's own script")
def test_the_script_finds_the_nearest_line() -> None:
    lines = [shapely.LineString([(0, 0), (4, 0)]), shapely.LineString([(0, 0), (0, 9), (4, 9)])]
    text = value_page(line_of_nodes(np.arange(6.0)), {"v": [1, 2]}, shapes=lines)
    at = run_scripts(
        text,
        """
    const lines = new Lines(payload), column = payload.values.columns[0];
    lines.show({ ...column, classes: decode(column.classes) });
    const y = (lat) => toMercator([lat, 0])[1] * 4096;
    lines._map = { getZoom: () => 4, project: ({ lng, lat }) => ({ x: (lng / 360 + 0.5) * 4096, y: y(lat) }) };
    const places = [[3, 0.1], [0.1, 3], [4.2, 9.1], [0, 0], [2, 4]];
    console.log(JSON.stringify(places.map(([lng, lat]) => lines.itemAt({ lng, lat }))));
    """,
    )
    assert at == [0, 1, 1, 1, -1]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, to run the page's own script")
def test_the_script_colours_half_of_each_street() -> None:
    """Colours change half way between nodes of different classes; the value there is that of the nearer node."""
    graph = replace_points(line_of_nodes(np.arange(6.0)))
    text = value_page(graph, {"v": [1, 1, 2, 3, nan, 3]})
    at, changes, begin, far = run_scripts(
        text,
        """
    const streets = new Streets(payload), column = payload.values.columns[0];
    const values = decodeFloats(column.values, column.wide);
    streets.show({ ...column, classes: decode(column.classes) });
    streets._map = { getZoom: () => 4, project: ({ lng, lat }) => ({ x: (lng / 360 + 0.5) * 4096, y: lat }) };
    const y = streets._world[1] * 4096;
    const at = [0, 1.4, 1.6, 2.4, 2.6, 3.4, 3.6, 4.4, 4.6, 5].map((lng) => values[streets.itemAt({ lng, lat: y })]);
    const changes = streets._changes.map((one) => [(one.x - 0.5) * 360, one.to]);
    console.log(JSON.stringify([at, changes, Array.from(streets._begin), streets.itemAt({ lng: 2, lat: y + 20 })]));
    """,
    )
    assert at == [1, 1, 2, 2, 3, 3, None, None, 3, 3] and far == -1
    line = changes if begin[0] == 1 else changes[::-1]
    np.testing.assert_allclose([lon for lon, _ in line], [1.5, 2.5, 3.5, 4.5], atol=1e-6)
    assert [number for _, number in changes] == ([2, 3, 0, 3] if begin[0] == 1 else [0, 3, 2, 1])


def replace_points(graph: Graph) -> Graph:
    """Return a graph with streets of one name, so that they are joined to one line."""
    points = np.rint(np.stack([graph.lat, graph.lon], axis=1) * 1e7).astype(np.int32)  # type: ignore[arg-type,list-item]
    line = np.minimum(graph.tail, graph.head)
    template = grid(2).streets
    assert template is not None
    lines = len(points) - 1
    streets = replace(
        template,
        length=np.full(graph.num_arcs, 1e5, np.float32),
        way=np.ones(graph.num_arcs, np.int64),
        carried=np.zeros(graph.num_arcs, np.bool_),
        name=np.zeros(graph.num_arcs, np.uint32),
        polyline=line.astype(np.uint32),
        backward=graph.tail > graph.head,
        polyline_first=np.arange(0, 2 * lines + 1, 2).astype(np.uint32),
        points=points[np.stack([np.arange(lines), np.arange(lines) + 1], axis=1).ravel()],
    )
    return Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)
