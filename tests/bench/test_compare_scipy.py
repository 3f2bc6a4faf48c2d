"""The comparison of scipy's functions with scipy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.scripts import load_script
from vkssp import csgraph


def test_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = load_script("compare_scipy")
    arguments = ["road:12", "--repetitions", "1"]
    assert script.main([*arguments, "--json", str(tmp_path / "r.json")]) == 0, capsys.readouterr().err
    result = json.loads((tmp_path / "r.json").read_text())
    assert len(result["rows"]) == 7 and all(set(row["times"]) == {"vkssp", "scipy"} for row in result["rows"])
    assert "equal bit for bit" in capsys.readouterr().out
    right = csgraph.dijkstra
    monkeypatch.setattr(csgraph, "dijkstra", lambda *given, **named: 1.0001 * right(*given, **named))
    assert script.main(arguments) == 2
    assert "other distances" in capsys.readouterr().err
