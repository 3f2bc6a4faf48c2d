"""Solvers on a device with the CPU beside it: the same answers from either place, and the place that is expected."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import DeviceError, DistanceOverflowError, Graph, NoRouteError, QueryError, Router, Solver
from vkssp.algorithm import Outcome
from vkssp.algorithms import choice
from vkssp.commands import devices as devices_command
from vkssp.cpu.nearness import Nearness
from vkssp.files import cache_folder
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE
from vkssp.hierarchy.prepare import prepare
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.balance import Balance, SearchBalance
from vkssp.solver.cost_measurement import measured_costs
from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts, forget_costs, keep_costs, known_costs, table_work

FREE, DEAR = Line(0.0, 0.0), Line(1e6, 1.0)
SetCosts = Callable[[SearchCosts | HierarchyCosts], None]


def searches(cpu: Line, device: Line, node_us: float = 1e-9) -> SearchCosts:
    return SearchCosts(cpu, device, node_us)


def queries(cpu: Line, device: Line, customize_us: float = 0.0) -> HierarchyCosts:
    return HierarchyCosts(*[cpu, device] * 4, cpu.each_us, device.each_us, customize_us)


@pytest.fixture
def costs(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SetCosts:
    """Let the device count as hardware, and return a function that sets the costs of queries there."""
    monkeypatch.setattr(choice, "hardware_devices", lambda: (device.info,))
    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return lambda given: keep_costs(device.info, given)


def random_graph(seed: int, num_nodes: int = 60) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(*rng.integers(0, num_nodes, (2, 150)), rng.integers(0, 9, 150), num_nodes=num_nodes)


def placed_grid(side: int) -> Graph:
    """Return a grid with coordinates, so that the size of searches can be predicted."""
    number = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    heads = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    lat, lon = np.divmod(number.ravel(), side)
    weights = np.random.default_rng(side).integers(90, 110, len(tails))
    return Graph.from_edges(tails, heads, weights, undirected=True, lat=lat * 1e-3, lon=lon * 1e-3)


@pytest.mark.parametrize("faster", ["cpu", "device", "both"])
@pytest.mark.parametrize("is_prepared", [False, True])
def test_answers_are_the_same_from_both_places(costs: SetCosts, device: Device, is_prepared: bool, faster: str) -> None:
    lines = (DEAR, FREE) if faster == "device" else (FREE, DEAR)
    costs(queries(*lines) if is_prepared else searches(*lines, node_us=1e9 if faster == "both" else 1e-9))
    for graph in (random_graph(0), random_graph(1), grid(7)):
        with Solver(graph, "dijkstra") as reference, Solver(prepare(graph) if is_prepared else graph) as solver:
            places = {"cpu": {reference.device.info.name}, "device": {device.info.name}}
            places["both"] = places["cpu"] | places["device"]
            expected = places["both" if faster == "device" and not is_prepared else faster]

            def equal(ask: Callable[..., Any], one: Solver = reference, other: Solver = solver) -> None:
                assert np.array_equal(ask(one), ask(other))

            whole = reference.distances(3)
            half = int(np.median(whole[whole != UNREACHABLE]))
            equal(lambda each: each.distances(3))
            assert solver.answered_by[0].info.name == (device if faster == "device" else reference.device).info.name
            equal(lambda each, half=half: each.distances(3, limit=half))
            equal(lambda each: each.distances([(3, 5), (7, 0)]))
            equal(lambda each: each.distances([1, 2, 3, 3]))
            equal(lambda each: each.table([1, 2, 3], [9, 9, 4, 1]))
            equal(lambda each, half=half: each.table([1, 2, 3], limit=half))
            equal(lambda each: each.pairs([1, 2, 3], [9, 9, 8]))
            equal(lambda each, half=half: each.nearest([5, 6], [3, 0], limit=half).source)
            ends = Groups.of_nodes(np.full(17, 3, np.uint32)), Groups.of_nodes(np.arange(17, dtype=np.uint32))
            for one, other in zip(reference.search_paths(*ends), solver.search_paths(*ends), strict=True):
                assert np.array_equal(one, other)
            assert solver.answered_by[0].info.name in expected
            for target in range(0, graph.num_nodes, 7):
                assert solver.distance(3, target) == whole[target]
                assert solver.answered_by[0].info.name in expected
                if whole[target] == UNREACHABLE:
                    with pytest.raises(NoRouteError):
                        solver.path(3, target)
                    continue
                found, wanted = solver.path(3, target), reference.path(3, target)
                assert (found.arcs == wanted.arcs).all() and found.weight == wanted.weight == whole[target]
                assert (found.device, found.algorithm) == (solver.answered_by[0].info.name, solver.answered_by[1])


def test_errors_are_the_same_from_both_places(costs: SetCosts) -> None:
    heavy = Graph.from_edges([0, 1], [1, 2], [2**32 - 2, 5], lat=[0, 1, 2], lon=[0, 0, 0])
    for graph in (heavy, prepare(heavy)):
        for lines in ((FREE, DEAR), (DEAR, FREE)):
            costs(queries(*lines))
            costs(searches(*lines, node_us=1e-9 if lines[0] is FREE else 1e9))
            with Solver(graph) as solver:
                for source in (7, -1, "a", 1.5, None, True):
                    with pytest.raises(QueryError, match="source is"):
                        solver.distance(source, 1)  # type: ignore[arg-type]
                for seeds in (7, [], [7], [(0,)], [()], ["ab"]):
                    with pytest.raises(QueryError):
                        solver.search_path(seeds, [(1, 0)])  # type: ignore[arg-type]
                with pytest.raises(QueryError, match="no target"):
                    solver.search_path([(0, 0)], [])
                with pytest.raises(DistanceOverflowError):
                    solver.distance(0, 2)
                with pytest.raises(DistanceOverflowError):
                    solver.table([0], [2])


def test_searches_go_where_they_should_end_sooner(costs: SetCosts, device: Device) -> None:
    graph = placed_grid(40)
    costs(SearchCosts(DEAR, Line(100.0, 0.0), cpu_node_us=1.0))  # the device in the time of a hundred nodes
    with Solver(graph) as solver, Solver(graph, "dijkstra") as reference:
        for target, place in ((20 * 40 + 22, reference.device), (2, device)):
            assert solver.distance(20 * 40 + 20, target) == reference.distance(20 * 40 + 20, target)
            assert solver.answered_by[0].info.name == place.info.name
        # Next to each other, but the only way is around a wall: the CPU gives up.
        side = np.arange(40 * 40).reshape(40, 40)
        tail = np.repeat(np.arange(graph.num_nodes), np.diff(graph.first_out.astype(np.int64)))
        crosses = (np.minimum(tail, graph.head) % 40 == 19) & (np.abs(graph.head.astype(np.int64) - tail) == 1)
        keeps = ~crosses | (np.minimum(tail, graph.head) // 40 == 39)
        walled = Graph.from_edges(tail[keeps], graph.head[keeps], graph.weight[keeps], lat=graph.lat, lon=graph.lon)
        here, there = int(side[2, 19]), int(side[2, 20])
        with Solver(walled) as solver, Solver(walled, "dijkstra") as reference:
            assert Nearness(walled).predict(here, there) < 10
            assert solver.distance(here, there) == reference.distance(here, there)
            assert solver.answered_by[0].info.name == device.info.name
            assert (solver.path(here, there).arcs == reference.path(here, there).arcs).all()


def test_the_number_of_nodes_around(costs: SetCosts) -> None:
    graph = placed_grid(64)
    nearness = Nearness(graph)
    middle = 32 * 64 + 32
    for radius in (4, 8, 16):
        assert nearness.predict(middle, middle + radius) == pytest.approx(np.pi * radius**2, rel=0.3)
    assert nearness.predict(0, graph.num_nodes - 1) <= graph.num_nodes
    one = Graph.from_edges([0], [0], [1], lat=[5.0], lon=[5.0])
    assert Nearness(one).predict(0, 0) == pytest.approx(0.0, abs=1.0)


def test_new_weights_are_customized_on_the_cpu_when_it_pays(costs: SetCosts, device: Device) -> None:
    graph = prepare(grid(8))
    assert graph.hierarchy is not None
    costs(queries(FREE, Line(10.0, 0.0), customize_us=25.0 / graph.hierarchy.num_arcs))
    with Solver(graph) as solver, Solver(graph, "dijkstra") as reference:
        for factor in (1, 3):
            for each in (solver, reference):
                each.set_weights(graph.weight * factor)
            answered = []
            for target in range(10, 15):
                assert solver.distance(0, target) == reference.distance(0, target)
                answered.append(solver.answered_by[0].info.name == device.info.name)
            assert answered == [True, True, False, False, False]  # 10 microseconds lost by each of the first


def test_threads_and_clones_while_weights_change(costs: SetCosts) -> None:
    graph = placed_grid(12)
    for given in (graph, prepare(graph)):
        costs(SearchCosts(DEAR, Line(50.0, 0.0), cpu_node_us=1.0))
        costs(queries(Line(20.0, 0.0), Line(20.0, 0.0)))
        with Solver(given) as solver, solver.clone() as clone, Solver(graph, "dijkstra") as reference:
            wanted = reference.distances(5).astype(np.int64)
            trouble: list[BaseException] = []

            def ask(each: Solver, wanted: Any = wanted, trouble: Any = trouble) -> None:
                try:
                    for target in range(0, 144, 5):
                        factor = each.distance(5, target) / max(1, wanted[target])
                        assert target == 5 or factor in (1, 2)
                        with each.holding():
                            path = each.path(5, target)
                            assert path.weight == each.distance(5, target)
                        with suppress(QueryError):  # weights changed while a table was made
                            assert each.table([5], [target, 7])[0, 0] in (wanted[target], 2 * wanted[target])
                except BaseException as error:
                    trouble.append(error)

            threads = [threading.Thread(target=ask, args=(each,)) for each in (solver, solver, clone)]
            for thread in threads:
                thread.start()
            for number in range(6):
                clone.set_weights(graph.weight * (1 + number % 2))
            for thread in threads:
                thread.join()
            assert not trouble


def test_a_change_of_weights_between_threads_that_hold_and_ask(costs: SetCosts) -> None:
    graph = grid(5)
    costs(searches(FREE, DEAR))
    solver, found = Solver(graph), list[int]()
    before = Solver(graph, "dijkstra").distance(0, 24)

    def hold() -> None:
        with solver.holding():
            changing.start()
            while not solver.session.weights.lock.has_writers:
                changing.join(0.01)
            asking.start()
            asking.join(0.3)  # meanwhile the change waits, and the other thread wants the session of the CPU
            found.append(solver.distance(0, 24))

    change, ask = lambda: solver.set_weights(graph.weight * 2), lambda: found.append(solver.distance(0, 24))
    threads = [threading.Thread(target=each, daemon=True) for each in (hold, change, ask)]
    holding, changing, asking = threads
    holding.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    solver.close()
    assert found == [before, 2 * before]


def test_who_names_a_device_gets_only_that(costs: SetCosts, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(5)
    costs(searches(FREE, DEAR))
    for arguments in ({"device": device}, {"counters": "totals"}, {"algorithm": "near_far"}, {"reduction": "full"}):
        with Solver(graph, **arguments) as solver:  # type: ignore[arg-type]
            assert solver.distance(0, 24) > 0 and solver.answered_by[0].info.name == device.info.name
    monkeypatch.setenv("VKSSP_DEVICE", device.info.name)
    with Solver(graph) as solver:
        assert solver.distance(0, 24) > 0 and solver.answered_by[0].info.name == device.info.name
    monkeypatch.delenv("VKSSP_DEVICE")
    with Solver(graph) as solver:
        assert solver.device.info.name == device.info.name
        assert solver.distance(0, 24) > 0 and solver.answered_by[1] == "dijkstra"
        assert solver.last is not None and solver.last.counters["iterations"] > 0
        assert solver.search([(0, 0)]) is solver.last  # on the device, for measurements
        assert solver.answered_by[0] is solver.device
        with solver.clone() as clone:
            assert clone.distance(0, 24) > 0 and clone.answered_by[1] == "dijkstra"
    with pytest.raises(QueryError, match="closed"):
        solver.distance(0, 1)


def test_routes_name_the_place_that_answered(costs: SetCosts, device: Device) -> None:
    graph = placed_grid(50)
    costs(SearchCosts(DEAR, Line(100.0, 0.0), cpu_node_us=1.0))
    with Router(graph) as router:
        near = router.route((0.015, 0.015), (0.015, 0.017))
        far = router.route((0.0, 0.0), (0.049, 0.049))
        assert near.algorithm == "dijkstra" and far.device == device.info.name
        router.set_weights(graph.weight * 2)
        assert router.route((0.015, 0.015), (0.015, 0.017)).weight == 2 * near.weight
        assert router.route((0.0, 0.0), (0.049, 0.049)).weight == 2 * far.weight


def test_a_place_that_was_predicted_wrongly_is_corrected() -> None:
    balance = Balance()
    chosen = []
    for _ in range(20):  # the CPU takes 30, not 10
        is_cpu = balance.gain_us(10.0, 20.0) > 0
        chosen.append(is_cpu)
        balance.learn(is_cpu, 10.0 if is_cpu else 20.0, 30.0 if is_cpu else 20.0)
    assert 3 <= sum(chosen) <= 6 and not any(chosen[8:])
    for _ in range(20):
        balance.gain_us(10.0, 1000.0)  # nothing to try where the difference is large
    assert balance.gain_us(10.0, 1000.0) > 0


def test_a_device_that_was_slow_is_tried_again() -> None:
    balance = SearchBalance(searches(FREE, Line(100.0, 0.0), node_us=1.0), can_predict=True)
    far = balance.far
    balance.on_device(1e6, 5e3)  # far away, and sooner than on the CPU: of those that are near it tells nothing
    assert balance.far == far
    for _ in range(200):
        balance.on_device(3 * far, 5e3)  # more than the CPU would have taken
    assert balance.far > 3e3
    balance.end(Outcome(0, False, 0.05, {"iterations": 50}))
    assert balance.far > 3e3
    for _ in range(2000):
        balance.end(Outcome(0, False, 2.0, {"iterations": 2000}))
    assert balance.far == far


def test_costs_are_measured_once_and_kept(costs: SetCosts, device: Device) -> None:
    found = {kind: measured_costs(device, kind, anew=True) for kind in (SearchCosts, HierarchyCosts)}
    files = sorted(cache_folder().glob("*-costs-*.json"))
    assert len(files) == 2
    for kind, given in found.items():
        numbers = np.concatenate([np.ravel(getattr(given, field.name)) for field in fields(given)])
        assert (numbers >= 0).all() and numbers.sum() > 0
        forget_costs()
        assert known_costs(device.info, kind) == given
        assert measured_costs(device, kind) is known_costs(device.info, kind)
    good = files[0].read_text()
    content = json.loads(good)
    first = next(iter(content["microseconds"]))
    for bad in ("", "[]", "[" * 100000, good.replace(device.info.driver, "other"), good[:-9], "\0"):
        files[0].write_text(bad)
        forget_costs()
        assert known_costs(device.info, HierarchyCosts) is None
    for value in (None, [1], [1, 2, 3], "1", -1.0, 1e300, True, [1, None], {}):
        for name in (first, "customize_us"):
            files[0].write_text(json.dumps({**content, "microseconds": {**content["microseconds"], name: value}}))
            forget_costs()
            assert known_costs(device.info, HierarchyCosts) is None
    forget_costs()
    lines = devices_command.crossings(known_costs(device.info, SearchCosts), known_costs(device.info, HierarchyCosts))
    assert len(lines) == 1 and "the CPU is faster in graphs of " in lines[0]


def test_work_over_a_hierarchy() -> None:
    graph = prepare(grid(6))
    assert graph.hierarchy is not None
    exact = []
    for rank in range(graph.num_nodes):
        arcs, at = 0, rank
        while at >= 0:
            group = int(graph.hierarchy.supernode[at])
            inside = at - int(graph.hierarchy.first_node[group]) + 1
            arcs += inside * int(graph.hierarchy.num_ancestors[group]) + inside * (inside - 1) // 2
            at = int(graph.hierarchy.parent[group])
        exact.append(arcs)
    assert graph.hierarchy.upward_work == pytest.approx(np.mean(exact), rel=0.2)
    assert table_work(1, 1, 5.0, 100) == 15 and table_work(2, 1000, 5.0, 100) == 200 + 1002 * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_gets_no_answer_from_the_cpu_either(costs: SetCosts) -> None:
    costs(searches(FREE, DEAR))
    with Solver(grid(4)) as solver:
        assert solver.distance(0, 5) and solver.answered_by[1] == "dijkstra"
        process = os.fork()
        if process == 0:
            status = 1
            try:
                solver.distance(0, 5)
            except DeviceError:
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(process, 0)[1] == 0
