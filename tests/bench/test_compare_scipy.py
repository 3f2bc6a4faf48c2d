"""The comparison of scipy's functions with scipy."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from vkssp import csgraph

SCRIPT = ROOT / "scripts" / "compare_scipy.py"


def test_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("compare_scipy", SCRIPT)
    assert spec is not None and spec.loader is not None
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    arguments = ["road:12", "--repetitions", "1"]
    assert script.main([*arguments, "--json", str(tmp_path / "r.json")]) == 0, capsys.readouterr().err
    result = json.loads((tmp_path / "r.json").read_text())
    assert len(result["rows"]) == 7 and all(set(row["times"]) == {"vkssp", "scipy"} for row in result["rows"])
    assert "equal bit for bit" in capsys.readouterr().out
    right = csgraph.dijkstra
    monkeypatch.setattr(csgraph, "dijkstra", lambda *given, **named: 1.0001 * right(*given, **named))
    assert script.main(arguments) == 2
    assert "other distances" in capsys.readouterr().err
