"""What all commands have in common: help, messages, colours, widths, pipes, and a start without large libraries."""

from __future__ import annotations

import io
import json
import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from tests.support.paths import DATA, ROOT
from tests.support.pipes import Piped, run_piped
from vkssp import Graph, choices
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.cli import main
from vkssp.commands import GROUPS, command, command_parser, names
from vkssp.commands.parser import CommandParser, filled, spelling
from vkssp.formats import FORMATS
from vkssp.graph.distance_type import DISTANCE_TYPES
from vkssp.log import logger
from vkssp.osm.profile import PROFILES, TURNS
from vkssp.solver.table_file import DTYPES
from vkssp.terminal import columns, has_colours, print_error

PROGRAM = [sys.executable, "-m", "vkssp"]


def run(*arguments: str, stdin: bytes | None = None, **environment: str) -> Piped:
    return run_piped(*arguments, stdin=stdin, VKSSP_DEVICE="cpu", **environment)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_words_are_those_of_the_modules_that_use_them() -> None:
    assert choices.ALGORITHMS == tuple(sorted(ALGORITHMS)) and choices.FORMATS == tuple(FORMATS)
    assert choices.PROFILES == tuple(PROFILES) and choices.TURNS == tuple(TURNS)
    assert tuple(DTYPES) == choices.TABLE_METRICS and tuple(DISTANCE_TYPES) == choices.DISTANCE_BITS


@pytest.mark.parametrize("name", ["", *names()])
def test_help_fits_on_a_screen_and_all_of_it_has_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, *filter(None, [name]), "--help")
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 80
    assert "example" in text
    if not name:
        assert all(f"\n  {one} " in text for one in names()) and all(f"\n{title}:" in text for title in GROUPS)
        return
    assert command(name).EXAMPLE in " ".join(text.replace("\\\n", " ").split())
    parser = command_parser(name)
    whole = "".join(shown(capsys, name, "--help-all").split())
    for _, is_rare, actions in parser.arguments():
        for action in actions:
            assert "".join((spelling(action) + filled(action)).split()) in whole
            assert any(one in text for one in action.option_strings) or not action.option_strings
            assert not is_rare or action.option_strings


@pytest.mark.parametrize("width", ["20", "40", "60", "300"])
def test_help_keeps_to_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert columns() == max(40, min(100, int(width)))
    for name in ("route", "isochrone"):
        lines = shown(capsys, name, "--help-all").splitlines()
        assert max(map(len, lines)) <= max(columns(), 72), "only what has no blank is longer"


def parse(parser: CommandParser, arguments: str) -> Any:
    return parser.parse_args(shlex.split(arguments))


#: Arguments that a command requires.
REQUIRED = {
    "import": "a b",
    "info": "a",
    "prepare": "a b",
    "route": "a --from 1,2 --to 1,2",
    "routes": "a --pairs p.csv -o r.csv",
    "trip": "a --places p.csv",
    "match": "a --trace t.gpx",
    "nearest": "a --at 1,2",
    "isochrone": "a --from 1,2 --minutes 5",
    "table": "a --sources s -o t.csv",
    "service-areas": "a --sources s -o t.csv",
    "distances": "a --source 0",
    "accessibility": "a b",
    "centrality": "a",
    "equilibrium": "a",
    "serve": "a",
    "dask-worker": "tcp://127.0.0.1:9",
    "completion": "bash",
}


@pytest.mark.parametrize("name", names())
def test_every_command_has_the_same_options_for_messages_and_files(name: str) -> None:
    parser, required = command_parser(name), REQUIRED.get(name, "")
    assert parse(parser, required).verbosity == 0
    for option, value in (("-q", -1), ("--quiet", -1), ("-v", 1), ("--verbose", 1)):
        assert parse(parser, f"{required} {option}").verbosity == value
    with pytest.raises(SystemExit):
        parse(parser, f"{required} -q -v")
    actions = [action for _, _, some in parser.arguments() for action in some]
    for action in actions:
        if "--output" in action.option_strings:
            assert "-o" in action.option_strings
        if "--algorithm" in action.option_strings:
            assert parse(parser, f"{required} --device cpu").device == "cpu"


def test_a_command_starts_without_large_libraries() -> None:
    code = f"""
import sys
from vkssp.cli import main
for arguments in (["--help"], ["--version"], *([name, "--help"] for name in {names()!r}), ["completion", "bash"]):
    try:
        main(arguments)
    except SystemExit:
        pass
    large = {{"numpy", "numba", "scipy", "shapely", "osmium", "vulkan", "tqdm"}} & {{*sys.modules}}
    assert not large, (arguments, large)
"""
    pytest.importorskip("shtab")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variables", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR": "0"}, True, False),
        ({"CLICOLOR": "1"}, False, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_follow_the_conventions(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert has_colours(stream) == expected
    monkeypatch.setattr(sys, "stderr", stream)
    print_error("no\x1bgraph", prefix="vkssp: ", colour="red")
    assert stream.getvalue() == ("\x1b[31mvkssp: \x1b[0m" if expected else "vkssp: ") + "no\\x1bgraph\n"


def test_errors_have_colours_only_where_they_are_wanted() -> None:
    assert run("info", "none").stderr.startswith(b"vkssp: none does")
    assert run("info", "none", FORCE_COLOR="1", NO_COLOR="").stderr.startswith(b"\x1b[31mvkssp: \x1b[0mnone does")


def test_messages_go_to_the_logger_and_are_shown_as_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph, traffic = tmp_path / "g.graph", tmp_path / "t.csv"
    assert main(["import", str(DATA / "andorra.osm.pbf"), str(graph)]) == 0
    traffic.write_text("way,speed_kmh\n1,20\n30922493,10\n")
    query = ["route", str(graph), "--from", "42.5075,1.5218", "--to", "42.543,1.734", "--device", "cpu"]
    query += ["--traffic", str(traffic)]
    capsys.readouterr()
    printed = {}
    for level in ("", "-q", "-v"):
        assert main([*query, *filter(None, [level])]) == 0
        printed[level] = capsys.readouterr()
        assert printed[level].out.startswith("from  "), "what goes to no file is printed"
    assert printed[""].err == f"vkssp: 1 of the 2 ways in {traffic} are not in the graph and are ignored\n"
    assert printed["-q"].err == ""
    assert f"read {graph} in " in printed["-v"].err and "are ignored" in printed["-v"].err
    assert {record.name for record in caplog.records} >= {"vkssp.commands.common"}
    assert main([*query, "-q", "--output", str(tmp_path / "r.geojson")]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*query, "-q", "--output", str(tmp_path / "r.geojson"), "--json"]) == 0
    assert "distance_m" in json.loads(capsys.readouterr().out)
    assert main(["info", "none", "-q"]) == 2
    assert "none does not exist" in capsys.readouterr().err


def test_the_library_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Unlike Python's logging without handlers, which prints warnings."""
    code = "from vkssp.log import logger; logger('vkssp.solver').warning('lost')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert logger("vkssp.routing").parent is logging.getLogger("vkssp")


@pytest.fixture(scope="module")
def andorra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pipes") / "andorra.graph"
    assert main(["import", str(DATA / "andorra.osm.pbf"), str(path), "-q"]) == 0
    return path


PLACES = b"id,lat,lon\na,42.5078,1.5211\nb,42.5361,1.5828\n"


def test_graphs_come_and_go_by_pipes(andorra: Path, tmp_path: Path) -> None:
    extract = (DATA / "andorra.osm.pbf").read_bytes()
    made = run("import", "-", "-", stdin=extract)
    assert made.returncode == 0 and b"wrote -.graph" in made.stderr
    (tmp_path / "g").write_bytes(made.stdout)
    graph, expected = Graph.load(tmp_path / "g"), Graph.load(andorra)
    assert np.array_equal(graph.weight, expected.weight) and graph.streets is not None
    prepared = run("prepare", "-", "--output", "-", "--quiet", stdin=made.stdout)
    assert prepared.stderr == b""
    (tmp_path / "p").write_bytes(prepared.stdout)
    assert Graph.load(tmp_path / "p").hierarchy is not None
    edges = b"from;to;km\n7;8;3\n8;9;4\n"
    found = run("distances", "-", "--source", "7", "--edge-columns", "1,2,3", "--output", "-", stdin=edges)
    assert np.load(io.BytesIO(found.stdout)).tolist() == [0, 3, 7]
    assert b"3 of 3 nodes reached" in found.stderr


def test_results_go_to_pipes_without_messages(andorra: Path) -> None:
    graph = str(andorra)
    ends = ["--from", "42.5075,1.5218", "--to", "42.543,1.734"]
    route = run("route", graph, *ends, "-o", "-", "--json")
    assert json.loads(route.stdout)["type"] == "FeatureCollection" and "distance_m" in json.loads(route.stderr)
    table = run("table", graph, "--sources", "-", "-o", "-", stdin=PLACES)
    lines = table.stdout.decode().splitlines()
    assert lines[0] == "source,target,duration_s" and len(lines) == 5 and lines[1] == "a,a,0.0"
    assert b"table     2 sources" in table.stderr
    array = run("table", graph, "--sources", "-", "-o", "-.npy", "-q", stdin=PLACES)
    assert np.load(io.BytesIO(array.stdout)).shape == (2, 2) and array.stderr == b""
    areas = run("service-areas", graph, "--sources", "-", "--output", "-.geojson", "-q", stdin=PLACES)
    assert json.loads(areas.stdout)["features"]
    page = run("route", graph, *ends, "--map", "-", "-q")
    assert page.stdout.startswith(b"<!DOCTYPE html>") and page.stderr == b""
    reach = run("accessibility", graph, "-", "--limits", "300", "-o", "-", "-q", stdin=PLACES)
    assert reach.stdout.startswith(b"node,lat,lon,osm_node,count_300s\n")


def test_parquet_by_a_pipe(andorra: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    done = run("table", str(andorra), "--sources", "-", "-o", "-.parquet", "-q", stdin=PLACES)
    assert parquet.read_table(io.BytesIO(done.stdout)).num_rows == 4


@pytest.mark.parametrize("ending", [".geojson", ".gpx", ".kml", ".fgb", ".parquet", ".csv", ".gpkg", ".shp.zip"])
def test_map_files_by_pipes_are_as_on_disk(andorra: Path, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyogrio")
    pytest.importorskip("pyarrow")
    query, file = (
        ["nearest", str(andorra), "--at", "42.5075,1.5218", "--number", "3", "-q", "-o"],
        tmp_path / f"n{ending}",
    )
    run(*query, str(file))
    if ending not in (".gpkg", ".shp.zip"):
        assert run(*query, f"-{ending}").stdout == file.read_bytes()
    table = ["table", str(andorra), "-q", "-o", "-", "--sources"]
    piped, named = run(*table, "-", stdin=file.read_bytes()), run(*table, str(file))
    assert piped.stdout == named.stdout and piped.stdout.count(b"\n") == 10 and piped.stderr == b""
    assert piped.stdout.splitlines()[-1].startswith(b"2,2,")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("table - --sources - -o t.csv", "standard input can be only one of graph and sources"),
        ("route GRAPH --from 42.5,1.5 --to 42.5,1.5 -o - --map -", "standard output can be only one of output and map"),
        ("table GRAPH --sources - -o -.zarr", "Zarr arrays are a folder, which standard output is not"),
        ("route GRAPH --from 42.5,1.5 --to 42.5,1.5 -o -.gpkg", ".gpkg files need a place on a disk"),
        ("route GRAPH --from 42.5,1.5 --to 42.5,1.5 -o -.shp.zip", ".shp.zip files need a place on a disk"),
        ("nearest GRAPH --at 42.5,1.5 -o -.shp", ".shp files need a place on a disk"),
        ("route GRAPH --from 42.5,1.5 --to 42.5,1.5 -o -.csv", "cannot write a route to -.csv"),
        ("table GRAPH --sources - -o -.xls", "its name must end in one of .npy"),
        ("distances GRAPH --source 0 -o -.csv", "as a NumPy array: its name must end in .npy"),
        ("import GRAPH a.graph -o b.graph", "give the file of the saved graph once"),
        ("import GRAPH", "give the file of the saved graph once"),
        ("info -", "standard input, line 2: has 3 fields, and the first line has 2"),
        ("table GRAPH --sources -", "the following arguments are required: -o/--output"),
    ],
)
def test_what_streams_cannot_be(
    andorra: Path, tmp_path: Path, arguments: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [str(andorra) if word == "GRAPH" else word for word in arguments.split()]
    monkeypatch.chdir(tmp_path)
    done = run_piped(*given, stdin=b"from,to\n1,2,3\n", TMPDIR=str(tmp_path))
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    assert words in done.stderr.decode() and os.listdir(tmp_path) == []


def test_what_is_kept_of_standard_input_is_removed(tmp_path: Path) -> None:
    done = run("info", "-", stdin=b"1 2\n", TMPDIR=str(tmp_path))
    assert done.returncode == 0 and os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs pseudoterminals")
def test_data_that_are_no_text_stay_off_terminals(tmp_path: Path) -> None:
    import pty

    grid(5).save(tmp_path / "g.graph")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "distances", str(tmp_path / "g.graph"), "--source", "0", "--device", "cpu", "-o", "-"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=theirs, stderr=subprocess.PIPE, check=False
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2 and b"these data are no text for a terminal" in done.stderr


def test_a_reader_that_leaves_early_ends_a_table(andorra: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "n.csv"
    nodes.write_text("node\n" + "\n".join(map(str, range(400))) + "\n")
    command = shlex.join([*PROGRAM, "table", str(andorra), "--sources", str(nodes), "--targets", "all", "-o", "-"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VKSSP_DEVICE": "cpu"}
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -2; exit ${{PIPESTATUS[0]}}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 141 and done.stderr == "" and done.stdout.count("\n") == 2


def test_distances_by_a_pipe_are_right(tmp_path: Path) -> None:
    grid(20, seed=2).save(tmp_path / "g")
    done = run("distances", str(tmp_path / "g"), "--source", "37", "-o-", "-q")
    assert np.array_equal(np.load(io.BytesIO(done.stdout)), heap_dijkstra(grid(20, seed=2), 37))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "service-areas" in script and "delta_step_buckets" in script
    (tmp_path / "script").write_text(script)
    try:
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True, capture_output=True)
    except FileNotFoundError:
        return  # the shell is not on this machine
    if shell == "bash":
        code = (
            f"source {tmp_path}/script; COMP_WORDS=(vkssp route --algorithm near); COMP_CWORD=3; _shtab_vkssp; "
            "echo ${COMPREPLY[@]}; COMP_WORDS=(vkssp is); COMP_CWORD=1; _shtab_vkssp; echo ${COMPREPLY[@]}"
        )
        done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True)
        assert done.stdout == "near_far\nisochrone\n"


def test_completion_without_its_library(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'vkssp[completion]'" in capsys.readouterr().err
    assert main(["completion", "bash", "-q", "--json"]) == 2
