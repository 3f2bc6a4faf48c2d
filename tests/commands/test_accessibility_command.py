"""The command for accessibility, and files of places with values."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import shapely

from vkssp import Decay, FormatError, Router, read_graph
from vkssp.cli import main
from vkssp.routing.places_file import read_ends

PLACES = [(42.5075, 1.5218), (42.5430, 1.7340), (42.5561, 1.5332), (42.4634, 1.4911)]


def write_shops(folder: Path) -> Path:
    lines = ["id,lat,lon,jobs,area", *(f"s{at},{lat},{lon},{5 * at},{at / 4}" for at, (lat, lon) in enumerate(PLACES))]
    (folder / "shops.csv").write_text("\n".join(lines))
    return folder / "shops.csv"


@pytest.fixture(scope="module")
def graph_path(andorra_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "andorra.graph"
    read_graph(andorra_path).save(path)
    return path


def asked(graph: Path, *options: object) -> int:
    try:
        return main(["accessibility", str(graph), *map(str, options), "--device", "cpu"])
    except SystemExit as error:
        return int(str(error.code))


def test_sums_decays_and_nearest(graph_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shops, output = write_shops(tmp_path), tmp_path / "reach.csv"
    options = [
        "--columns",
        "jobs,area",
        "--limits",
        "300,1200",
        "--decay",
        "exponential:600",
        "--nearest",
        2,
        "--reverse",
    ]
    assert asked(graph_path, shops, *options, "--origins", shops, "--output", output, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    names = [f"{weight}_{limit}" for weight in ("jobs", "area") for limit in ("300s", "1200s", "exponential_600s")]
    names += ["nearest_1", "nearest_1_s", "nearest_2", "nearest_2_s"]
    assert told["columns"] == names and told["origins"] == told["opportunities"] == 4
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert list(rows[0]) == ["id", "lat", "lon", *names] and [row["id"] for row in rows] == ["s0", "s1", "s2", "s3"]
    values = np.array([[5 * at, at / 4] for at in range(4)])
    with Router(read_graph(graph_path), device="cpu") as router:
        sums = router.accessibility(
            PLACES, PLACES, values, limits=[300, 1200], decays=Decay.exponential(600), reverse=True
        )
        near = router.nearest_opportunities(PLACES, PLACES, 2, reverse=True)
    for at, row in enumerate(rows):
        assert [float(row[name]) for name in names[:6]] == sums[at].T.reshape(-1).tolist()
        assert [row["nearest_1"], row["nearest_2"]] == [f"s{which}" for which in near.opportunity[at]]
        assert float(row["nearest_2_s"]) == pytest.approx(float(near.values[at, 1]), rel=1e-6)


def test_origins_and_formats(graph_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shops = write_shops(tmp_path)
    assert asked(graph_path, shops, "--limits", 600, "--output", tmp_path / "nodes.npy") == 0
    table = np.load(tmp_path / "nodes.npy")
    assert table.dtype.names == ("node", "osm_node", "count_600s") and len(table) == read_graph(graph_path).num_nodes
    assert table["count_600s"].max() >= 1
    assert f"of {len(table):,} nodes, 4 opportunities" in capsys.readouterr().out
    squares, hexagons = tmp_path / "s.geojson", tmp_path / "h.parquet"
    assert asked(graph_path, shops, "--limits", 600, "--nearest", 1, "--grid", 2000, "--output", squares) == 0
    features = json.loads(squares.read_text())["features"]
    assert {one["geometry"]["type"] for one in features} == {"Polygon"}
    assert set(features[0]["properties"]) == {"id", "count_600s", "nearest_1", "nearest_1_s"}
    asked_again = ["--limits", "5000", "--metric", "distance", "--hexagons", "7", "--columns", "jobs"]
    assert asked(graph_path, shops, *asked_again, "--output", hexagons) == 0
    # What was written can be read as origins, and as opportunities.
    ends = read_ends(hexagons, ["jobs_5000m"], areas=True)
    assert ends.shapes is not None and ends.columns["jobs_5000m"].dtype == np.int64
    assert ends.columns["jobs_5000m"].max() >= 5 and len(ends.ids) == len(set(ends.ids))
    for origins in (squares, hexagons):
        again = tmp_path / "again.parquet"
        assert asked(graph_path, hexagons, "--limits", 60, "--origins", origins, "--output", again) == 0
        assert pyarrow.parquet.read_table(again).column("geometry").num_chunks >= 1
    drawn = tmp_path / "a.html"
    for origins in (["--grid", 2000], ["--origins", shops], []):
        assert asked(graph_path, shops, "--limits", "60,600", "--nearest", 1, *origins, "--map", drawn) == 0
        page = drawn.read_text()
        # Ids are not drawn.
        assert (
            "opportunities within 600 s" in page
            and "seconds to the nearest" in page
            and "Access to opportunities" in page
        )
        assert "nearest_1" not in page
    assert asked(graph_path, shops, "--minutes", "10,0.5", "--origins", shops, "--output", tmp_path / "m.npy") == 0
    assert asked(graph_path, shops, "--limits", "600,30", "--origins", shops, "--output", tmp_path / "l.npy") == 0
    minutes, seconds = np.load(tmp_path / "m.npy"), np.load(tmp_path / "l.npy")
    assert minutes.dtype.names == ("id", "count_10min", "count_0.5min")
    assert all((minutes[a] == seconds[b]).all() for a, b in zip(minutes.dtype.names, seconds.dtype.names, strict=True))
    lacking = tmp_path / "n.npy"
    assert asked(graph_path, shops, "--nearest", 6, "--origins", shops, "--output", lacking) == 0
    assert np.load(lacking)["nearest_6"].tolist() == [""] * 4


def test_each_sum_has_a_column(graph_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shops, output = write_shops(tmp_path), tmp_path / "reach.csv"
    options = ["--columns", "jobs,area,jobs", "--limits", "1000000,1000001,0.25,1000000"]
    options += ["--decay", "linear:2000000.5", "--decay", "linear:2000001", "--decay", "linear:2000001"]
    assert asked(graph_path, shops, *options, "--origins", shops, "--output", output) == 0
    rows = list(csv.DictReader(output.read_text().splitlines()))
    kinds = ["1000000s", "1000001s", "0.25s", "linear_2000000.5s", "linear_2000001s"]
    assert list(rows[0])[3:] == [f"{name}_{kind}" for name in ("jobs", "area") for kind in kinds]
    # Whole numbers stay whole beside others.
    assert [row["jobs_0.25s"] for row in rows] == ["0", "5", "10", "15"]
    assert [row["area_0.25s"] for row in rows] == ["0.0", "0.25", "0.5", "0.75"]
    shops.write_text("id,lat,lon,nearest,a,a_linear\ns0,42.5075,1.5218,1,2,3\n")
    for names, more, told in (
        ("nearest", ["--limits", 1, "--nearest", 1], "'nearest_1'"),
        ("a,a_linear", ["--limits", 5, "--decay", "linear:5"], "'a_linear_5'"),
        ("a,", ["--limits", 5], "is not a list of names"),
    ):
        assert asked(graph_path, shops, "--columns", names, *more, "--output", output) == 2
        assert told in capsys.readouterr().err


def test_ids_that_are_no_text_are_refused(tmp_path: Path) -> None:
    point = {"type": "Feature", "id": "a\ud800", "geometry": {"type": "Point", "coordinates": [1, 2]}}
    (tmp_path / "a.geojson").write_text(json.dumps({"features": [point]}))
    with pytest.raises(FormatError, match=r"feature 0 has the id 'a\\ud800'"):
        read_ends(tmp_path / "a.geojson")


def test_files_of_places(tmp_path: Path) -> None:
    square = shapely.box(1.0, 42.0, 1.2, 42.2)
    other = shapely.MultiPolygon([shapely.box(2, 40, 2.1, 40.1)])
    table = pa.table(
        {"id": ["a", "b"], "jobs": [3, 4], "where": pa.array(shapely.to_wkb([square, other]), pa.binary())}
    )
    about: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Polygon", "MultiPolygon"]}
    path = tmp_path / "a.parquet"

    def write(**changed: object) -> None:
        told = {"version": "1.1.0", "primary_column": "where", "columns": {"where": {**about, **changed}}}
        pyarrow.parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(told)}), path)

    for system in ({}, {"crs": {"id": {"authority": "EPSG", "code": 4326}}}, {"crs": None}):
        write(**system)
        ends = read_ends(path, ["jobs"], areas=True)
        assert ends.ids == ["a", "b"] and ends.columns["jobs"].tolist() == [3, 4] and ends.places is not None
        assert all(
            shape.covers(shapely.Point(lon, lat)) for shape, (lat, lon) in zip(ends.shapes, ends.places, strict=True)
        )
    with pytest.raises(FormatError, match="row 0 has no point, but Polygon"):
        read_ends(path)
    for changed, message in (
        (
            {"crs": {"name": "Mars", "id": {"authority": "EPSG", "code": 49900}}},
            "in 'Mars', a system that is not known",
        ),
        ({"crs": "PROJCS"}, "in 'PROJCS', a system that is not known"),
        ({"encoding": "point"}, "encoded as 'point'"),
    ):
        write(**changed)
        with pytest.raises(FormatError, match=message):
            read_ends(path, areas=True)
    pyarrow.parquet.write_table(pa.table({"lat": [1.5], "lon": [2], "n": [None]}), path)
    assert read_ends(path).places == [(1.5, 2.0)]
    for columns, message in ((["n"], "row 0: n is None"), (["m"], "no column 'm'")):
        with pytest.raises(FormatError, match=message):
            read_ends(path, columns)
    for content, message in ((b"PAR1", "cannot read"), (b"", "cannot read")):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=message):
            read_ends(path)
    mixed = tmp_path / "m.geojson"
    point = {
        "type": "Feature",
        "id": 7,
        "properties": {"jobs": 2.5},
        "geometry": {"type": "Point", "coordinates": [1, 2]},
    }
    area = {"type": "Feature", "properties": {"jobs": 2}, "geometry": shapely.geometry.mapping(square)}
    mixed.write_text(json.dumps({"features": [point, area]}))
    ends = read_ends(mixed, ["jobs"], areas=True)
    assert ends.shapes is None and ends.places is not None and square.covers(shapely.Point(*ends.places[1][::-1]))
    with pytest.raises(FormatError, match="has no property 'job'; it has jobs"):
        read_ends(mixed, ["job"], areas=True)
    metres = {**point, "geometry": {"type": "Point", "coordinates": [500_000, 5_000_000]}}
    for name, place in (("OGC:1.3:CRS84", (2.0, 1.0)), ("EPSG::4326", (2.0, 1.0)), ("EPSG::25832", (45.1535, 9.0))):
        system = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:{name}"}}
        given = metres if name == "EPSG::25832" else point
        mixed.write_text(json.dumps({"crs": system, "features": [given]}))
        (found,) = read_ends(mixed).places or ()
        assert found == pytest.approx(place, abs=1e-4)
    mixed.write_text(json.dumps({"crs": {"properties": {"name": "nowhere"}}, "features": [point]}))
    with pytest.raises(FormatError, match="has coordinates in 'nowhere', a system that is not known"):
        read_ends(mixed)
    with pytest.raises(FormatError, match=r"a.xlsx is in a format that is not read; save it as .gpkg"):
        read_ends(tmp_path / "a.xlsx")
    mixed.write_text(json.dumps({"features": [area, {**area, "properties": None}]}))
    with pytest.raises(FormatError, match="feature 1: jobs is None; give a number, such as 0"):
        read_ends(mixed, ["jobs"], areas=True)
    assert len(read_ends(mixed, areas=True).ids) == 2
    for broken in ({"type": "Polygon", "coordinates": [[[1, 2], [3]]]}, {"type": "Polygon", "coordinates": []}):
        mixed.write_text(json.dumps({**area, "geometry": broken}))
        with pytest.raises(FormatError, match="feature 0 is no GeoJSON point or polygon"):
            read_ends(mixed, areas=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --minutes, --limits, --decay or --nearest"),
        (["--nearest", "2", "--columns", "jobs"], "--columns are for sums"),
        (["--limits", "5", "--columns", "beds"], "has no columns beds in its first line; it has id,lat,lon,jobs,area"),
        (["--minutes", "5", "--limits", "300"], "not allowed with"),
        (["--minutes", "5", "--metric", "distance"], "paths are measured in metres; use --limits"),
        (["--limits", "0"], "limits is"),
        (["--decay", "sudden:5"], "'sudden:5' is none of exponential:SCALE"),
        (["--decay", "power:1:2"], "'power:1:2' is none of"),
        (["--decay", "linear:0"], "'linear:0': limit is 0"),
        (["--limits", "5", "--grid", "1"], "metres is 1"),
        (["--limits", "5", "--origins", "missing.csv"], "missing.csv does not exist"),
        (["--nearest", "0"], "count is 0"),
    ],
)
def test_what_does_not_suit(
    graph_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    output = tmp_path / "a.csv"
    assert asked(graph_path, write_shops(tmp_path), *options, "--output", output) == 2
    assert message in capsys.readouterr().err and not output.exists()


def test_nothing_to_write(graph_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(graph_path, write_shops(tmp_path), "--limits", 5) == 2
    assert "give --output or --map" in capsys.readouterr().err
