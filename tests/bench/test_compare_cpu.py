"""The script that compares with other libraries on the CPU; a stand-in takes the part of OSRM."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA
from tests.support.scripts import load_script, run_script
from vkssp import Router, Solver
from vkssp.bench.osrm import Osrm, OsrmTables
from vkssp.errors import QueryError

for module in ("numba", "pymetis", "routingkit_cch"):
    pytest.importorskip(module)

FEW = ("--repetitions", "2", "--warm-up", "0")

#: A Python that has a package osrm, whose durations are as many seconds as the two longitudes differ in degrees.
PYTHON = """#!{python}
import importlib.metadata, runpy, sys, types
from pathlib import Path
folder = Path(__file__).parent
osrm = types.ModuleType("osrm")
osrm.__path__ = [str(folder / "osrm")]
class Engine:
    def __init__(self, storage_config, algorithm, **options):
        assert (algorithm, Path(storage_config).read_text()) == ("CH", "extracted contracted ")
        print("a log, which is no reply", flush=True)
    def Table(self, asked):
        lon = [place[0] for place in asked["coordinates"]]
        rows = [[None if a == b and place else abs(a - b) for place, b in enumerate(lon)] for a in lon]
        return dict(durations=rows)
osrm.OSRM, osrm.TableParameters = Engine, dict
sys.modules["osrm"] = osrm
importlib.metadata.version = lambda name: dict([("osrm-bindings", "1.2.3")])[name]
assert sys.argv[1] == "-I"
if sys.argv[2] == "-c":
    exec(sys.argv[3])
else:
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
PROGRAMS = {
    "osrm-routed": "echo v9",
    "osrm-extract": 'printf "extracted " > "$(dirname "$3")/map.osrm"',
    "osrm-contract": 'printf "contracted " >> "$1"',
}


@pytest.fixture
def osrm_python(tmp_path: Path) -> Path:
    programs, profiles = tmp_path / "osrm" / "bin", tmp_path / "osrm" / "share" / "profiles"
    programs.mkdir(parents=True)
    profiles.mkdir(parents=True)
    (profiles / "car.lua").touch()
    files = {programs / name: f"#!/bin/sh\n{text}\n" for name, text in PROGRAMS.items()}
    files[tmp_path / "python"] = PYTHON.format(python=sys.executable)
    for path, text in files.items():
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path / "python"


def test_a_graph(tmp_path: Path) -> None:
    options = ["--cache", tmp_path / "cache", "--json", tmp_path / "r.json"]
    done = run_script("compare_cpu", "road:14", *FEW, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "r.json").read_text())
    rows = {row["task"].partition(",")[0]: row for row in found["graphs"][0]["rows"]}
    peers = {name for row in rows.values() for name in row["times"]}
    assert peers == {"vkssp", "scipy", "RoutingKit, its order", "RoutingKit, our order"}
    tasks = {"one to all", "a tree", "a tree of 16 in a call", "a pair by the call", "customization alone"}
    assert tasks <= rows.keys() and all(task in done.stdout for task in rows)
    assert rows["one to all"]["verdict"] in done.stdout and rows["one to all"]["ratio"] > 0
    assert {"numba", "scipy", "routingkit-cch"} <= found["versions"].keys()
    assert found["host"]["cpu"] in done.stdout and found["commit"] in done.stdout


def test_a_map(tmp_path: Path, osrm_python: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    script, cache = load_script("compare_cpu"), tmp_path / "cache"
    options = ["--only", "routes,tables", "--routes", "4", "--table", "6", "--cache", str(cache), *FEW]
    arguments = ["compare_cpu", str(DATA / "andorra.osm.pbf"), *options, "--osrm-python", str(osrm_python)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--json", str(tmp_path / "r.json")])
    assert script.main() == 0, capsys.readouterr().err
    found = json.loads((tmp_path / "r.json").read_text())
    rows = found["graphs"][0]["rows"]
    assert found["versions"]["osrm-bindings"] == "1.2.3"
    assert [row["most_ms"] for row in rows] == [8.0, 0.4, 0.6, 1.0, 0.4, 0.6, None]
    assert rows[-1]["times"].keys() == {"vkssp", "OSRM, CH"} and len(rows[-1]["times"]["OSRM, CH"]) == 2
    saved = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert {path.suffix for path in saved} == {".graph", ""}
    assert script.main() == 0
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == saved

    # A wrong answer is an error, not a time.
    route = Router.route

    def detour(self: Router, *places: Any, **options: Any) -> Any:
        found = route(self, *places, **options)
        return found if self.solver.algorithm == "dijkstra" else script.dataclasses.replace(found, arcs=found.arcs[1:])

    monkeypatch.setattr(Router, "route", detour)
    capsys.readouterr()
    assert script.main() == 2
    assert capsys.readouterr().err.startswith("wrong route from ")


@pytest.mark.parametrize(
    ("group", "method", "error"),
    [
        ("one-to-all", "distances", "wrong distances from "),
        ("trees", "distances", "wrong trees from "),
        ("pairs", "distance", "wrong distances of pairs by vkssp"),
        ("pairs", "pairs", "wrong distances of many pairs by vkssp"),
        ("customization", "distance", "wrong distance after new weights"),
    ],
)
def test_wrong_distances_are_errors(
    group: str, method: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    script, right = load_script("compare_cpu"), getattr(Solver, method)
    # The random sources are chosen before, by Dijkstra's algorithm.
    monkeypatch.setattr(script, "far_sources", lambda *_: [(1, None, None)])
    monkeypatch.setattr(Solver, method, lambda *arguments: right(*arguments) + 1)
    monkeypatch.setattr(sys, "argv", ["compare_cpu", "road:9", "--only", group, *FEW, "--cache", str(tmp_path)])
    assert script.main() == 2
    assert capsys.readouterr().err.startswith(error)


def test_osrm_in_a_process_of_its_own(osrm_python: Path, tmp_path: Path) -> None:
    base = tmp_path / "map.osrm"
    base.write_text("extracted contracted ")
    with OsrmTables(str(osrm_python), base) as tables:
        assert tables.version == "1.2.3"
        ms, seconds = tables.table([(1.0, 5.0), (2.0, 7.5)])
        assert 0 < ms < 1e4 and seconds[0].tolist() == [0.0, 2.5] and seconds[1, 0] == 2.5 and seconds[1, 1] != 0
        assert tables.table([(1.0, 5.0)], answer=False)[1].shape == (0,)
    base.write_text("")
    with pytest.raises(QueryError, match=r"OSRM's process ended with 1; try .*osrm_tables\.py"):
        OsrmTables(str(osrm_python), base)
    with pytest.raises(QueryError, match="cannot run /nowhere/python"):
        Osrm.of_python("/nowhere/python")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["road:4", "--repetitions", "0"], "--repetitions, --routes and --table take 1"),
        (["road:4", "--only", "trees,forests"], "--only has 'forests'; choose some of one-to-all"),
        (["no such file"], "cannot read no such file: "),
    ],
)
def test_wrong_arguments(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["compare_cpu", *options, "--cache", str(tmp_path / "cache")])
    assert load_script("compare_cpu").main() == 2
    told = capsys.readouterr().err
    assert told.startswith(message) and told.count("\n") == 1
