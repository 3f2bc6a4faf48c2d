"""The comparison of sums over shortest paths with other libraries."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.scripts import load_script
from vkssp import Solver


@pytest.fixture
def script() -> Any:
    return load_script("compare_sums")


def test_a_graph(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    # In place of the libraries, which are not installed everywhere: one that is right, and one that is wrong.
    module_of, factor = script.module_of, [1.0]

    def closeness(self: Any, sources: list[int], **_: Any) -> Any:
        found = self.solver.centrality(sources)
        return factor[0] * (found.reached - 1) / found.total

    class Peer(SimpleNamespace):
        def closeness(self, *given: Any, **options: Any) -> Any:
            return closeness(self, *given, **options)

        def betweenness(self, **options: Any) -> Any:
            return self.solver.betweenness(options["sources"]).nodes

    monkeypatch.setattr(script, "module_of", lambda name, versions: name == "igraph" or None)
    monkeypatch.setattr(script.Comparison, "igraph", lambda _, graph: Peer(solver=Solver(graph, "dijkstra", "cpu")))
    arguments = ["road:12", "--sources", "5", "--repetitions", "1", "--cache", str(tmp_path / "cache")]
    assert script.main([*arguments, "--all", "--json", str(tmp_path / "r.json")]) == 0, capsys.readouterr().err
    rows = json.loads((tmp_path / "r.json").read_text())["graphs"][0]["rows"]
    assert len(rows) == 9 and {name for row in rows for name in row["times"]} == {"vkssp", "igraph"}
    assert all(row["ratio"] > 0 for row in rows if "igraph" in row["times"])
    capsys.readouterr()
    factor[0] = 1.01
    assert script.main(arguments) == 2
    assert capsys.readouterr().err.startswith("wrong closeness by igraph")
    monkeypatch.setattr(script, "module_of", lambda name, versions: None)
    accessibility = Solver.accessibility
    monkeypatch.setattr(Solver, "accessibility", lambda *given, **options: accessibility(*given, **options) + 1)
    assert script.main(arguments) == 2
    assert capsys.readouterr().err.startswith("wrong accessibility by vkssp")
    assert module_of("no_such_library", {}) is None and np.__version__ in module_versions(module_of)
    assert script.main([*arguments[:1], "--sources", "0"]) == 2


def module_versions(module_of: Any) -> list[str]:
    versions: dict[str, str] = {}
    module_of("numpy", versions)
    return list(versions.values())
