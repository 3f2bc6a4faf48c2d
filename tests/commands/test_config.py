"""The configuration file: what it sets, what comes before it, and what is wrong with it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from vkssp.cli import main
from vkssp.commands import command_parser, names
from vkssp.commands.settings import config_path, configurable


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VKSSP_CONFIG", str(tmp_path / "c.toml"))
    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    return tmp_path / "c.toml"


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_options_come_from_the_line_the_environment_and_the_file(
    capsys: pytest.CaptureFixture[str], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ["distances", "road:8", "--source", "0"]
    config.write_text(
        '[defaults]\ndevice = "none such"\n[distances]\nalgorithm = "bellman_ford"\ncounters = "totals"\n'
    )
    assert main(query) == 2
    assert "'none such'" in capsys.readouterr().err
    found = as_json(capsys, *query, "--device", "cpu")
    assert found["algorithm"] == "bellman_ford" and "relaxed" in found["counters"]
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    assert as_json(capsys, *query)["algorithm"] == "bellman_ford"
    assert as_json(capsys, *query, "--algorithm", "dijkstra")["algorithm"] == "dijkstra"
    config.write_text('[defaults]\nalgorithm = "bellman_ford"\nquiet = true\n[distances]\nalgorithm = "crauser"\n')
    assert as_json(capsys, *query)["algorithm"] == "crauser"
    assert main([*query, "--output", "d.npy"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*query, "--output", "d.npy", "-v"]) == 0
    assert "made a solver" in capsys.readouterr().err


def test_a_profile_is_for_extracts_and_no_error_elsewhere(
    capsys: pytest.CaptureFixture[str], config: Path, andorra_path: Path
) -> None:
    config.write_text('[defaults]\nprofile = "foot"\nturns = "none"\n')
    assert as_json(capsys, "info", "road:8")["nodes"] == 64
    foot = as_json(capsys, "info", str(andorra_path))
    assert foot == as_json(capsys, "info", str(andorra_path), "--profile", "foot")
    assert foot["nodes"] != as_json(capsys, "info", str(andorra_path), "--profile", "car")["nodes"]
    assert as_json(capsys, "import", str(andorra_path), "foot.graph")["profile"] == "foot"
    assert main(["info", "road:8", "--profile", "foot"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "is no TOML (Expected '='"),
        ("a = 1", "a stands outside of a table; put it below [defaults]"),
        ("[rute]\na = 1", "there is no command 'rute'; did you mean 'route'?"),
        ('[defaults]\nmetrik = "x"', "[defaults] has no option 'metrik' that can be set; did you mean 'metric'?"),
        ('[route]\nsource = "x"', "[route] has no option 'source' that can be set"),
        ('[route]\noutput = "x.geojson"', "[route] has no option 'output' that can be set"),
        ('[route]\nfrom = "1,2"', "[route] has no option 'from' that can be set"),
        ("[isochrone]\nminutes = [5]", "[isochrone] has no option 'minutes' that can be set"),
        ('[route]\nmetric = "speed"', "metric in [route] is 'speed'; choose one of duration, distance"),
        ("[defaults]\ndevice = 3", "device in [defaults] is 3; give a text in quotes"),
        ("[route]\nsteps = 1", "steps in [route] is 1; give true or false"),
        ('[isochrone]\nwidth = "wide"', "width in [isochrone] is 'wide'; give a number"),
        ("[centrality]\nseed = 1.5", "seed in [centrality] is 1.5; give a whole number"),
        ('[distances]\nset = "delta=1"', "set in [distances] is 'delta=1'; give a list"),
        ('[distances]\nset = ["delta"]', "set in [distances] is ['delta']; 'delta' is not NAME=INTEGER"),
        ('[route]\nprofile = ""', "profile in [route] is ''; the file name is empty"),
        ("\xff", "is no TOML"),
    ],
)
def test_what_is_wrong_is_named(capsys: pytest.CaptureFixture[str], config: Path, text: str, words: str) -> None:
    config.write_bytes(text.encode("latin-1"))
    assert main(["config"]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and str(config) in printed.err and printed.err.count("\n") == 1 and printed.out == ""
    section = text.partition("]")[0].removeprefix("[")
    if section in names() or section == "defaults":
        with pytest.raises(SystemExit) as stop:
            main([section if section in names() else "route", "--help"])
        assert stop.value.code == 0


def test_files_that_are_not_there(
    capsys: pytest.CaptureFixture[str], config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["info", "road:3"]) == 2
    assert f"VKSSP_CONFIG is {config}, which does not exist" in capsys.readouterr().err
    monkeypatch.setenv("VKSSP_CONFIG", str(tmp_path))
    assert main(["info", "road:3"]) == 2
    assert "cannot read the configuration" in capsys.readouterr().err
    with open(tmp_path / "large", "wb") as stream:
        stream.truncate(2 << 20)
    monkeypatch.setenv("VKSSP_CONFIG", str(tmp_path / "large"))
    assert main(["info", "road:3"]) == 2
    assert "is no configuration" in capsys.readouterr().err
    monkeypatch.delenv("VKSSP_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    found = as_json(capsys, "config")
    assert found["file"] == str(config_path()) and not found["exists"] and found["settings"] == []
    assert str(tmp_path / "nowhere") in found["file"]


def test_what_is_in_force_and_where_from(
    capsys: pytest.CaptureFixture[str], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(
        '[defaults]\ndevice = "cpu"\n[isochrone]\nwidth = 30\n[centrality]\nmeasures = ["harmonic", "closeness"]\n'
    )
    listed = {(one["command"], one["option"]): one for one in as_json(capsys, "config")["settings"]}
    assert listed["isochrone", "width"]["value"] == 30.0
    assert listed["isochrone", "width"]["from"] == f"[isochrone] in {config}"
    assert listed["centrality", "measures"]["value"] == ["harmonic", "closeness"]
    assert listed["table", "device"]["value"] == "cpu" and ("info", "device") not in listed
    monkeypatch.setenv("VKSSP_DEVICE", "all")
    of_table = {one["option"]: one for one in as_json(capsys, "config", "table")["settings"]}
    assert (of_table["device"]["value"], of_table["device"]["from"]) == ("all", "VKSSP_DEVICE")
    assert (of_table["metric"]["value"], of_table["metric"]["from"]) == ("duration", "default")
    assert set(of_table) == set(configurable(command_parser("table")))
    assert main(["config"]) == 0
    text = capsys.readouterr().out
    assert f"file      {config}, by VKSSP_CONFIG" in text and '"all"  from VKSSP_DEVICE' in text
    config.write_text("")
    monkeypatch.delenv("VKSSP_DEVICE")
    assert main(["config"]) == 0
    assert "nothing is set" in capsys.readouterr().out


def test_no_file_is_read_by_tests() -> None:
    assert os.environ["VKSSP_CONFIG"] == os.devnull and sys.modules["vkssp.cli"]
