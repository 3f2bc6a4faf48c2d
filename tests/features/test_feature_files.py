"""Files of features, read by other programs: what is in them, names of all kinds, and writes that fail."""

from __future__ import annotations

import csv
import errno
import os
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import geopandas
import numpy as np
import pyogrio
import pytest
import shapely

from vkssp import Features, FormatError, QueryError, files
from vkssp.features.ogr_file import short_names

MAPS = (".geojson", ".json", ".gpkg", ".fgb", ".shp", ".shp.zip", ".parquet", ".kml")
#: Texts that formats may not have: control characters, quotes, marks of XML, no UTF-8, right to left, empty.
HOSTILE = ["a\x1b[31m\x00b", "\"'`;--", "<b>&amp;]]></b>", "Gare \ud800", "мир שלום 日本 🚲", "", "line\r\nbreak\ttab"]
#: The same as formats without halves of characters and zeros have them.
CLEAN = [text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd") for text in HOSTILE]
XML = {"kml": "{http://www.opengis.net/kml/2.2}", "gpx": "{http://www.topografix.com/GPX/1/1}"}


def some(shapes: Any = None) -> Features:
    if shapes is None:
        shapes = [shapely.Point(at, -at / 4) for at in range(len(HOSTILE))]
    columns = {"id": HOSTILE, "n": np.arange(len(HOSTILE)), "x": np.linspace(0, 1, len(HOSTILE), dtype=np.float32)}
    return Features(columns, shapes, "things & <more>")


def read_again(path: Path) -> Any:
    """Return what geopandas reads, in the order of the features."""
    frame = geopandas.read_parquet(path) if path.suffix == ".parquet" else geopandas.read_file(path)
    return frame.sort_values("n", ignore_index=True)


@pytest.mark.parametrize("ending", MAPS)
def test_files_are_read_by_geopandas_as_they_were(tmp_path: Path, ending: str) -> None:
    path, given = tmp_path / f"r{ending}", some()
    given.write(path)
    frame = read_again(path)
    assert shapely.equals_exact(frame.geometry.to_numpy(), given.shapes, 1e-7).all()
    assert frame.crs.to_authority() in (("EPSG", "4326"), ("OGC", "CRS84")), ending
    assert frame["n"].tolist() == given.columns["n"].tolist()
    assert frame["x"].to_numpy() == pytest.approx(given.columns["x"], rel=1e-6)
    if ending == ".kml":
        return  # GDAL has an "id" of its own; below the file is read as XML
    texts = ["" if value != value or value is None else value for value in frame["id"].tolist()]
    expected = {".geojson": HOSTILE, ".json": HOSTILE}.get(ending, CLEAN)
    if ending in (".geojson", ".json"):  # GDAL ends texts at zeros, which JSON may have
        texts, expected = texts[1:], [CLEAN[at] if at == 3 else text for at, text in enumerate(expected)][1:]
    assert texts == expected


def test_kml_as_xml(tmp_path: Path) -> None:
    path, tag = tmp_path / "r.kml", XML["kml"]
    polygon = shapely.box(0, 0, 3, 3).difference(shapely.box(1, 1, 2, 2))
    shapes = [
        shapely.Point(1.25, -2),
        shapely.LineString([(0, 0), (1e-7, 1)]),
        polygon,
        shapely.MultiPolygon([polygon]),
        shapely.MultiPolygon(),
        None,
        shapely.MultiPoint([(1, 2), (3, 4)]),
    ]
    layer = some(shapes)
    Features({**layer.columns, "stroke": ["#102030"] * 7}, layer.shapes, layer.name).write(path)
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{tag}kml" and root.find(f".//{tag}Folder/{tag}name").text == layer.name  # type: ignore[union-attr]
    fields = [(one.get("name"), one.get("type")) for one in root.iter(f"{tag}SimpleField")]
    assert fields == [("id", "string"), ("n", "int"), ("x", "double"), ("stroke", "string")]
    marks = list(root.iter(f"{tag}Placemark"))
    told = [{one.get("name"): one.text or "" for one in mark.iter(f"{tag}SimpleData")} for mark in marks]
    # An escape is no character of XML 1.0.
    assert [one["id"] for one in told] == [text.replace("\x1b", "\ufffd") for text in CLEAN]
    assert marks[0].find(f".//{tag}color").text == "ff302010"  # type: ignore[union-attr]
    assert marks[0].find(f"{tag}Point/{tag}coordinates").text == "1.25,-2"  # type: ignore[union-attr]
    assert marks[1].find(f"{tag}LineString/{tag}coordinates").text == "0,0 0.0000001,1"  # type: ignore[union-attr]
    rings = marks[3].find(f"{tag}MultiGeometry/{tag}Polygon")
    assert rings is not None and [one.tag[len(tag) :] for one in rings] == ["outerBoundaryIs", "innerBoundaryIs"]
    assert marks[5].find(f"{tag}Point") is None


def test_gpx_as_xml(tmp_path: Path) -> None:
    path, tag = tmp_path / "r.gpx", XML["gpx"]
    line = shapely.MultiLineString([[(179.5, 1), (180, 2)], [(-180, 2), (-179.5, 3)]])
    shapes = [shapely.Point(at, at) for at in range(5)] + [line, None]
    some(shapes).write(path)
    root = ElementTree.parse(path).getroot()
    assert (root.tag, root.get("version")) == (f"{tag}gpx", "1.1")
    assert [one.tag[len(tag) :] for one in root] == ["wpt"] * 5 + ["trk"]
    names = [one.find(f"{tag}name").text for one in root.iter(f"{tag}wpt")]  # type: ignore[union-attr]
    assert names == [text.replace("\x1b", "\ufffd") for text in CLEAN[:5]]
    segments = [[(p.get("lat"), p.get("lon")) for p in one] for one in root.iter(f"{tag}trkseg")]
    # The schema has longitudes below 180 degrees.
    assert segments == [[("1", "179.5"), ("2", "179.9999999")], [("2", "-180"), ("3", "-179.5")]]
    assert root.find(f"{tag}trk/{tag}desc").text == "n: 5; x: 0.8333333"  # type: ignore[union-attr]


@pytest.mark.parametrize("ending", MAPS)
@pytest.mark.parametrize(
    "shapes",
    [
        [shapely.MultiPolygon(), shapely.MultiPolygon([shapely.box(0, 0, 1, 1)]), None],
        [shapely.LineString([(0, 0), (1, 1)]), shapely.MultiLineString([[(0, 0), (1, 1)], [(2, 2), (3, 3)]]), None],
        [],
    ],
    ids=["empty", "one and several", "nothing"],
)
def test_shapes_that_some_formats_do_not_have(tmp_path: Path, ending: str, shapes: list[Any]) -> None:
    path = tmp_path / f"r{ending}"
    Features({"n": np.arange(len(shapes))}, shapes).write(path)
    if ending == ".parquet":
        read = geopandas.read_parquet(path).geometry.to_numpy()
    else:
        layer = "features" if ending in (".gpkg", ".fgb") else None
        read = shapely.from_wkb(pyogrio.raw.read(path, layer=layer)[2])
    assert len(read) == len(shapes)
    for found, given in zip(read.tolist(), shapes, strict=True):
        if given is None or given.is_empty:
            assert found is None or found.is_empty
        else:
            assert (
                shapely.equals(shapely.multilinestrings(shapely.get_parts(found)), given)
                if "Line" in (given.geom_type)
                else shapely.equals(found, given)
            )


def test_columns_of_geopackages(tmp_path: Path) -> None:
    path = tmp_path / "r.gpkg"
    columns = {"fid": [7, 7], "geom": ["a", "b"], "a\"'\n": [True, None], "big": np.array([2**63, 5], np.uint64)}
    Features(columns, [shapely.Point(1, 2), None]).write(path)
    frame = geopandas.read_file(path)
    assert frame["fid"].tolist() == [7, 7] and frame["geom"].tolist() == ["a", "b"]
    assert frame["a\"'\n"].tolist()[0] in (True, 1) and frame["big"].tolist() == [2.0**63, 5]
    with pytest.raises(FormatError, match=r"r\.gpkg: several columns are called 'a' but for case"):
        Features({"a": [1], "A": [2]}, [None]).write(path)
    assert len(geopandas.read_file(path)) == 2  # as it was


def test_columns_of_shapefiles(tmp_path: Path) -> None:
    names = [
        "snapped_lat",
        "snapped_lon",
        "snapped_la",
        "SNAPPED_LA",
        "straßenname",
        "a b",
        "日本国日本国",
        "distance_m",
    ]
    short = ["snapped_la", "snapped_lo", "snapped__1", "SNAPPED__2", "straßenna", "a_b", "日本国", "distance_m"]
    assert short_names(names) == short
    assert all(len(name.encode()) <= 10 for name in short_names(["ä" * 9] * 12))
    assert len(set(short_names(["column name"] * 120))) == 120
    path = tmp_path / "r.shp"
    long = "é" * 300
    Features(
        {name: [at, None] for at, name in enumerate(names)} | {"text": [long, None]}, [shapely.Point(1, 2)] * 2
    ).write(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["r.cpg", "r.dbf", "r.prj", "r.shp", "r.shx"]
    assert (tmp_path / "r.cpg").read_text().strip() == "UTF-8"
    frame = geopandas.read_file(path)
    assert list(frame) == [*short, "text", "geometry"]
    assert frame["text"].iloc[0] == "é" * 127 and frame["distance_m"].iloc[0] == 7
    with pytest.raises(FormatError, match=r"its features are LineString and Point; write \.gpkg"):
        Features({}, [shapely.Point(1, 2), shapely.LineString([(0, 0), (1, 1)])]).write(path)
    assert len(geopandas.read_file(path)) == 2


def test_a_shapefile_replaces_all_parts_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "r.shp"
    some().write(path)
    for name in ("r.qix", "r.sbn", "other.qix", "r.txt"):
        (tmp_path / name).write_bytes(b"old")
    (tmp_path / "r.dbf").chmod(0o600)
    Features({"n": [1]}, [shapely.Point(1, 2)]).write(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        ["r.cpg", "r.dbf", "r.prj", "r.shp", "r.shx", "other.qix", "r.txt"]
    )
    assert len(geopandas.read_file(path)) == 1 and (tmp_path / "r.dbf").stat().st_mode & 0o777 == 0o600
    some().write(tmp_path / "r.SHP.zip")
    with zipfile.ZipFile(tmp_path / "r.SHP.zip") as archive:
        assert sorted(archive.namelist()) == ["r.cpg", "r.dbf", "r.prj", "r.shp", "r.shx"]


def test_a_geopackage_has_no_journal_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "r.gpkg"
    (tmp_path / "r.gpkg-journal").write_bytes(b"old")
    some().write(path)
    assert [one.name for one in tmp_path.iterdir()] == ["r.gpkg"]
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT srs_id FROM gpkg_geometry_columns").fetchone() == (4326,)
    database.close()


@pytest.mark.parametrize("ending", [*MAPS, ".gpx", ".csv", ".npy"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_writes_that_fail_leave_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, error: BaseException
) -> None:
    path, given = tmp_path / f"r{ending}", some()
    given.write(path)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise error

    real = os.replace

    def fail_at_second(one: Any, other: Any) -> None:
        if Path(one).parent.name == "new" and Path(one).suffix == ".prj":
            raise error
        real(one, other)

    for name, broken in (("fsync", fail), ("replace", fail_at_second if ending == ".shp" else fail)):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, name, broken)
            kind = FormatError if isinstance(error, OSError) else KeyboardInterrupt
            with pytest.raises(kind, match="No space left" if kind is FormatError else None):
                Features({"n": [1]}, [shapely.Point(1, 2)]).write(path)
        assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before, name


@pytest.mark.parametrize(("ending", "wrong"), [(".gpkg", "geom"), (".fgb", "geom"), (".shp", "geom")])
def test_errors_of_the_library_leave_nothing(tmp_path: Path, ending: str, wrong: str) -> None:
    shapes = [shapely.Point(1, 2), shapely.GeometryCollection([shapely.Point(1, 2), shapely.box(0, 0, 1, 1)])]
    path = tmp_path / f"r{ending}"
    try:
        Features({wrong: [1, 2]}, shapes).write(path)
    except FormatError:
        assert list(tmp_path.iterdir()) == []
    else:
        assert len(geopandas.read_file(path)) == 2


def cut_short(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - size)


@pytest.mark.parametrize("damage", [cut_short("r.shp", 28), cut_short("r.shx", 8), cut_short("r.dbf", 30)])
def test_shapefiles_that_a_full_disk_cut_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    """GDAL overlooks that their ends were not written."""
    real = pyogrio.raw.write

    def write(path: str, *rest: Any, **more: Any) -> None:
        real(path, *rest, **more)
        damage(Path(path).parent)

    monkeypatch.setattr(pyogrio.raw, "write", write)
    for ending in (".shp", ".shp.zip"):
        with pytest.raises(FormatError, match="the disk may be full"):
            some().write(tmp_path / f"r{ending}")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["r", "r.gmt", "r.shx", "r.zip", "r.shp.gz", "r.geojsonl", ".gpkg"])
def test_unknown_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"must end in one of \.geojson, \.json, \.gpkg, .*, \.gpx, \.csv"):
        some().write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["r.SHP", "r.Shp"])
def test_a_shapefile_does_not_replace_one_of_another_case(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"its name must end in \.shp, in lower case"):
        some().write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_endings_that_cannot_hold_the_features(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"r\.gpx: its name must end in one of .*\.kml, \.csv"):
        Features({"n": [1]}, [shapely.box(0, 0, 1, 1)]).write(tmp_path / "r.gpx")
    for ending in (".geojson", ".gpkg", ".gpx"):
        with pytest.raises(FormatError, match=r"has no coordinates; write one of \.csv, \.npy, \.parquet"):
            Features({"n": [1]}).write(tmp_path / f"r{ending}")
    with pytest.raises(FormatError, match="is empty; give one"):
        some().write("")
    os.mkfifo(tmp_path / "r.gpkg")
    with pytest.raises(FormatError, match="needs a place on a disk"):
        some().write(tmp_path / "r.gpkg")


def test_values_without_shapes(tmp_path: Path) -> None:
    columns = {"n": [5, None], "t": ["é", None], "x": [None, 1.5]}
    for ending in (".csv", ".npy"):
        Features.of_places([(1.0, 2.0), (3.0, 4.0)], columns).write(tmp_path / f"r{ending}")
    with open(tmp_path / "r.csv", encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["id", "lat", "lon", "n", "t", "x"],
            ["0", "1.0", "2.0", "5", "é", ""],
            ["1", "3.0", "4.0", "", "", "1.5"],
        ]
    table = np.load(tmp_path / "r.npy")
    assert table["n"].tolist() == [5, -1] and table["t"].tolist() == ["é", ""] and np.isnan(table["x"][0])


@pytest.mark.parametrize(
    ("ending", "module", "extra"),
    [(".gpkg", "pyogrio", "maps"), (".shp.zip", "pyogrio", "maps"), (".parquet", "pyarrow", "table")],
)
def test_errors_name_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(QueryError, match=rf"{module}, which is not installed; pip install 'vkssp\[{extra}\]'"):
        some().write(tmp_path / f"r{ending}")
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "geopandas", None)
    for make in (some().to_dataframe, some().to_geodataframe):
        with pytest.raises(QueryError, match=r"pandas, which is not installed; pip install 'vkssp\[pandas\]'"):
            make()
