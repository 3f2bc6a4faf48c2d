"""Drawings for notebooks: where shapes lie, which colours they have, and that nothing in them is obeyed."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely

from tests.support.streetmaps import UNIT, street_map
from vkssp import Features, Graph, Router, Solver
from vkssp.graph.geo import haversine

SQUARE = street_map([(0, 0), (0, 9), (9, 9), (9, 0)], [(0, 1, 10), (1, 2, 10, [(0, 2)]), (2, 3, 10)])
A, B = (0.0, UNIT), (9 * UNIT, UNIT)


def tree(drawing: str | None) -> ElementTree.Element:
    """Return a drawing as XML, which has no named entities."""
    assert drawing is not None
    return ElementTree.fromstring(drawing)


def subpaths(drawing: str | None, colour: str) -> list[np.ndarray]:
    """Return the points, in tenths of pixels, of the lines of the paths that have a colour."""
    found = []
    for path in tree(drawing).iter("{http://www.w3.org/2000/svg}path"):
        if path.get("stroke") == colour:
            for line in (path.get("d") or "").split("M")[1:]:
                first, _, rest = line.replace("h0", "").partition("l")
                steps = np.array([*map(int, first.split()), *map(int, rest.split())]).reshape(-1, 2)
                found.append(np.cumsum(steps, axis=0))
    return found


def test_a_drawing_is_to_scale_and_its_bar_tells_the_scale() -> None:
    corners = np.array([(60.0, 10.0), (60.0, 10.2), (60.05, 10.2), (60.05, 10.0)])
    drawn = Features({}, [shapely.LineString(corners[:, ::-1])])._repr_html_()
    (points,) = subpaths(drawn, "#2a6fdb")
    pixels = np.linalg.norm(np.diff(points, axis=0), axis=1)
    metres = haversine(*corners[:-1].T, *corners[1:].T)
    assert pixels[1] / pixels[0] == pytest.approx(metres[1] / metres[0], rel=5e-3)
    assert points[0][0] < points[1][0] and points[2][1] < points[1][1], "east is right and north is up"
    (bar,) = re.findall(r'h(\d+)v-40"', drawn or "")
    (length,) = re.findall(r">(\d+) km</text>", drawn or "")
    assert int(length) * 1000 / int(bar) == pytest.approx(metres[0] / pixels[0], rel=5e-3)


def test_shapes_on_both_sides_of_the_180th_meridian_are_close() -> None:
    drawn = Features({}, shapely.points([(179.9, 0.0), (-179.9, 0.0), (180.0, 0.1)]))._repr_html_()
    west, east, middle = (points[0] for points in subpaths(drawn, "#c8322d"))
    assert west[0] < middle[0] < east[0] and east[0] - west[0] == pytest.approx(2 * (west[1] - middle[1]), abs=3)


def test_values_have_classes_in_the_legend_and_no_value_is_grey() -> None:
    places = [(0.0, lon) for lon in range(6)]
    text = tree(Features.of_places(places, {"jobs": [5, 0, None, 5, 300, 0]})._repr_html_())
    spans = ["".join(span.itertext())[2:] for span in text.iter("span") if "white-space" in span.get("style", "")]
    assert spans == ["none", "jobs: 0", "5", "300"]
    drawn = Features.of_places(places, {"jobs": [5, 0, None, 5, 300, 0]})._repr_html_()
    assert len(subpaths(drawn, "#999999")) == 1
    assert "<span" not in (Features.of_places(places)._repr_html_() or ""), "ids are no values"


def test_a_given_colour_is_used_and_anything_else_is_not() -> None:
    places = [(0.0, 0.0), (0.0, 1.0)]
    assert len(subpaths(Features.of_places(places, {"stroke": ["#123abc", "#123abc"]})._repr_html_(), "#123abc")) == 2
    forged = '"/><script>alert(1)</script>'
    drawn = Features.of_places(places, {"stroke": ["#123abc", forged]})._repr_html_() or ""
    assert "script" not in drawn
    drawn = Features.of_places(places, {"label": [forged, "b"]}, name=forged)._repr_html_() or ""
    assert forged not in drawn and drawn.count(html.escape(forged)) >= 2
    tree(drawn)


def test_a_drawing_of_many_shapes_has_a_part_of_them() -> None:
    rng = np.random.default_rng(1)
    drawn = Features({}, shapely.points(rng.random((50_000, 2))))._repr_html_() or ""
    assert "One in 3 of 50,000 shapes is drawn." in drawn and len(drawn) < 500_000
    walks = rng.normal(size=(100, 2000, 2)).cumsum(axis=1) / 1e4
    drawn = Features({}, shapely.linestrings(walks))._repr_html_() or ""
    assert re.search(r"One in [23] of 100 shapes is drawn\.", drawn) and len(drawn) < 1_000_000


@pytest.mark.parametrize("shapes", [None, [], [None], [shapely.Polygon()]])
def test_nothing_to_draw_is_no_drawing(shapes: list[object] | None) -> None:
    assert Features({"a": [] if shapes is None else [1] * len(shapes)}, shapes)._repr_html_() is None


def test_a_single_point_and_an_area_with_a_hole_are_drawn() -> None:
    assert len(subpaths(Features.of_places([(42.5, 1.5)])._repr_html_(), "#c8322d")) == 1
    ring = shapely.Point(0, 0).buffer(1).difference(shapely.Point(0, 0).buffer(0.5))
    assert len(subpaths(Features({}, [ring])._repr_html_(), "#2a6fdb")) == 2


def test_results_of_a_router_are_drawn_over_their_places() -> None:
    with Router(SQUARE, device="cpu") as router:
        route = router.route(A, B)
        isochrone = router.isochrones(A, [1, 2])[1]
        areas, cells = router.service_areas([A, B]), router.grid(200)
    (line,) = subpaths(route._repr_html_(), "#2a6fdb")
    dots = [points[0] for name in ("#440154", "#9bd93c") for points in subpaths(route._repr_html_(), name)]
    assert np.abs(line[[0, -1]] - dots).max() <= 1
    assert "Route(" in (route._repr_html_() or "") and "Leg(" in (route.legs[0]._repr_html_() or "")
    assert len(subpaths(isochrone._repr_html_(), "#c8322d")) == 1
    assert len(subpaths(cells._repr_html_(), "#2a6fdb")) == len(cells)
    for colour in areas.features("sources").columns["stroke"]:
        assert len(subpaths(areas._repr_html_(), colour)) >= 2, "a place and its streets"


def test_routes_without_coordinates_have_no_drawing() -> None:
    with Solver(Graph.from_edges([0], [1], [7]), device="cpu") as solver:
        route = solver.path(0, 1)
    assert route._repr_html_() is None and repr(route) == "Route(weight 7, 2 nodes)"
