"""Errors about places of files, which say where the file has the place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tests.support.street_grid import STEP, street_grid
from vkssp.cli import main

#: Places, of which the last one is not on the map.
PLACES = [(0.0, 0.0), (0.0, STEP), (50.0, 50.0)]


def written(path: Path, places: list[tuple[float, float]] = PLACES) -> Path:
    """Write places to a file of some format; a file of text has an empty line, and texts of two lines, too."""
    if path.suffix == ".npy":
        np.save(path, np.array(places))
    elif path.suffix == ".parquet":
        lat, lon = zip(*places, strict=True)
        parquet.write_table(pyarrow.table({"lat": lat, "lon": lon}), path)
    elif path.suffix == ".geojson":
        features = [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [lon, lat]}}
            for lat, lon in places
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    elif path.suffix == ".gpx":
        points = "".join(f'<trkpt lat="{lat}" lon="{lon}"/>' for lat, lon in places)
        path.write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    else:
        path.write_text("id,lat,lon\n\n" + "".join(f'"two\nlines",{lat},{lon}\n' for lat, lon in places))
    return path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "a.graph"
    street_grid(4).save(path)
    return path


@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        ("table --sources BAD -o OUT.csv", "p.csv", "line 7: source 2"),
        ("table --sources GOOD --targets BAD -o OUT.csv", "p.geojson", "feature 2: target 2"),
        ("table --sources BAD -o OUT.csv", "p.npy", "entry 2: source 2"),
        ("trip --places BAD -o OUT.geojson", "p.parquet", "row 2: source 2"),
        ("service-areas --sources BAD -o OUT.csv", "p.csv", "line 7: source 2"),
        ("isochrone --places BAD --limits 10 -o OUT.geojson", "p.csv", "line 7: places[2]"),
        ("accessibility BAD --limits 10 -o OUT.csv", "p.csv", "line 7: opportunity 2"),
        ("accessibility GOOD --origins BAD --nearest 1 -o OUT.csv", "p.csv", "line 7: origin 2"),
        ("match --trace BAD", "p.csv", "line 7: trace 2"),
        ("match --trace BAD", "p.gpx", "track point 3: trace 2"),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, graph: Path, capsys: pytest.CaptureFixture[str], command: str, name: str, told: str
) -> None:
    files = {"BAD": written(tmp_path / name), "GOOD": written(tmp_path / "good.csv", PLACES[:2])}
    first, *words = (str(files.get(word, word)).replace("OUT", str(tmp_path / "out")) for word in command.split())
    assert main([first, str(graph), *words, "--device", "cpu"]) == 2
    assert f"{tmp_path / name}, {told} is 50.00000,50.00000, which is not on this map" in capsys.readouterr().err
