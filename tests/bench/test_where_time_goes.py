"""The script that runs others for the figures of a page of the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.paths import ROOT
from tests.support.scripts import load_script, run_script
from vkssp.errors import VksspError

#: A script that writes its result, one that fails, and one that does not end.
SCRIPTS = {
    "good": "import json, sys; print('on the way'); json.dump({'commit': 'abc'}, open(sys.argv[2], 'w'))",
    "bad": "import sys; print('so far'); print('no such file\\n', file=sys.stderr); sys.exit(3)",
    "slow": "import time; print('begun', flush=True); time.sleep(600)",
}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script as a module, which takes those that it runs from another folder."""
    module = load_script("where_time_goes")
    for name, code in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "LEAST_S", 0.0)
    return module


def test_failures_and_slow_steps_end_nothing(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = script.Step("good", ["good.py"], 300.0, tables=lambda _: [[("what", "ms"), ("a tree", "0.2")], [("x",)]])
    told, limit_s = "", 0.2
    while "begun" not in told:  # until Python has time enough to start
        limit_s *= 2
        steps = [script.Step("bad", ["bad.py"], 300.0), script.Step("slow", ["slow.py"], limit_s), good]
        words = rf"bad ended with exit code 3: no such file; slow was ended after {limit_s:.0f} s$"
        with pytest.raises(VksspError, match=words):
            script.run_all(steps, 3000.0, str(tmp_path / "rows.md"), str(tmp_path / "rows.json"))
        told, rows = capsys.readouterr().out, (tmp_path / "rows.md").read_text()
    assert json.loads((tmp_path / "rows.json").read_text()) == {"good": {"commit": "abc"}}
    assert all(line in told for line in ("so far", "begun", "on the way", "| a tree | 0.2 |"))
    assert (
        "**The script ended with exit code 3: no such file.**" in rows
        and "commit abc" in rows
        and "|---|---|" in rows
        and "| x |" not in rows
    )
    with pytest.raises(VksspError, match="good was not begun"):
        script.run_all([good], 0.0, None)


def test_rows_of_results(script: ModuleType) -> None:
    row = {"name": "a tree", "call_ms": [2, 1, 3], "device_ms": None, "bytes": 4 * 10**6}
    medians = {"before": [0.1], "driver and device": [0.2], "between": [0.0], "after": [0.3]}
    parts = {"parts_ms": medians, "submissions": 1}
    calls, kernels = script.calls_tables(
        {"rows": [row | parts, {"name": "a tree", "stages_ms": {"phast_sweep": 0.25}}]}
    )
    assert calls[1][1:] == ("2.00 (1.00..3.00)", "", "0.100", "0.200", "0.000", "0.300", "1", "2.00")
    assert kernels[1] == ("a tree", "phast_sweep", "0.250")
    rate = {"median": 2.0, "low": 1.0, "high": 4.0}  # million pairs a second
    pairs = {"graphs": [{"rows": [{"pairs": 10**4, "labels": {"call": rate, "device": None}}]}]}
    of_first = {"series": "the first", "first": 0, "calls": 20, "iterations": 3.0, "made": {"submissions": 26}}
    of_first |= {"call_ms": [2, 1, 3], "device_ms": [2, 1, 3], "clocks": [[345, 1980], []]}
    header, first = script.first_calls_tables({"rows": [of_first]})[0]
    assert dict(zip(header, first, strict=True))["submissions"] == "1.30" and first[-2:] == ("345..1980", "")
    assert script.pairs_tables(pairs)[0][1] == ("10,000", "5.00 (2.50..10.0)", "", "")


def test_every_step_is_a_script_of_the_project() -> None:
    options = ["--routes", "a.graph", "--large", "b.graph", "--pool", "0,1", "--device", "0", "--list"]
    done = run_script("where_time_goes", "road:9", *options)
    commands = [line.split(": ", 1) for line in done.stdout.splitlines()]
    assert [name for name, _ in commands[:3]] == ["first-calls", "first-calls-0", "calls"]
    assert done.returncode == 0 and len(commands) == 11
    assert all((ROOT / command.split()[0]).is_file() and "--device 0" in command for _, command in commands)
    for wrong in (("--minutes", "-1"), ("--scales", "-3")):
        assert run_script("where_time_goes", "road:9", *wrong, "--list").returncode == 2
    refused = run_script("where_time_goes", "road:9", "--only", "nothing")
    assert refused.returncode == 2 and "the steps are first-calls" in refused.stderr
