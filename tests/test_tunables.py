"""Constants that change speed only: no valid value changes an answer, and no file but a sound one is read."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import grid, heap_dijkstra, make_solver, scipy_dijkstra
from tests.support.paths import ROOT
from vkssp import DeviceError, Graph, QueryError, Solver, prepare, tune
from vkssp.bench import tuning
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import about
from vkssp.bench.tuning import JUDGES, Case, Comparison, Judge
from vkssp.gpu.device import Device
from vkssp.tunables import TUNABLES, TUNED_VARIABLE, defaults, file_of, is_tuned, keep_values, kept_values

GRAPH = prepare(grid(9, seed=4))
#: Nodes with so many arcs that other constants hold.
HUBS = Graph.from_edges(*np.random.default_rng(1).integers(0, (60, 60, 90), (900, 3)).T, num_nodes=60)
NODES = np.arange(0, GRAPH.num_nodes, 7)
EXPECTED = np.stack([scipy_dijkstra(GRAPH, node) for node in NODES.tolist()])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let files of values be read, from a folder of the test."""
    monkeypatch.setattr("vkssp.tunables.cache_folder", lambda: tmp_path)  # compiled pipelines stay where they are
    monkeypatch.delenv(TUNED_VARIABLE)
    return tmp_path


def drawn(rng: random.Random, device: Device) -> dict[str, int]:
    """Return a valid value for each constant."""
    limits, values = asdict(device.limits), {}
    for name, one in TUNABLES.items():
        known = (one.gpu, one.software, *one.candidates)
        some = [*known, *(rng.randint(min(known), max(known)) for _ in range(3))]
        values[name] = rng.choice([value for value in some if one.allows(value, limits)])
    return values


def check_answers(device: Device) -> None:
    with make_solver(HUBS, "near_far", device) as solver:
        assert np.array_equal(solver.distances(3), heap_dijkstra(HUBS, 3))
    for algorithm in ("near_far", "block_resident", "delta_step"):
        with make_solver(GRAPH, algorithm, device) as solver:
            assert np.array_equal(solver.distances(int(NODES[0])), EXPECTED[0]), algorithm
            assert solver.path(int(NODES[0]), int(NODES[-1])).weight == EXPECTED[0, NODES[-1]]
    for algorithm in ("block_resident", "phast"):
        with Solver(GRAPH, algorithm, device) as solver:
            assert np.array_equal(solver.table(NODES, NODES), EXPECTED[:, NODES])
            assert np.array_equal(solver.distances(NODES), EXPECTED)
    with Solver(GRAPH, "phast", device) as solver:
        for count in (1, 12, 150):
            sources, targets = np.resize(NODES, count), np.resize(NODES[::-1], count)
            assert np.array_equal(
                solver.pairs(sources, targets), EXPECTED[np.resize(range(len(NODES)), count), targets]
            )
        solver.set_weights(2 * GRAPH.weight)
        assert np.array_equal(solver.distances(int(NODES[0])), 2 * EXPECTED[0])


def test_no_valid_values_change_answers() -> None:
    with open_device() as device:
        values = drawn(random.Random(5), device)
        keep_values(device.info.identity, values, {})
    with open_device() as device:
        usual = defaults(is_software=device.info.kind == "cpu")
        assert device.tuned == values != usual
        result = where_and_when(device)
        assert result["tuned"] == {name: value for name, value in values.items() if value != usual[name]}
        assert about(result).endswith(", ".join(f"{name} = {value}" for name, value in result["tuned"].items()))
        check_answers(device)


def test_only_sound_files_are_read(
    device: Device, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, limits = device.info, asdict(device.info.limits)
    assert kept_values(info.identity, limits) == {} and not is_tuned(info.identity)
    excessive = {"phast.workgroup_size": 2 * info.limits.workgroup_size, "phast.lanes": 48, "near_far.rounds": 0}
    others = {"near_far.workgroups": True, "pairs.size_for_few": "64", "no such constant": 1}
    path = keep_values(info.identity, {"blocks.narrower": 9, **excessive, **others}, {})  # type: ignore[dict-item]
    assert kept_values(info.identity, limits) == {"blocks.narrower": 9} and is_tuned(info.identity)
    assert path == file_of(info.identity) and not caplog.records
    monkeypatch.setenv(TUNED_VARIABLE, "off")
    assert kept_values(info.identity, limits) == {} and not is_tuned(info.identity)
    monkeypatch.setenv(TUNED_VARIABLE, "perhaps")
    with pytest.raises(DeviceError, match="VKSSP_TUNED is 'perhaps'; give on or off"):
        kept_values(info.identity, limits)
    monkeypatch.setenv(TUNED_VARIABLE, "on")
    content = json.loads(path.read_text())
    foreign = json.dumps({**content, "of": {**content["of"], "driver": "another"}})
    for text in (
        foreign,
        "[]",
        '{"of": 1}',
        path.read_text()[:-9],
        "[" * 100_000,
        json.dumps({**content, "values": 3}),
    ):
        path.write_text(text)
        caplog.clear()
        monkeypatch.setattr("vkssp.tunables.warned", set())
        assert kept_values(info.identity, limits) == {} == kept_values(info.identity, limits)
        assert not is_tuned(info.identity)
        assert [record.levelname for record in caplog.records] == ["WARNING"], text[:40]


def measure_only(monkeypatch: pytest.MonkeyPatch, constants: list[str], judges: list[str]) -> None:
    """Let only some constants be tuned, by some measurements, on small graphs."""
    monkeypatch.setattr(tuning, "TUNABLES", {name: TUNABLES[name] for name in constants})
    monkeypatch.setattr(tuning, "JUDGES", {name: JUDGES[name] for name in judges})
    for name, text in (("ROADS", "road:5"), ("HUBS", "rmat:3")):
        monkeypatch.setattr(tuning, f"SOFTWARE_{name}", text)
        monkeypatch.setattr(tuning, f"SECOND_SOFTWARE_{name}", text.replace("5", "6").replace("3", "4"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let little be measured, on small graphs, and each candidate be better than the one before."""
    measure_only(monkeypatch, ["near_far.delta_per_mean"], ["search by queues", "sweeping search"])

    def compare(best: Any, candidate: Any, expected: Any, *_: Any, **__: Any) -> Comparison:
        if not np.array_equal(best(), expected) or not np.array_equal(candidate(), expected):
            raise tuning.WrongAnswersError("wrong")
        return Comparison(10.0, 1.0, 0.5)

    monkeypatch.setattr(tuning, "compare", compare)


@pytest.mark.usefixtures("few")
def test_what_is_better_is_kept(device: Device) -> None:
    index, default = device.info.index, TUNABLES["near_far.delta_per_mean"].software
    found = tune(index)
    last = 400  # the candidates near the default come first
    assert found.values == {"near_far.delta_per_mean": last} and found.tried == 4
    assert not found.wrong and not found.unconfirmed and not found.left_out
    assert found.measured["near_far.delta_per_mean"] == {"default_ms": 10.0, "ms": 1.0, "spread_ms": 0.0}
    with Device(index) as opened:
        assert opened.tuned["near_far.delta_per_mean"] == last != default == device.tuned["near_far.delta_per_mean"]
    assert tune(index, forget=True).file is None
    with Device(index) as opened:
        assert opened.tuned["near_far.delta_per_mean"] == default


@pytest.mark.usefixtures("few")
def test_wrong_answers_are_never_kept(
    device: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judge = JUDGES["search by queues"]

    def ask(solver: Solver, case: Any) -> Any:
        is_wrong = isinstance(solver.device, Device) and solver.device.tuned["near_far.delta_per_mean"] == 400
        return judge.ask(solver, case) + is_wrong

    monkeypatch.setitem(tuning.JUDGES, "search by queues", judge._replace(ask=ask))
    found = tune(device.info.index)
    assert found.wrong == ["near_far.delta_per_mean = 400"] and found.values["near_far.delta_per_mean"] == 25
    assert "gives wrong answers with near_far.delta_per_mean = 400" in caplog.text


@pytest.mark.usefixtures("few")
def test_what_was_confirmed_before_an_interrupt_is_kept(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = JUDGES["search by queues"]

    def ask(solver: Solver, case: Any) -> Any:
        if isinstance(solver.device, Device) and solver.device.tuned["near_far.rounds"] == 32:
            raise KeyboardInterrupt
        return judge.ask(solver, case)

    names = ("near_far.delta_per_mean", "near_far.rounds")  # the second one is not yet confirmed
    monkeypatch.setattr(tuning, "TUNABLES", {name: TUNABLES[name] for name in names})
    monkeypatch.setitem(tuning.JUDGES, "search by queues", judge._replace(ask=ask))
    with pytest.raises(KeyboardInterrupt):
        tune(device.info.index)
    assert kept_values(device.info.identity, asdict(device.info.limits)) == {"near_far.delta_per_mean": 400}


@pytest.mark.parametrize("case", ["gains", "harms another", "harms on the second network", "by chance", "late"])
def test_only_values_that_new_times_confirm_are_kept(
    device: Device, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    own, another, unconcerned = "search by queues", "sweeping search", "search with hubs"
    measure_only(monkeypatch, ["near_far.rounds"], [own, another, unconcerned])
    asked: list[tuple[str, str]] = []
    rounds: list[tuple[str, str]] = []
    opened: list[Device | str] = []
    turns: list[list[Device | str]] = []

    @contextmanager
    def asking(judge: Judge, networks: Case, where: Device | str) -> Iterator[Callable[[], Any]]:
        name = next(name for name, one in tuning.JUDGES.items() if one == judge)
        if isinstance(where, Device) and name != unconcerned:
            assert where.tuned["near_far.rounds"]
        asked.append((name, networks.place))
        opened.append(where)
        yield lambda: np.zeros(1)

    def compare(best: Any, candidate: Any, expected: Any, runs: int, **_: Any) -> Comparison:
        name, place = asked[-1]
        if runs > 5:  # the search
            return Comparison(10.0, 8.0, 0.5)
        rounds.append(asked[-1])
        turns.append(opened[-2:])
        if case == "late":
            monkeypatch.setattr("time.monotonic", lambda: float("inf"))
        if name == own:
            return Comparison(10.0, 10.1 if case == "by chance" and len(rounds) == 4 else 8.0, 0.5)
        is_slower = case == "harms another" or (case == "harms on the second network" and place)
        return Comparison(10.0, 10.6 if is_slower else 9.0, 3.0)

    monkeypatch.setattr(Judge, "asking", asking)
    monkeypatch.setattr(tuning, "compare", compare)
    found = tune(device.info.index)
    last = 4  # the candidates near the default come first
    kept = {"near_far.rounds": last} if case == "gains" else {}
    assert found.values == kept == kept_values(device.info.identity, asdict(device.info.limits))
    reason = {
        "harms another": "sweeping search takes 10.600 ms, 10.000 without it",
        "harms on the second network": "sweeping search on the second network takes 10.600 ms, 10.000 without it",
        "by chance": "search by queues is not faster in all of 5 rounds with new solvers",
        "late": "no time to confirm it; give more minutes",
    }
    assert found.unconfirmed == [f"near_far.rounds = {last}: {text}" for name, text in reason.items() if name == case]
    assert own in dict(rounds) and unconcerned not in dict(rounds)
    if case == "gains":
        assert rounds.count((own, "")) == 5
        assert turns[0] == turns[1][::-1] == turns[2] != turns[1]


def test_constants_that_are_not_used_are_not_tried(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    measure_only(monkeypatch, ["loop.batch_us"], ["target in blocks"])  # such a short search has one batch
    found = tune(device.info.index)
    assert found.left_out == ["loop.batch_us: target in blocks does not use it on this network"] and not found.tried


def test_new_weights_of_graphs_with_real_weights_are_verified(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    measure_only(monkeypatch, ["customization.workgroup_size"], ["customization"])
    monkeypatch.setattr(tuning, "compare", lambda *_, **__: Comparison(1.0, 1.0, 0.0))
    seen = []
    ask = JUDGES["customization"].ask

    def asked(solver: Solver, case: Any) -> Any:
        seen.append([ask(solver, case) for _ in range(2)])
        return seen[-1][0]

    monkeypatch.setitem(tuning.JUDGES, "customization", JUDGES["customization"]._replace(ask=asked))
    tail, head = np.repeat(np.arange(9), 2), np.random.default_rng(2).integers(0, 9, 18)
    tune(device.info.index, Graph.from_edges(tail, head, np.linspace(0.1, 7.3, 18)))
    assert len(seen) == 2 and all(np.array_equal(one, seen[0][0]) for pair in seen for one in pair)


def test_comparisons_verify_all_answers_and_need_more_than_the_spread() -> None:
    answers = iter([1] * 7 + [2] * 10**6)
    with pytest.raises(tuning.WrongAnswersError):
        tuning.compare(lambda: np.array([1]), lambda: np.array([next(answers)]), np.array([1]))
    assert Comparison(10.0, 8.0, 1.0).is_better
    assert not Comparison(10.0, 8.0, 2.5).is_better and not Comparison(10.0, 9.9, 0.0).is_better


def test_each_timed_run_follows_one_of_the_other_kind() -> None:
    calls: list[str] = []

    def asking(name: str) -> Callable[[], Any]:
        return lambda: calls.append(name) or np.array([1])

    tuning.compare(asking("best"), asking("candidate"), np.array([1]), 3)
    runs = [len(list(run)) for _, run in groupby(calls)]
    assert len(set(runs[-6:])) == 1 and runs[-1] > 1


def test_arguments_are_checked(device: Device) -> None:
    for wrong, message in (
        ({"minutes": 0}, "minutes is 0"),
        ({"device": "cpu"}, "device is an open one, or the CPU"),
        ({"device": device}, "device is an open one"),
        ({"graph": 5}, "graph"),
        ({"graph": grid(1)}, "graph has less than two nodes"),
    ):
        with pytest.raises(QueryError, match=message):
            tune(**wrong)  # type: ignore[arg-type]


def test_the_documentation_lists_all_constants() -> None:
    text = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == list(TUNABLES)
    for name, gpu, software, judge, reason in rows:
        one = TUNABLES[name]
        value = f"{one.software:,}" if one.software < 2**62 else "none"
        assert (gpu, software, judge or "", reason) == (f"{one.gpu:,}", value, one.judge, one.reason), name
    assert {one.judge for one in TUNABLES.values()} - {""} == set(JUDGES)
    assert all(bool(one.candidates) == bool(one.judge) for one in TUNABLES.values())
