"""Map pages of isochrones, and of routes with steps and via points."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.pages import EVIL, Page, a_route, decode, decode_points, grid
from vkssp.errors import QueryError
from vkssp.route import Leg, Place, Step
from vkssp.routing import network as maps
from vkssp.routing.isochrone import Isochrone
from vkssp.routing.map import isochrone_page, page, write_isochrone_map


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
        with pytest.raises(QueryError, match="isochrones do not say where they begin"):
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
def test_the_script_can_be_read() -> None:
    script = Path(maps.__file__).with_name("map.js")
    subprocess.run(["node", "--check", str(script)], check=True, timeout=60)
