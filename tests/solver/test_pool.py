"""Several devices: the same answers, in order, also when some of them are lost; two logical devices stand for two."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.pools import GRAPH, KINDS, SOURCES, TARGETS, WHOLE, all_rows
from vkssp import (
    UNREACHABLE,
    CpuDevice,
    DeviceError,
    DistanceOverflowError,
    Graph,
    QueryError,
    Router,
    Solver,
    SolverPool,
    prepare,
    read_graph,
)
from vkssp.cli import main
from vkssp.engine import reduced
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError
from vkssp.gpu.instance import DeviceInfo
from vkssp.prepared.reduction import reduce_graph
from vkssp.solver import row_maker, several
from vkssp.solver.several import chosen
from vkssp.solver.shared_graph import SharedGraph
from vkssp.solver.tables import rows as rows_of_source


@KINDS
@pytest.mark.parametrize("reduction", ["none", "full"])
def test_answers_are_those_of_one_solver(device: Device, second: Device, algorithm: str, reduction: str) -> None:
    with SolverPool(GRAPH, algorithm, [device, second], reduction=reduction) as pool:
        assert pool.devices == [device, second] and pool.device is device and pool.algorithm == algorithm
        assert pool.graph is GRAPH and (pool.core_nodes is None) == (reduction == "none")
        assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
        assert np.array_equal(pool.table(SOURCES[:4]), WHOLE[:4, SOURCES[:4]])
        near = np.where(WHOLE[:10] > 60, UNREACHABLE, WHOLE[:10])
        assert np.array_equal(pool.distances(SOURCES[:10].tolist(), limit=60), near)
        source = int(SOURCES[0])
        assert np.array_equal(pool.distances(source), WHOLE[0])
        assert pool.distance(source, 5) == pool.path(source, 5).weight == WHOLE[0, 5]
        assert np.array_equal(pool.distances([(source, 3)]), WHOLE[0] + 3)
        groups = [[(7, 5), (300, 0)], [], [(0, 1)]]
        nodes = np.array([1, 2], np.uint32)
        with Solver(GRAPH, algorithm, device) as solver:
            found, expected = (all_rows(rows_of_source(one, GRAPH, groups, nodes, limit=50)) for one in (pool, solver))
            assert np.array_equal(found, expected)


def test_a_graph_is_prepared_once_and_uploaded_to_each(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr(
        "vkssp.prepared.reduction.reduce_graph", lambda graph: made.append(graph) or reduce_graph(graph)
    )
    components = reduced.with_components
    monkeypatch.setattr(reduced, "with_components", lambda *arguments: made.append(0) or components(*arguments))
    uploaded: list[Device] = []
    upload = reduced.ReducedGraph.upload
    monkeypatch.setattr(
        reduced.ReducedGraph, "upload", lambda self, arrays: uploaded.append(self.device) or upload(self, arrays)
    )
    with SolverPool(GRAPH, "block_resident", [device, second], reduction="full") as pool:
        assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
    assert len(made) == 2 and uploaded == [device, second]


@KINDS
def test_errors_come_in_order(device: Device, second: Device, algorithm: str) -> None:
    largest = 2**32 - 2
    chain = np.arange(30)
    weights = np.ones(29, np.int64)
    weights[10] = largest
    graph = Graph.from_edges(chain[:-1], chain[1:], weights)
    good = np.arange(29, 10, -1)
    with SolverPool(graph, algorithm, [device, second]) as pool:
        rows = rows_of_source(
            pool, graph, [[(node, 0)] for node in [*np.tile(good, 4).tolist(), 5]], np.array([29], np.uint32)
        )
        found = []
        with pytest.raises(DistanceOverflowError):
            for block in rows:
                found.extend(block[:, 0].tolist())
        assert found == np.tile(29 - good, 4).tolist()[: len(found)]
        assert len(found) >= 4 * len(good) - row_maker.MOST_ROWS
        assert pool.devices == [device, second]


def test_weights_change_on_all_devices_or_on_none(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = GRAPH.weight * np.uint32(2)
    with SolverPool(GRAPH, "near_far", [device, second]) as pool:
        put = SharedGraph.put

        def failing(self: SharedGraph, *arguments: Any) -> None:
            put(self, *arguments)
            if self.device is second:
                raise trouble

        def check(factor: int) -> None:
            for solver in pool.solvers:
                assert solver.graph is pool.graph
                assert np.array_equal(solver.distances(int(SOURCES[0])), factor * WHOLE[0])
            assert np.array_equal(pool.table(SOURCES, TARGETS), factor * WHOLE[:, TARGETS])

        for trouble in (KeyboardInterrupt(), DeviceError("no memory")):
            with monkeypatch.context() as patch, pytest.raises(type(trouble)):
                patch.setattr(SharedGraph, "put", failing)
                pool.set_weights(twice)
            check(1)
        pool.set_weights(twice)
        check(2)
        rows = pool.table(SOURCES, chunked=True)
        next(rows)
        pool.set_weights([1], [0])
        with pytest.raises(QueryError, match="weights changed"):
            list(rows)
        pool.set_weights(GRAPH.weight)
        with pool.holding(), pytest.raises(QueryError, match="inside of"):
            pool.set_weights(twice)
        with monkeypatch.context() as patch:
            patch.setattr(SharedGraph, "put", failing)
            trouble = VulkanError("vkQueueSubmit", -4)
            pool.set_weights(twice)
        assert pool.devices == [device]
        check(2)


def test_whoever_holds_the_weights_gets_rows_while_others_wait_to_change_them(device: Device, second: Device) -> None:
    with SolverPool(GRAPH, "near_far", [device, second]) as pool:
        changing = threading.Thread(target=lambda: pool.set_weights(GRAPH.weight * np.uint32(2)), daemon=True)
        with pool.holding():
            changing.start()
            while not pool.solvers[0].session.weights.lock.has_writers:
                changing.join(0.01)
            assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
            assert pool.distance(int(SOURCES[0]), 1) == WHOLE[0, 1]
        changing.join(60)
        assert not changing.is_alive() and pool.distance(int(SOURCES[0]), 1) == 2 * WHOLE[0, 1]


def test_a_pool_that_is_closed_stops_what_it_makes(device: Device, second: Device) -> None:
    pool = SolverPool(GRAPH, "near_far", [device, second])
    rows, unbegun = (pool.table(np.tile(SOURCES, 100), TARGETS, chunked=True) for _ in range(2))
    next(rows)
    pool.close()
    pool.close()
    assert not any(thread.name.startswith("vkssp-worker") for thread in threading.enumerate())
    for ask in (lambda: next(rows), lambda: next(unbegun), lambda: pool.table([0], chunked=True), lambda: pool.devices):
        with pytest.raises(QueryError, match="closed"):
            ask()
    assert not device.closed and not second.closed


def test_finished_rows_that_wait_take_bounded_memory(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, made = row_maker.RowMaker.rows, []

    def counting(self: Any, *args: Any) -> Generator[np.ndarray, None, None]:
        made.append(len(args[0]))
        return rows(self, *args)

    monkeypatch.setattr(row_maker.RowMaker, "rows", counting)
    with SolverPool(GRAPH, "near_far", [device, second], waiting_bytes=10 * 4 * GRAPH.num_nodes) as pool:
        blocks = pool.distances(SOURCES, chunked=True)
        first = next(blocks)
        threading.Event().wait(0.1)
        assert sum(made) <= 10 + len(first)
        assert np.array_equal(np.concatenate([first, *blocks]), WHOLE)
        assert sum(made) == len(SOURCES)


def test_what_makes_many_rows_is_made_once_for_each_device(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Counted(row_maker.BlockResidentRows):
        def __init__(self, graph: Any, *arguments: Any) -> None:
            made.append(graph.device)
            super().__init__(graph, *arguments)

    monkeypatch.setattr(row_maker, "BlockResidentRows", Counted)
    with SolverPool(GRAPH, "block_resident", [device, second]) as pool:
        sources = np.tile(SOURCES, 20)
        assert np.array_equal(pool.distances(sources), np.tile(WHOLE, (20, 1)))
    assert 1 <= len(made) == len(set(made))


def test_devices_are_chosen_by_what_is_there(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def infos(*kinds: str) -> list[DeviceInfo]:
        return [
            DeviceInfo(**{**device.info.__dict__, "index": i, "kind": kind, "unusable": "" if kind != "old" else "no"})
            for i, kind in enumerate(kinds)
        ]

    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    for listed, algorithm, expected in (
        (infos("discrete", "cpu", "integrated", "old"), "auto", [0, 2]),
        (infos("discrete", "cpu", "integrated", "old"), "dijkstra", ["cpu"]),
        (infos("cpu", "old", "cpu"), "auto", ["cpu"]),
        (infos("cpu", "old", "cpu"), "near_far", [0, 2]),
    ):
        usable = [info for info in listed if info.kind not in ("cpu", "old")]
        monkeypatch.setattr(several, "list_devices", lambda listed=listed: listed)
        monkeypatch.setattr(several, "hardware_devices", lambda usable=usable: usable)
        assert chosen("all", algorithm) == chosen(None, algorithm) == (expected, False)
        if algorithm == "auto":
            assert chosen("all", algorithm, reduces=True) == chosen("all", "near_far")
    monkeypatch.setenv("VKSSP_DEVICE", "1, 0")
    for devices, expected in ((None, ["1", "0"]), ("llvm", ["llvm"]), (3, [3]), ("cpu, 0", ["cpu", "0"])):
        assert chosen(devices, "auto") == (expected, True)
    assert chosen([0, "llvm"], "auto") == ([0, "llvm"], True)


def test_devices_that_cannot_be_used_are_left_out_where_all_are_meant(
    device: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = device.info.index
    monkeypatch.setattr("vkssp.solver.pool.chosen", lambda devices, *_: ([index, 77], devices == "all"))
    with pytest.raises(DeviceError, match="there is no device 77"):
        SolverPool(GRAPH, "near_far", "all")
    with SolverPool(GRAPH, "near_far", [0]) as pool:
        assert len(pool.devices) == 1 and "device 77 is left out: there is no device 77" in caplog.text


@pytest.mark.parametrize("algorithm", ["auto", "phast", "crauser"])
def test_the_cpu_beside_a_device(device: Device, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(GRAPH) if algorithm == "phast" else GRAPH
    sources, rows, both = np.tile(SOURCES, 20), row_maker.RowMaker.rows, threading.Barrier(2)
    begun: set[object] = set()

    def meeting(self: Any, *args: Any) -> Generator[Any, None, None]:
        if self.session.device not in begun:
            begun.add(self.session.device)
            both.wait(60)  # until the other device has begun as well, so that each makes a part of the rows
        yield from rows(self, *args)

    with SolverPool(graph, algorithm, ["cpu", device]) as pool:
        assert [isinstance(one, CpuDevice) for one in pool.devices] == [True, False]
        for factor in (1, 3):
            pool.set_weights(GRAPH.weight * np.uint32(factor))
            begun.clear()
            with monkeypatch.context() as patch:
                patch.setattr(row_maker.RowMaker, "rows", meeting)
                assert np.array_equal(pool.table(sources, TARGETS), factor * np.tile(WHOLE[:, TARGETS], (20, 1)))
            assert begun == set(pool.devices)
            for solver in pool.solvers:
                assert np.array_equal(solver.distances(SOURCES), factor * WHOLE)
            assert pool.distance(int(SOURCES[0]), 1) == factor * WHOLE[0, 1]
    for names in ("cpu", ["cpu"], f"cpu,{device.info.index}"):
        with SolverPool(graph, algorithm, names) as pool:
            assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])


def test_devices_that_a_pool_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for twice in ("cpu,0,CPU", ["cpu", CpuDevice()]):
        with pytest.raises(QueryError, match="named twice"):
            chosen(twice, "auto")
    for algorithm, devices, message in (
        ("near_far", ["cpu", 0], "near_far runs on Vulkan devices only"),
        ("dijkstra", ["cpu", 0], "dijkstra runs on the CPU"),
    ):
        with pytest.raises(QueryError, match=message):
            SolverPool(GRAPH, algorithm, devices)
    with pytest.raises(QueryError, match="reduction is 'full', but algorithms for the CPU"):
        SolverPool(GRAPH, devices="cpu,0", reduction="full")
    monkeypatch.setenv("VKSSP_DEVICE", "0,cpu")
    with pytest.raises(QueryError, match="VKSSP_DEVICE is '0,cpu': near_far runs on Vulkan devices only"):
        SolverPool(GRAPH, "near_far")


def test_what_is_no_pool(device: Device) -> None:
    no: dict[str, Any]
    for no, error, message in (  # type: ignore[assignment]
        ({"devices": []}, QueryError, "there are no devices"),
        ({"devices": [device, device]}, QueryError, "named twice"),
        ({"devices": 1.5}, QueryError, "devices is 1.5"),
        ({"devices": "99"}, DeviceError, "there is no device 99"),
        ({"devices": [None]}, QueryError, "devices is"),
        ({"algorithm": "dijkstra"}, QueryError, "dijkstra runs on the CPU"),
        ({"algorithm": "magic"}, QueryError, "choose one of"),
        ({"delta": 0, "algorithm": "near_far"}, QueryError, "delta is 0"),
        ({"waiting_bytes": 0}, QueryError, "waiting_bytes is 0"),
        ({"order": "no"}, QueryError, "order is 'no'"),
        ({"graph": 5}, QueryError, "graph is 5; make a Graph"),
    ):
        with pytest.raises(error, match=message):  # type: ignore[call-overload]
            SolverPool(**{"graph": GRAPH, "devices": device, **no})
    with SolverPool(GRAPH, devices=device) as pool:
        ask: Callable[[], object]
        for ask, message in (
            (lambda: pool.table([400], chunked=True), r"sources\[0\] is 400"),
            (lambda: pool.distances([]), "no sources"),
            (lambda: pool.distances(400), "source is 400"),
            (lambda: rows_of_source(pool, GRAPH, [[(0, -1)]], TARGETS), "the weight to a source is -1"),
        ):
            with pytest.raises(QueryError, match=message):
                ask()


def test_tables_between_places(device: Device, second: Device, andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    places = [(42.5075, 1.5218), (42.5430, 1.7340), (42.5560, 1.5332), (42.4640, 1.4910)]
    with Router(graph, device=device) as one, Router(graph, device=[device, second]) as both:
        for metrics in (["duration"], ["distance", "weight"]):
            expected, found = (router.table(places, metrics=metrics).read() for router in (one, both))
            assert all(np.array_equal(expected[name], found[name]) for name in metrics)
        assert both.route(*places[:2]).weight == one.route(*places[:2]).weight


def test_the_command_line(device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = device.info.index
    nodes = tmp_path / "nodes.npy"
    np.save(nodes, np.arange(40))
    found = []
    for which in (f"{index}", f"{index},{index}", "all"):
        output = tmp_path / f"{which}.npy"
        arguments = ["--sources", str(nodes), "--device", which, "--output", str(output), "--json"]
        arguments += ["--algorithm", "near_far"]
        assert main(["table", "road:20", *arguments]) == 0
        found.append(np.load(output))
        said = json.loads(capsys.readouterr().out)
        assert said["device"] == ", ".join([device.info.name] * (2 if "," in which else 1))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    arguments = ["--sources", str(nodes), "--device", f"{index},99", "--output", str(tmp_path / "no.npy")]
    assert main(["table", "road:20", *arguments]) == 2
    assert "there is no device 99" in capsys.readouterr().err
