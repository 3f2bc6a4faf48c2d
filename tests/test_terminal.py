"""What is printed of texts from files: nothing that a terminal would obey, and one line where one is meant."""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.streetmaps import street_map
from vkssp.cli import main
from vkssp.terminal import printable, progress_bar

#: Clears the screen, begins a line of its own, turns the rest of the line round, and rings a bell.
FORGED = "Main\x1b[2J St\nfrom      0.0,0.0\u2028on \u202eEvil\u2066\x9b1m\x07"
OBEYED = set("\x1b\x9b\x07\u2028\u202e\u2066")
PACKAGE = ROOT / "vkssp"


def test_what_a_terminal_obeys_is_shown_and_letters_stay() -> None:
    assert printable(FORGED) == r"Main\x1b[2J St\nfrom      0.0,0.0\u2028on \u202eEvil\u2066\x9b1m\x07"
    assert printable("Straße שלום שדרות\u200f 東京 \ud8f0") == "Straße שלום שדרות\u200f 東京 \\ud8f0"
    assert all(
        printable(chr(code)) != chr(code)
        for code in (*range(32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xD800, 0xDFFF)
    )


def forged_map(folder: Path) -> str:
    graph = street_map([(0, 0), (0, 9), (9, 9)], [(0, 1, 50), (1, 2, 50)])
    assert graph.streets is not None
    streets = dataclasses.replace(graph.streets, names=("", FORGED, f"{FORGED} 2"))
    dataclasses.replace(graph, streets=streets).save(folder / "forged.graph")
    return str(folder / "forged.graph")


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        (["nearest", "--at", "0.0001,0.001"], 1),
        (["route", "--from", "0.0001,0.001", "--to", "0.008,0.009", "--steps", "--algorithm", "dijkstra"], 11),
    ],
)
def test_a_street_name_forges_no_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, query: list[str], lines: int
) -> None:
    query = [query[0], forged_map(tmp_path), *query[1:]]
    assert main(query) == 0
    text = capsys.readouterr().out
    assert r"Main\x1b[2J St\nfrom" in text and not OBEYED & set(text) and text.count("\n") == lines
    assert main([*query, "--json"]) == 0
    text = capsys.readouterr().out
    assert text.isascii() and text.count("\n") == 1, "JSON escapes them itself"
    result = json.loads(text)
    assert FORGED in (result["places"][0] if query[0] == "nearest" else result["from"])["name"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "no\n\x1b[31mfile"],
        ["info", "x" * 300 + "\nvkssp: all is well\x1b[2J"],
        ["info", "rmat:3", "--profile", "a", "stray\nvkssp: all is well\x1b[2J"],
        ["import", "MAP", "out.graph", "--profile", "PROFILE"],
        ["import", "MAP", "out.graph"],
        ["table", "rmat:3", "--sources", "NODES", "--output", "t.csv"],
    ],
)
def test_errors_are_one_line_whatever_a_file_is_called_or_holds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "MAP": ("\x1b[2J\nmap.osm", '<osm version="0.6"><node id="1" lat="\u202e"/></osm>'),
        "PROFILE": ("\x9bp.toml", 'vehicle = "car"\n"a\u202eb\\u001b" = 1\n'),
        "NODES": ("s\x07.csv", "node\n1\n\x1b[2J\u2028\n"),
    }
    for name, content in files.values():
        Path(name).write_text(content, encoding="utf-8")
    try:
        code = main([files[argument][0] if argument in files else argument for argument in arguments])
    except SystemExit as stop:  # argparse's own
        code = stop.code  # type: ignore[assignment]
    printed = capsys.readouterr()
    assert code == 2 and printed.out == ""
    assert printed.err.count("\n") == 1 and not OBEYED & set(printed.err), printed.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", [["info", "no-such.graph"], ["no-such-command"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_that_finds_no_room_keeps_its_exit_code(arguments: list[str], unbuffered: str) -> None:
    command = [sys.executable, "-m", "vkssp", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stderr=full, timeout=60, env=environment).returncode == 2


def test_progress_bars_are_one_line() -> None:
    stream = io.StringIO()
    with progress_bar(title=f"Reading {FORGED}", shown=True, total=2, delay=0.0, file=stream) as bar:
        bar.update()
    text = stream.getvalue()
    assert r"Reading Main\x1b[2J St\nfrom" in text and not OBEYED & set(text) and "\n" not in text


@pytest.mark.parametrize(("config", "shows"), [({"IPKernelApp": {}}, True), ({}, False)])
def test_progress_bars_show_in_notebooks_though_standard_error_is_no_terminal(
    config: dict[str, object], shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(config=config))
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar(shown=None, total=2, delay=0.0) as bar:
        assert bar.disable is not shows


def test_nothing_else_prints() -> None:
    """A module that printed on its own would print what files hold as it is."""
    printing = {
        f"{path.relative_to(PACKAGE)}, line {node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if path.name != "terminal.py" and isinstance(node, ast.Name) and node.id in ("print", "tqdm", "trange")
    }
    assert not printing
