"""The comparison of traffic assignments with AequilibraE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scripts import load_script
from vkssp.assignment import BPR, TrafficNetwork, equilibrium, tntp
from vkssp.assignment.flows_file import write_flows


def test_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = load_script("compare_assignment")
    delay = BPR([10.0, 15.0, 1.0, 0.0], [100, 200, 50, 1], [0.15, 0.15, 1, 0], [4, 4, 1, 0])
    network = TrafficNetwork(3, [0, 0, 1, 1], [1, 1, 2, 2], delay, zones=[0, 1, 2], fixed=[0, 0, 0.0, 9])
    net, trips, best = (str(tmp_path / name) for name in ("a_net.tntp", "a_trips.tntp", "a_flow.tntp"))
    demand = np.array([[5, 300, 40], [0, 0, 30], [0, 0, 0]])
    tntp.write_network(net, network)
    tntp.write_trips(trips, demand)
    write_flows(best, equilibrium(network, demand, gap=1e-9, device="cpu"))
    # In place of AequilibraE, which is not installed everywhere: one that is right, and one that is wrong.
    factor = [1.0]

    def peer(network: TrafficNetwork, demand: Any, gap: float, iterations: int) -> Any:
        return lambda _: (factor[0] * equilibrium(network, demand, method="cfw", gap=gap, device="cpu").flow, 7)

    monkeypatch.setattr(script, "aequilibrae_run", peer)
    version = script.importlib.metadata.version
    monkeypatch.setattr(
        script.importlib.metadata, "version", lambda name: "1" if name == "aequilibrae" else version(name)
    )
    arguments = [net, trips, "--toll-weight", "1", "--repetitions", "2", "--optimal", best]
    assert script.main([*arguments, "--json", str(tmp_path / "r.json")]) == 0, capsys.readouterr().err
    result = json.loads((tmp_path / "r.json").read_text())
    assert set(result["row"]["times"]) == {"vkssp", "aequilibrae"} and result["iterations"]["aequilibrae"] == 7
    assert 0 <= result["gap"] <= 1e-4 and abs(result["above_optimum"]) < 1e-4
    assert "above the optimal flows" in capsys.readouterr().out
    factor[0] = 1.001
    assert script.main(arguments) == 0
    assert "flows of aequilibrae do not carry the demand at 3 nodes" in capsys.readouterr().out
    monkeypatch.setattr(script, "gap_of", lambda *_: (2e-4, 0))
    assert script.main(arguments) == 2
    assert "wrong gap of vkssp" in capsys.readouterr().err
