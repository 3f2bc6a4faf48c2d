"""The script that times what one asks of a prepared graph."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.paths import ROOT
from vkssp.cch.unpack import Unpacker

for module in ("numba", "pymetis"):
    pytest.importorskip(module)

SCRIPT = ROOT / "scripts" / "time_queries.py"
#: They measure algorithms of Vulkan devices.
pytestmark = pytest.mark.usefixtures("may_use_vulkan")


def test_all_questions_are_timed(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    options = ["road:12", "--queries", "9", "--table", "5", "--json", str(result)]
    run = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=True)
    found = json.loads(result.read_text())
    ways = [f"a path, {way}" for way in ("sweep and walk", "unpacked", "the faster one")]
    assert {"a pair", "10,000 pairs", "table of 5 by 5", "new weights", *ways} <= found["rows"].keys()
    assert found["rows"][ways[1]]["calls"] == 9 and all(name in run.stdout for name in found["rows"])


@pytest.mark.parametrize(
    ("options", "message"),
    [(["road:4", "--queries", "0"], "--queries and --table take"), (["road:4", "--seed", "-1"], "--seed 0 or more")],
)
def test_wrong_arguments(options: list[str], message: str) -> None:
    refused = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    assert refused.returncode == 2 and message in refused.stderr and "Traceback" not in refused.stderr


def test_a_wrong_route_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("time_queries", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    path = Unpacker.path

    def shortened(self: Unpacker, *arguments: Any) -> Any:
        seed, arcs = path(self, *arguments) or (None, np.zeros(0, np.int64))
        return seed, arcs[:-1]

    monkeypatch.setattr(Unpacker, "path", shortened)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "road:8", "--queries", "6", "--table", "3"])
    with pytest.raises(SystemExit, match="wrong route"):
        script.main()
