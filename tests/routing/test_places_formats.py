"""Places and areas in files of maps, and in tables of other libraries: the same as lists of pairs."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import polars
import pyarrow
import pytest
import shapely

from tests.support.streetmaps import street_map
from vkssp import Features, FormatError, QueryError, Router
from vkssp.routing.areas import read_areas
from vkssp.routing.places_file import read_ends

FILES = (".gpkg", ".fgb", ".shp", ".shp.zip", ".parquet")
PLACES = [(0.0001, 0.0002), (0.0009, 0.0001), (0.0001, 0.0008)]
FRAME = geopandas.GeoDataFrame(
    {"id": ["a", "é", "c"], "Jobs": [3, 4, 5]},
    geometry=[shapely.Point(lon, lat) for lat, lon in PLACES],
    crs="EPSG:4326",
)


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame by geopandas, whose Parquet files have a writer of their own."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.name.endswith(".shp.zip"):
        frame.to_file(path, driver="ESRI Shapefile")
    else:
        frame.to_file(path)


def same(found: Any) -> bool:
    """Return whether places are those, in any order: FlatGeobuf sorts them along a curve."""
    return sorted((round(lat, 7), round(lon, 7)) for lat, lon in found) == sorted(PLACES)


@pytest.mark.parametrize("system", ["EPSG:4326", "EPSG:32631", "EPSG:3857", "EPSG:4258", None])
@pytest.mark.parametrize("ending", FILES)
@pytest.mark.filterwarnings("ignore:.*CRS was not provided:UserWarning", "ignore:'crs' was not provided:UserWarning")
def test_points_in_any_coordinate_system(tmp_path: Path, ending: str, system: str | None) -> None:
    path = tmp_path / f"p{ending}"
    frame = FRAME.set_crs(None, allow_override=True) if system is None else FRAME.to_crs(system)
    write_frame(frame, path)
    ends = read_ends(path, ["Jobs"])
    assert ends.places is not None and same(ends.places)
    by_place = dict(zip([round(lat, 6) for lat, _ in ends.places], ends.ids, strict=True))
    assert by_place[0.0009] == "é" and sorted(ends.columns["Jobs"].tolist()) == [3, 4, 5]


@pytest.mark.parametrize("ending", [".gpx", ".kml"])
def test_points_of_gpx_and_kml_are_called_by_their_names(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"p{ending}"
    Features.of_places(PLACES, ids=["a", "é", "c"]).write(path)
    ends = read_ends(path)
    assert ends.ids == ["a", "é", "c"] and same(ends.places)


@pytest.mark.parametrize("ending", FILES)
def test_areas(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    areas = [shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)]
    write_frame(geopandas.GeoDataFrame({"jobs": [3, 4]}, geometry=areas, crs=4326).to_crs(3857), path)
    ends = read_ends(path, ["jobs"], areas=True)
    assert ends.shapes is not None and ends.places is not None
    assert all(
        shape.covers(shapely.Point(lon, lat)) for shape, (lat, lon) in zip(ends.shapes, ends.places, strict=True)
    )
    union = read_areas(path)
    assert union.equals_exact(shapely.union_all(areas), 1e-7, normalize=True) and union.geom_type == "MultiPolygon"
    frame = geopandas.GeoDataFrame(geometry=areas, crs=4326)
    for given in (frame, frame.to_crs(3857), frame.geometry.to_crs(3857)):
        assert read_areas(given).equals_exact(union, 1e-7, normalize=True)
    with pytest.raises(FormatError, match=r"no layer of Point|row 0 has no point, but Polygon"):
        read_ends(path)


def test_of_several_layers_the_one_with_points_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.gpkg"
    lines = geopandas.GeoDataFrame(geometry=[shapely.LineString([(0, 0), (1, 1)])], crs=4326)
    lines.to_file(path, layer="lines")
    FRAME.to_file(path, layer="stops")
    assert same(read_ends(path).places)
    FRAME.to_file(path, layer="other stops")
    with pytest.raises(FormatError, match=r"several layers of Point or MultiPoint among 'lines', 'stops', 'other st"):
        read_ends(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.gpkg", b"<OGRVRTDataSource></OGRVRTDataSource>", r"is no \.gpkg file"),
        ("p.fgb", b"", r"is no \.fgb file"),
        ("p.shp", b"\0\0\x27\x0a", "cannot read"),
        ("p.shp.zip", b"PK\x05\x06" + bytes(18), "cannot read"),
        ("p.shp.zip", b"PK", "cannot read"),
        ("p.gpx", b"<!-- <gpx> --><OGRVRTDataSource/>", r"is no \.gpx file"),
        ("p.gpx", b"<gpx><wpt lat='1' lon='2'>", "cannot read"),
        ("p.gpx", b"<gpx version='1.1'></gpx>", "has no places or nodes in it|cannot read|no layer"),
        ("p.kml", b"<kml><x></kml>", "cannot read"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_ends(path)
    assert name in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(FormatError, match="does not exist; check the path"):
        read_ends(tmp_path / f"missing{name}")


def test_columns_and_shapes_that_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.gpkg"
    write_frame(FRAME, path)
    with pytest.raises(FormatError, match="has no column 'beds', only"):
        read_ends(path, ["beds"])
    assert read_ends(path, ["jobs"]).columns["jobs"].tolist() == [3, 4, 5]  # in other case
    frame = FRAME.copy()
    frame.loc[1, "geometry"] = None
    write_frame(frame, path)
    with pytest.raises(FormatError, match="row 1 has no point, but nothing; leave it out"):
        read_ends(path)
    write_frame(FRAME.to_crs(32631), path)
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(
        QueryError, match=r"'EPSG:32631', and converting them needs pyproj.*pip install 'vkssp\[maps\]'"
    ):
        read_ends(path)
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    with pytest.raises(QueryError, match=r"\.gpkg files need pyogrio.*pip install 'vkssp\[maps\]'"):
        read_ends(path)


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    corners = [(0, 0), (0, 1), (1, 1), (1, 0)]
    with Router(street_map(corners, [(0, 1, 10), (1, 2, 20), (2, 3, 30), (3, 0, 40)]), device="cpu") as opened:
        yield opened


class Cellular:
    """Something with places in it, as `Cells` has them."""

    places = PLACES


@pytest.mark.parametrize(
    "places",
    [
        FRAME,
        FRAME.to_crs(3857),
        FRAME.geometry,
        FRAME.geometry.set_crs(None, allow_override=True),
        list(FRAME.geometry),
        iter(FRAME.geometry),
        np.array(PLACES),
        pandas.DataFrame(PLACES, columns=["lat", "lon"]),
        pandas.DataFrame(PLACES, columns=["lat", "lon"], index=["x", "y", "z"]).assign(name="n"),
        polars.DataFrame({"lon": [lon for _, lon in PLACES], "lat": [lat for lat, _ in PLACES]}),
        pyarrow.table({"lat": [lat for lat, _ in PLACES], "lon": [lon for _, lon in PLACES]}),
        Cellular(),
        [list(place) for place in PLACES],
    ],
    ids=lambda one: type(one).__name__,
)
def test_places_of_other_libraries(router: Router, places: Any) -> None:
    expected = router.table(PLACES).read()["duration"]
    assert router.table(places).read()["duration"] == pytest.approx(expected, rel=1e-4)


def test_places_of_other_libraries_everywhere(router: Router) -> None:
    first, second, _ = FRAME.geometry
    route = router.route(first, second, via=FRAME.geometry[2:])
    assert route.weight == router.route(PLACES[0], PLACES[1], via=[PLACES[2]]).weight
    assert router.route(route.origin, route.destination).weight == router.route(PLACES[0], PLACES[1]).weight
    assert router.nearest(first)[0] == router.nearest(PLACES[0])[0]
    assert np.array_equal(router.service_areas(FRAME).source, router.service_areas(PLACES).source)
    reached = router.accessibility(FRAME, FRAME.to_crs(3857), FRAME["Jobs"], limits=2)
    assert np.array_equal(reached, router.accessibility(PLACES, PLACES, [3, 4, 5], limits=2))
    near = router.nearest_opportunities(FRAME, FRAME, 2)
    assert np.array_equal(near.opportunity, router.nearest_opportunities(PLACES, PLACES, 2).opportunity)
    for mine, theirs in zip(router.isochrones_of_each(FRAME, [1]), router.isochrones_of_each(PLACES, [1]), strict=True):
        assert mine[0].area.equals(theirs[0].area)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            pandas.DataFrame({"x": [1.0], "y": [2.0]}),
            r"sources has no column lat, only \['x', 'y'\]; name them lat and",
        ),
        (pandas.DataFrame({"lat": ["north"], "lon": [2.0]}), "sources has lat and lon that are no numbers"),
        (pandas.DataFrame({"lat": [None], "lon": [2.0]}), "source 0 is nan"),
        (geopandas.GeoSeries([shapely.box(0, 0, 1, 1)], crs=4326), r"sources\[0\] is Polygon; give points"),
        (geopandas.GeoSeries([None], crs=4326), r"sources\[0\] is nothing; give points"),
        (geopandas.GeoSeries([shapely.Point()], crs=4326), r"sources\[0\] is an empty Point; give points"),
        ([shapely.Point()], "source 0 is a shapely Point"),
        ([shapely.box(0, 0, 1, 1)], "source 0 is a shapely Polygon"),
        (geopandas.GeoDataFrame({"a": [1]}), "sources has no column lat"),
        (np.zeros((2, 3)), "source 0 is an array"),
        (np.ma.masked_less(np.array(PLACES), 2), "has masked entries"),
        ([FRAME, FRAME], "source 0 is a geopandas GeoDataFrame"),
        (geopandas.GeoSeries([shapely.Point(500_000, 5e6)], crs=3857), "not on this map"),
    ],
)
def test_what_are_no_places(router: Router, places: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        router.table(places)


def test_a_view_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stops.gpkg"
    FRAME.to_file(path, layer="stops")
    assert len(read_ends(path).places) == 3
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE more AS SELECT * FROM stops;"
            "CREATE VIEW endless AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n)"
            " SELECT more.* FROM more, n;"
            "UPDATE gpkg_contents SET table_name = 'endless' WHERE table_name = 'stops';"
            "UPDATE gpkg_geometry_columns SET table_name = 'endless' WHERE table_name = 'stops';"
        )
    with pytest.raises(FormatError, match="computes the layer 'endless' by a view; save its rows as a table"):
        read_ends(path)
