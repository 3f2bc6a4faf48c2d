from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from tests.support.paths import ROOT
from vkssp import UNREACHABLE, DeviceError, Graph, __version__
from vkssp.algorithm import TRACE
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.cli import main
from vkssp.gpu.device import Device
from vkssp.gpu.instance import choose

NEAR_FAR = ["--algorithm", "near_far"]
FROM, TO = "42.5073,1.5342", "42.5430,1.7350"


@pytest.fixture(scope="module")
def andorra_graph(andorra_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("andorra") / "andorra.graph"
    assert main(["import", str(andorra_path), str(path)]) == 0
    return str(path)


@pytest.fixture
def plain_graph(tmp_path: Path) -> str:
    graph = grid(20, seed=2)
    graph.save(tmp_path / "plain.graph")
    return str(tmp_path / "plain.graph")


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert isinstance(result, dict)
    return result


def test_devices(capsys: pytest.CaptureFixture[str], device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    software = f"{device.info.index}  {device.info.name}"
    for selected, marked, other in (("", "cpu  ", software), ("CPU", "cpu  ", software), ("llvm", software, "cpu  ")):
        monkeypatch.setenv("VKSSP_DEVICE", selected)
        assert main(["devices"]) == 0
        text = capsys.readouterr().out
        assert f"* {marked}" in text and f"  {other}" in text and "numba " in text
        result = as_json(capsys, "devices")
        assert result["default"] == (device.info.index if marked == software else "cpu")
        assert result["devices"][device.info.index]["name"] == device.info.name
        assert result["cpu"]["name"] and result["cpu"]["cores"] >= 1
    monkeypatch.setenv("VKSSP_DEVICE", f"{device.info.index},cpu")
    assert main(["devices"]) == 0
    text = capsys.readouterr().out
    assert f"* {software}" in text and "* cpu  " in text
    assert as_json(capsys, "devices")["default"] == [device.info.index, "cpu"]


def test_import_reports_and_info_describes(
    capsys: pytest.CaptureFixture[str], andorra_path: Path, tmp_path: Path
) -> None:
    result = as_json(capsys, "import", str(andorra_path), str(tmp_path / "g"))
    graph = Graph.load(tmp_path / "g")
    assert (result["nodes"], result["arcs"]) == (graph.num_nodes, graph.num_arcs)
    saved = as_json(capsys, "info", str(tmp_path / "g"))
    direct = as_json(capsys, "info", str(andorra_path))
    assert saved == direct
    assert saved["nodes"] == graph.num_nodes and saved["streets"]["names"] > 100
    assert main(["info", str(tmp_path / "g")]) == 0
    assert f"{graph.num_nodes:,} nodes" in capsys.readouterr().out


def test_route_from_a_saved_graph_and_from_the_extract(
    capsys: pytest.CaptureFixture[str], andorra_graph: str, andorra_path: Path, tmp_path: Path, device: Device
) -> None:
    files = ["--output", str(tmp_path / "r.geojson"), "--map", str(tmp_path / "r.html"), "--device", "0"]
    result = as_json(capsys, "route", andorra_graph, "--from", FROM, "--to", TO, *files)
    assert 25_000 < result["distance_m"] < 40_000
    assert 20 * 60 < result["duration_s"] < 60 * 60
    assert result["device"] == device.info.name and result["algorithm"] == "block_resident"
    assert result["query_ms"] > 0
    assert result["from"]["lat"] == 42.5073 and result["from"]["lon"] == 1.5342
    assert 0 <= result["from"]["snapped_m"] < 50 and 0 <= result["to"]["snapped_m"] < 300
    line = json.loads((tmp_path / "r.geojson").read_text())["features"][0]
    assert line["geometry"]["type"] == "LineString"
    assert line["properties"]["distance_m"] == pytest.approx(result["distance_m"])
    assert "<html" in (tmp_path / "r.html").read_text()
    other = as_json(capsys, "route", str(andorra_path), "--from", FROM, "--to", TO)
    assert (other["distance_m"], other["duration_s"]) == (result["distance_m"], result["duration_s"])
    assert main(["route", andorra_graph, "--from", FROM, "--to", TO]) == 0
    text = capsys.readouterr().out
    assert "distance  " in text and other["device"] in text


@pytest.mark.usefixtures("may_use_vulkan")
def test_distances_are_in_the_callers_ids(capsys: pytest.CaptureFixture[str], plain_graph: str, tmp_path: Path) -> None:
    output = str(tmp_path / "d.npy")
    result = as_json(capsys, "distances", plain_graph, "--source", "37", "--output", output)
    expected = heap_dijkstra(grid(20, seed=2), 37)
    found = np.load(output)
    assert found.dtype == np.uint32 and np.array_equal(found, expected)
    assert result["reached"] == 400 and result["largest"] == expected.max()
    assert result["counters"]["iterations"] > 0
    query = ["distances", plain_graph, "--source", "0", "--algorithm", "delta_step"]
    assert main([*query, "--set", "delta=5", "--set", "light_heavy=1"]) == 0
    assert "400 of 400 nodes reached from 0" in capsys.readouterr().out


def test_unreachable_nodes_have_the_largest_number(tmp_path: Path) -> None:
    Graph.from_edges([0], [1], [5], num_nodes=3).save(tmp_path / "g")
    assert main(["distances", str(tmp_path / "g"), "--source", "0", "--output", str(tmp_path / "d.npy")]) == 0
    assert np.load(tmp_path / "d.npy").tolist() == [0, 5, UNREACHABLE] == [0, 5, 4294967295]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that a command which must fail prints."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:  # argparse's own
        code = stop.code  # type: ignore[assignment]
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.endswith("\n") and captured.err.count("\n") == 1, captured.err
    return captured.err


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "there is no command 'fly'; there are import, "),
        (["isochrones"], "there is no command 'isochrones'; did you mean 'isochrone'?"),
        (["info"], "required: GRAPH"),
        (["info", "none.graph"], "none.graph does not exist; check the path"),
        (["info", "none.osm.pbf"], "none.osm.pbf does not exist"),
        (["info", "."], ". is a folder; give a file"),
        (["-q", "info", "GRAPH"], "vkssp: the command comes before everything else; see 'vkssp --help'"),
        (["route", "GRAPH", "--from", FROM], "required: --to"),
        (["route", "GRAPH", "--from", "Paris", "--to", TO], "'Paris' is not LAT,LON in degrees"),
        (["route", "GRAPH", "--from", "42.5", "--to", TO], "'42.5' is not LAT,LON"),
        (["route", "GRAPH", "--from", "1.5342,42.5073", "--to", TO], "latitude and longitude are swapped"),
        (["route", "GRAPH", "--from", "52.5,13.4", "--to", TO], "from is 52.50000,13.40000, which is not on this map"),
        (["route", "GRAPH", "--from", FROM, "--to", "-33.9,18.4"], "to is -33.90000,18.40000, which is not on"),
        (["route", "GRAPH", "--from", FROM, "--to", "nan,1"], "give LAT,LON in degrees"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--device", "Voodoo"], "no device's name contains 'Voodoo'"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--device", "99"], "there is no device 99; choose one of 0: "),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--algorithm", "magic"], "algorithm is 'magic'; choose one"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--output", "no/r.geojson"], "no is no folder; make it first"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--map", "."], "it is a folder"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--set", "delta"], "'delta' is not NAME=INTEGER"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--set", "delta=1"], "algorithm is 'auto', which has none"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, *NEAR_FAR, "--set", "delta=0"], "delta is 0; near_far takes"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, *NEAR_FAR, "--set", "device=1"],
            "near_far has no parameter 'device'",
        ),
        (["nearest", "GRAPH", "--at", FROM, "--number", "0"], "number is 0; give how many streets"),
        (["nearest", "GRAPH", "--at", "1,1"], "place is 1.00000,1.00000, which is not on this map"),
        (["isochrone", "GRAPH", "--from", FROM, "--limits", "9"], "of this graph are durations; use --minutes"),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "5,x"], "'5,x' is not a list of numbers"),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "5,0"], "--minutes is 5,0; give numbers above 0"),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "inf"], "--minutes is inf; give numbers above 0"),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "nan"], "--minutes is nan; give numbers above 0"),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "5", "--width", "0"], "width is 0.0; give metres"),
        (["isochrone", "GRAPH", "--from", "1,1", "--minutes", "5"], "which is not on this map"),
        (["distances", "GRAPH", "--source", "0", *NEAR_FAR, "--set", "self=1"], "near_far has no parameter 'self'"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--output", "GRAPH"], "needed for something else"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--output", "x", "--map", "x"], "needed for something else"),
        (["route", "GRAPH", "--from", "42.4000,1.4000", "--to", TO], "which is not on this map"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, "--via", "1,1"],
            "via point 1 is 1.00000,1.00000, which is not",
        ),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--metric", "beauty"], "invalid choice: 'beauty'"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--avoid", "a.json"], "a.json does not exist; check the path"),
        (["isochrone", "GRAPH", "--from", FROM, "--metres", "0"], "--metres is 0; give numbers above 0"),
        (
            ["isochrone", "GRAPH", "--from", FROM, "--minutes", "5", "10"],
            "vkssp isochrone: unrecognized arguments: 10 (the values of a list are joined by commas",
        ),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "5", "--map", "."], "it is a folder"),
        (["nearest", "GRAPH", "--at", FROM, "--output", "GRAPH"], "needed for something else"),
        (["import", "EXTRACT", "EXTRACT"], "needed for something else"),
        (["import", "EXTRACT", "my.toml", "--profile", "my.toml"], "my.toml, which is needed for something else"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, "--profile", "my.toml", "--map", "my.toml"],
            "my.toml, which is needed for something else",
        ),
        (["distances", "GRAPH", "--source", "0", "--coordinates", "g.co", "--trace", "g.co"], "needed for something"),
        (["import", "EXTRACT", "out.osm.pbf"], "as a saved graph: its name must end in .graph or .npz"),
        (["prepare", "GRAPH", "out.gr"], "out.gr as a saved graph: its name must end"),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--output", "r.svg"], "must end in one of .geojson, .json, "),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--map", "r.pdf"], "must end in .html or .htm"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, "--map", "r.html", "--tiles", "ftp://t/{z}/{x}/{y}"],
            "--tiles is 'ftp://t/{z}/{x}/{y}'; give an address of https with {z}, {x} and {y}",
        ),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--tiles", "https://t/{z}/{x}/{y}"], "give --map, or leave"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, "--map", "r.html", "--attribution", "me"],
            "--attribution credits tiles, and there are none",
        ),
        (["route", "NONE", "--from", FROM, "--to", TO, "--output", "r.csv"], "must end in one of .geojson, .json, "),
        (["nearest", "GRAPH", "--at", FROM, "--output", "n.npy"], "must end in one of .geojson, .json, "),
        (["isochrone", "GRAPH", "--from", FROM, "--minutes", "5", "--output", "i.gpx"], "must end in one of .g"),
        (["distances", "GRAPH", "--source", "0", "--output", "d.csv"], "as a NumPy array: its name must end"),
        (["distances", "GRAPH", "--source", "0", "--trace", "t.npy"], "as CSV: its name must end"),
        (["bench", "road:8", "--json", "r.csv"], "as JSON: its name must end"),
        (["bench", "road:8", "--csv", "r.json"], "as CSV: its name must end"),
        (
            ["route", "GRAPH", "--from", FROM, "--to", TO, "--output", ""],
            "argument -o/--output: the file name is empty",
        ),
        (["route", "GRAPH", "--from", FROM, "--to", TO, "--avoid", ""], "argument --avoid: the file name is empty"),
        (["distances", "", "--source", "0"], "argument GRAPH: the file name is empty"),
        (["distances", "GRAPH", "--source", "0", "--trace="], "argument --trace: the file name is empty"),
        (["import", "EXTRACT", ""], "argument OUT: the file name is empty"),
        (["import", "EXTRACT", "g", "--profile", ""], "argument --profile: the file name is empty"),
        (["table", "GRAPH", "--sources", "", "--output", "t.csv"], "argument --sources: the file name is empty"),
        (["bench", "road:8", "--json", ""], "argument -o/--output/--json: the file name is empty"),
        (["info", "x" * 300], "File name too long"),
        (["distances", "GRAPH", "--source", "99999999"], "source is 99999999; node ids of this graph go from 0 to"),
        (["distances", "GRAPH", "--source", "-1"], "source is -1; node ids of this graph go from 0 to"),
        (["distances", "GRAPH", "--source", "x"], "--source is 'x'; give the id of a node"),
        (["distances", "GRAPH", "--source", "0", "--output", "no/d.npy"], "no is no folder; make it first"),
        (["import", "GRAPH", "out.graph", "--all-nodes"], "--all-nodes is for extracts, and"),
        (["import", "GRAPH", "out.graph", "--no-basemap"], "--no-basemap is for extracts, and"),
        (["import", "EXTRACT", "no/out.graph"], "no is no folder; make it first"),
        (["import", "EXTRACT", "out.graph", "--profile", "submarine"], "submarine"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str],
    andorra_graph: str,
    andorra_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"GRAPH": andorra_graph, "EXTRACT": str(andorra_path)}
    capsys.readouterr()
    assert words in refused(capsys, *(named.get(a, a) for a in arguments))
    assert os.listdir(tmp_path) == [], "nothing is left behind"


@pytest.mark.parametrize("content", [b"", b"this is no protocol buffer at all", bytes(5000)])
@pytest.mark.parametrize("name", ["a.osm.pbf", "a.osm", "a.osm.gz", "a.osm.bz2", "a.graph"])
def test_files_that_are_not_what_their_name_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert str(path) in refused(capsys, "info", str(path))


def test_a_truncated_extract(capsys: pytest.CaptureFixture[str], tmp_path: Path, andorra_path: Path) -> None:
    path = tmp_path / "cut.osm.pbf"
    path.write_bytes(andorra_path.read_bytes()[:300_000])
    assert str(path) in refused(capsys, "import", str(path), str(tmp_path / "g"))
    assert os.listdir(tmp_path) == ["cut.osm.pbf"]


def test_negative_weights_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    header = np.frombuffer(json.dumps({"format": "vkssp graph", "version": 1}).encode(), np.uint8)
    arrays = {"first_out": np.array([0, 1]), "head": np.array([0]), "weight": np.array([-4])}
    np.savez(tmp_path / "g.npz", header=header, **arrays)
    assert "weights must not be negative" in refused(capsys, "info", str(tmp_path / "g.npz"))


def in_a_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vkssp", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_any_driver(tmp_path: Path, plain_graph: str) -> None:
    nothing = str(tmp_path / "none.json")
    done = in_a_process(
        "distances", plain_graph, "--source", "0", "--device", "0", VK_DRIVER_FILES=nothing, VK_ICD_FILENAMES=nothing
    )
    assert done.returncode == 2
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]
    assert f"no Vulkan driver found: VK_DRIVER_FILES is {nothing}, and {nothing} does not exist; VK_ICD_FILE" in line
    assert line.endswith(
        "; unset them to look for all drivers, or put the .json file of an installed driver in VK_DRIVER_FILES"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "no Vulkan driver found; install your GPU vendor's driver"),
        ({"VK_ICD_FILENAMES": __file__}, f": VK_ICD_FILENAMES is {__file__}; unset it to look for all drivers, or put"),
        ({"VK_ICD_FILENAMES": f"{__file__}{os.pathsep}/no"}, ", and /no does not exist; unset it"),
        ({"VK_LOADER_DRIVERS_DISABLE": "*"}, ": VK_LOADER_DRIVERS_DISABLE is *; unset it to look for all drivers"),
    ],
)
def test_the_variable_that_hides_all_drivers_is_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DeviceError) as caught:
        choose([], None)
    assert words in str(caught.value)


def test_a_wrong_device_in_the_environment_still_lists_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    monkeypatch.setenv("VKSSP_DEVICE", "Voodoo")
    assert main(["devices"]) == 0
    output = capsys.readouterr().out
    assert device.info.name in output and "no device's name contains 'Voodoo'" in output


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in ((["--version"], __version__), (["--help"], "route"), (["route", "--help"], "LAT,LON")):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert words in capsys.readouterr().out


def test_a_reader_that_stops_early_is_no_error(plain_graph: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m vkssp info {shlex.quote(plain_graph)} | true; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
    assert done.stderr == ""


def test_algorithms_are_listed_with_all_that_one_chooses_by(capsys: pytest.CaptureFixture[str]) -> None:
    listed = as_json(capsys, "algorithms")
    places = [(name, place) for name, classes in ALGORITHMS.items() for place in classes]
    assert [(entry["name"], entry["runs_on"]) for entry in listed["algorithms"]] == places
    assert listed["default"] == "auto"
    for entry in listed["algorithms"]:
        assert all(entry[key] for key in ("idea", "source", "complexity", "use")) and "ends_early" in entry
        parameters = ALGORITHMS[entry["name"]][entry["runs_on"]].PARAMETERS
        assert [(p["name"], p["low"], p["high"], p["default"]) for p in entry["parameters"]] == [
            (p.name, p.low, p.high, p.default) for p in parameters
        ]
    assert main(["algorithms"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n{name}  (" in f"\n{text}" for name in ALGORITHMS) and max(map(len, text.splitlines())) <= 120
    assert main(["algorithms", "auto"]) == 2
    assert "auto is the algorithm of this list that fits the graph best" in capsys.readouterr().err
    assert main(["algorithms", "crauser"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("crauser  (Vulkan device") and "--set relax_workgroup_size=" in text and "martin" not in text
    assert main(["algorithms", "magic"]) == 2
    assert "algorithm is 'magic'; choose one of" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", ["martin", "dijkstra"])
def test_distances_with_counters_timings_and_a_trace(
    capsys: pytest.CaptureFixture[str], andorra_graph: str, tmp_path: Path, algorithm: str
) -> None:
    query = ["distances", andorra_graph, "--source", "3", "--algorithm", algorithm]
    query += ["--device", "0"] if algorithm == "martin" else []
    plain = as_json(capsys, *query)
    assert set(plain["counters"]) == {"iterations"}
    counted = as_json(capsys, *query, "--counters", "totals")["counters"]
    assert counted["iterations"] == plain["counters"]["iterations"] and counted["worked"] == plain["reached"]
    table = tmp_path / "trace.csv"
    result = as_json(capsys, *query, "--trace", str(table))
    assert set(result["timings"]) == {"setup_ms", "upload_ms", "device_ms", "download_ms"}
    header, *rows = table.read_text().splitlines()
    assert header == ",".join(TRACE.names or ()) and len(rows) == counted["iterations"]
    worked = header.split(",").index("worked")
    assert sum(int(row.split(",")[worked]) for row in rows) == counted["worked"]
    assert sum(phase["iterations"] for phase in result["phases"]) == len(rows)
    took = [float(row.split(",")[-1]) for row in rows]
    if algorithm == "dijkstra":
        assert all(map(math.isnan, took)) and result["phases"][0]["ms"] is None
    else:
        assert all(time >= 0 for time in took)
        assert sum(phase["ms"] for phase in result["phases"]) == pytest.approx(sum(took) / 1e3, abs=0.01)
    assert main([*query, "--trace", str(table), "--output", str(table)]) == 2
    assert "choose another name" in capsys.readouterr().err


def test_an_algorithm_on_the_cpu_takes_no_device(capsys: pytest.CaptureFixture[str], andorra_graph: str) -> None:
    query = ["distances", andorra_graph, "--source", "3", "--algorithm", "dijkstra"]
    assert main([*query, "--device", "0"]) == 2
    assert "dijkstra runs on the CPU; leave device out" in capsys.readouterr().err


def test_the_streets_near_a_place(capsys: pytest.CaptureFixture[str], andorra_graph: str) -> None:
    query = ["nearest", andorra_graph, "--at", FROM]
    (one,) = as_json(capsys, *query)["places"]
    three = as_json(capsys, *query, "--number", "3")["places"]
    assert one == three[0] and (one["lat"], one["lon"]) == (42.5073, 1.5342)
    assert [place["snapped_m"] for place in three] == sorted(place["snapped_m"] for place in three)
    assert main([*query, "--number", "3"]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()] == ["m"] * 3


def test_isochrones_of_an_extract(capsys: pytest.CaptureFixture[str], andorra_graph: str, tmp_path: Path) -> None:
    output = tmp_path / "i.geojson"
    query = ["isochrone", andorra_graph, "--from", FROM, "--minutes", "10,5", "--output", str(output)]
    result = as_json(capsys, *query)
    assert [one["seconds"] for one in result["isochrones"]] == [300, 600]
    assert 1000 < result["isochrones"][0]["road_m"] < result["isochrones"][1]["road_m"] < 1_000_000
    written = json.loads(output.read_text())
    assert [feature["properties"]["seconds"] for feature in written["features"]] == [600, 300]
    assert main(query) == 0
    text = capsys.readouterr().out
    assert "5 min" in text and "of road" in text and f"wrote     {output}" in text


def test_distances_say_what_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    query = ["distances", "road:64,shape_nodes=3", "--source", "3"]
    assert as_json(capsys, *query, "--device", "cpu")["algorithm"] == "dijkstra"
    query += ["--device", "0"]
    chosen = as_json(capsys, *query)
    assert chosen["algorithm"] == "block_resident" and 0 < chosen["core_nodes"] < chosen["nodes"] / 2
    assert main(query) == 0
    assert "with block_resident" in (text := capsys.readouterr().out) and "nodes after the reduction" in text
    assert as_json(capsys, *query, "--reduction", "none")["core_nodes"] is None


def test_a_route_by_the_cpu_is_that_of_the_device(capsys: pytest.CaptureFixture[str], andorra_graph: str) -> None:
    query = ["route", andorra_graph, "--from", FROM, "--to", TO]
    by_device, by_cpu = as_json(capsys, *query, "--device", "0"), as_json(capsys, *query, "--algorithm", "dijkstra")
    assert by_cpu["algorithm"] == "dijkstra" and by_cpu["device"] != by_device["device"]
    same = ("distance_m", "duration_s", "weight", "arcs")
    assert [by_cpu[key] for key in same] == [by_device[key] for key in same]


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_reduction_changes_no_answer(andorra_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for reduction in ("none", "full"):
        query = ["route", str(andorra_path), "--from", "42.5075,1.5218", "--to", "42.5430,1.7340", "--json"]
        assert main([*query, "--reduction", reduction]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["duration_s"] == answers[1]["duration_s"] > 0


def test_former_names_are_told_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["distances", "road:4", "--source", "0", "--algorithm", "crauser_cpu"]) == 0
    assert capsys.readouterr().err == (
        "vkssp: the algorithm 'crauser_cpu' is called 'crauser' with device 'cpu' now; use this name\n"
    )


def test_a_variable_that_selects_the_cpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    assert main(["distances", "road:4", "--source", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["algorithm"] == "dijkstra"
