"""The script that times what one asks of a prepared graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from vkssp.cch.unpack import Unpacker

for module in ("numba", "pymetis"):
    pytest.importorskip(module)

#: They measure algorithms of Vulkan devices.
pytestmark = pytest.mark.usefixtures("may_use_vulkan")


def test_all_questions_are_timed(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    options = ["road:12", "--queries", "9", "--table", "5", "--json", str(result)]
    done = run_script("time_queries", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(result.read_text())
    ways = [f"a path, {way}" for way in ("sweep and walk", "unpacked", "the faster one")]
    assert {"a pair", "10,000 pairs", "table of 5 by 5", "new weights", *ways} <= found["rows"].keys()
    assert found["rows"][ways[1]]["calls"] == 9 and all(name in done.stdout for name in found["rows"])


@pytest.mark.parametrize(
    ("options", "message"),
    [(["road:4", "--queries", "0"], "--queries and --table take"), (["road:4", "--seed", "-1"], "--seed 0 or more")],
)
def test_wrong_arguments(options: list[str], message: str) -> None:
    refused = run_script("time_queries", *options)
    assert refused.returncode == 2 and message in refused.stderr


def test_a_wrong_route_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("time_queries")
    path = Unpacker.path

    def shortened(self: Unpacker, *arguments: Any) -> Any:
        seed, target, arcs = path(self, *arguments) or (0, 0, np.zeros(0, np.int64))
        return seed, target, arcs[:-1]

    monkeypatch.setattr(Unpacker, "path", shortened)
    monkeypatch.setattr(sys, "argv", ["time_queries", "road:8", "--queries", "6", "--table", "3"])
    with pytest.raises(SystemExit, match="wrong route"):
        script.main()
