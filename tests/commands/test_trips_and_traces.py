"""Commands for trips, traces and alternative routes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.osm_maps import ANDORRA
from vkssp import FormatError, Router, read_graph
from vkssp.cli import main
from vkssp.routing.trace_file import read_trace

HOME, SOUTH = "42.5078,1.5211", "42.4636,1.4910"


@pytest.fixture(scope="module")
def andorra(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("trips") / "andorra.graph"
    read_graph(ANDORRA).save(path)
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert main([*map(str, arguments), "--device", "cpu", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_trip_is_that_of_the_router(andorra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stops = tmp_path / "stops.csv"
    stops.write_text(f"id,lat,lon\na,{HOME}\nb,42.5676,1.5976\nc,42.5361,1.5828\nd,{SOUTH}\n")
    told = asked(capsys, "trip", andorra, "--places", stops, "--source", "first", "--output", tmp_path / "t.geojson")
    places = [(42.5078, 1.5211), (42.5676, 1.5976), (42.5361, 1.5828), (42.4636, 1.4910)]
    with Router(read_graph(andorra), device="cpu") as router:
        trip = router.trip(places, source="first")
    assert told["places"] == ["abcd"[number] for number in trip.order] and told["weight"] == trip.route.weight
    assert len(told["legs"]) == 4 and json.loads((tmp_path / "t.geojson").read_text())["features"]
    assert main(["trip", andorra, "--places", str(stops), "--one-way", "--destination", "last", "--device", "cpu"]) == 0
    assert "4         d\n" in capsys.readouterr().out


def test_alternatives_are_those_of_the_router(andorra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = ["route", andorra, "--from", "42.5676,1.5976", "--to", "42.5562,1.5332", "--alternatives", "3"]
    told = asked(capsys, *query, "--output", tmp_path / "r.geojson")
    with Router(read_graph(andorra), device="cpu") as router:
        best, *others = router.alternatives((42.5676, 1.5976), (42.5562, 1.5332), 3)
    assert others and [one["weight"] for one in told["alternatives"]] == [other.weight for other in others]
    assert told["weight"] == best.weight
    assert len(json.loads((tmp_path / "r.geojson").read_text())["features"]) == 1 + len(others)
    assert main([*query, "--via", HOME, "--device", "cpu"]) == 2
    assert "leave --via" in capsys.readouterr().err


GPX = """<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
<trkpt lat="42.50789" lon="1.52113"><time>2026-05-01T12:00:00Z</time></trkpt>
<trkpt lat="42.50921" lon="1.53045"><time>2026-05-01T12:00:40+00:00</time></trkpt>
</trkseg><trkseg>
<trkpt lat="42.51040" lon="1.53921"><time>2026-05-01T12:01:20.5Z</time></trkpt>
</trkseg></trk></gpx>"""
CSV = "Lat,lon,time,radius\n42.50789,1.52113,2026-05-01T12:00:00,\n42.50921,1.53045,2026-05-01 12:00:40Z,30\n"


def test_traces_are_read_and_matched(andorra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.gpx").write_text(GPX)
    (tmp_path / "t.csv").write_text(CSV)
    trace = read_trace(tmp_path / "t.gpx")
    assert trace.seconds is not None and [one - trace.seconds[0] for one in trace.seconds] == [0, 40, 80.5]
    assert trace.places[2] == (42.5104, 1.53921) and trace.radiuses is None
    table = read_trace(tmp_path / "t.csv")
    assert table[:3] == (trace.places[:2], trace.seconds[:2], [None, 30.0])
    told = asked(capsys, "match", andorra, "--trace", tmp_path / "t.gpx", "--radius", "30", "-o", tmp_path / "m.gpx")
    with Router(read_graph(andorra), device="cpu") as router:
        matching = router.match(trace.places, trace.seconds, 30)
    assert [one["weight"] for one in told["routes"]] == [route.weight for route in matching.routes]
    assert len(told["tracepoints"]) == 3 and "<trk>" in (tmp_path / "m.gpx").read_text()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.gpx", "<gpx>", "is no GPX file"),
        ("t.gpx", "<gpx></gpx>", "has no positions"),
        ("t.gpx", '<gpx><trkpt lat="x" lon="1"/></gpx>', "track point 1: lat is 'x'"),
        ("t.csv", "x,y\n1,2\n", "no columns lat,lon"),
        ("t.csv", "lat,lon,time\n1,2,noon\n", "line 2: time is 'noon'"),
        ("t.csv", "lat,lon\n1\n", "line 2: lon is ''"),
    ],
)
def test_files_without_a_trace_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read_trace(tmp_path / name)
