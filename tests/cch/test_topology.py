"""Topology of a hierarchy, which a device has once for several metrics."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.failures import check_topologies, fail_each_call
from tests.support.graphs import grid, heap_dijkstra
from tests.support.memory_needs import record_needs
from tests.support.resources import watch_closing
from tests.support.threads import at_once
from vkssp import DeviceError, Graph, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.cch import topology as cch_topology
from vkssp.cch.customized import bytes_of
from vkssp.cch.topology import Topology, topologies
from vkssp.generate import road_grid
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource


def metrics(side: int, count: int) -> list[Graph]:
    """Return copies of a prepared graph that differ in weights."""
    graph = prepare(grid(side))
    rng = np.random.default_rng(side)
    return [graph, *(graph.with_weights(rng.integers(0, 50, graph.num_arcs)) for _ in range(count - 1))]


def ask(solver: Solver, source: int = 5) -> None:
    """Run all kinds of queries, and check the results with the current weights of the solver."""
    graph = solver.graph
    exact = np.stack([heap_dijkstra(graph, node) for node in (source, source + 1)])
    targets = [0, graph.num_nodes - 1]
    assert np.array_equal(solver.distances(source), exact[0])
    assert np.array_equal(solver.distances([source, source + 1]), exact)
    assert np.array_equal(solver.table([source, source + 1], targets), exact[:, targets])
    assert np.array_equal(solver.pairs([source, source + 1], targets), exact[[0, 1], targets])
    route = solver.path(source, targets[1])
    assert route.weight == exact[0, -1] == graph.weight[route.arcs].sum(dtype=np.int64)


def topology_of(solver: Solver) -> Topology:
    topology = hierarchy_of(solver.session.shared.graph).topology  # type: ignore[arg-type]
    assert topology is not None
    return topology


def test_each_metric_has_its_own_weights(device: Device) -> None:
    first, second, third = metrics(9, 3)
    with Solver(first, device=device) as one, Solver(second, device=device) as other:
        assert topology_of(one) is topology_of(other) and one.algorithm == "phast"
        for solver in (one, other, one):
            ask(solver)
        one.set_weights(third.weight)
        for solver in (other, one):
            ask(solver)
        other.set_weights([7, 0, 900], [1, 4, 9])  # perhaps with a cycle of weight zero
        other.set_weights(first.weight)
        with one.clone() as clone:
            for solver in (one, other, clone):
                ask(solver)
        assert len(topologies(device).all) == 1
    assert not topologies(device).all


def test_cycles_of_weight_zero_come_and_go(device: Device) -> None:
    """They change the nodes of the renumbered graph, but not its hierarchy and its arcs."""
    first, second = metrics(6, 2)
    zero = np.zeros(first.num_arcs, np.uint32)
    with Solver(first, device=device) as one, Solver(second, device=device) as other:
        shared = topology_of(one)
        for weight in (zero, second.weight, zero):
            one.set_weights(weight)
            for solver in (one, other):
                ask(solver)
                assert topology_of(solver) is shared
    assert shared.closed


def test_a_shared_topology_is_not_counted_again(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(road_grid(64))
    hierarchy = graph.hierarchy
    assert hierarchy is not None
    Solver(graph, device=device).close()  # what the device keeps for all is there from then on
    needs = record_needs(monkeypatch)
    before = device.memory_bytes
    whole = bytes_of(device, hierarchy, graph)
    with Solver(graph, device=device) as one:
        with Solver(graph.with_weights(graph.weight * 2), device=device) as other:
            shared = topology_of(one).memory_bytes
            # Of all that a metric has, about a third; small buffers are rounded up to a word.
            assert 0 <= shared - (whole - bytes_of(device, hierarchy, graph)) < 100
            assert shared > 0.2 * whole
            assert one.memory_bytes - other.memory_bytes == shared
            for solver, needed in zip((one, other), needs, strict=True):
                assert 0 <= solver.memory_bytes - needed < 10_000
            assert device.memory_bytes - before == one.memory_bytes + other.memory_bytes
            alone = other.memory_bytes
            one.close()
            assert other.memory_bytes == alone + shared == device.memory_bytes - before
            ask(other)
        assert device.memory_bytes == before
    assert bytes_of(device, hierarchy, graph) == whole


def test_too_little_memory_for_one_more_is_refused_before_any_is_taken(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = prepare(road_grid(64))
    with Solver(graph, device=device) as one:
        before = device.memory_bytes
        monkeypatch.setattr(Device, "available", lambda device, kind: 100_000)
        with pytest.raises(DeviceError, match="phast on this graph needs"):
            Solver(graph.with_weights(graph.weight * 2), "phast", device)
        assert device.memory_bytes == before
        check_topologies(device)
        monkeypatch.undo()
        ask(one)


@pytest.mark.parametrize("first_closed", [0, 1])
def test_closing_one_leaves_the_other(device: Device, first_closed: int) -> None:
    solvers = [Solver(graph, device=device) for graph in metrics(8, 2)]
    shared = topology_of(solvers[0])
    solvers.pop(first_closed).close()
    (left,) = solvers
    assert not shared.closed
    ask(left)
    left.set_weights(left.graph.weight + np.uint32(3))
    ask(left)
    left.close()
    assert shared.closed and not topologies(device).all


def test_other_hierarchies_arcs_and_devices_have_their_own(device: Device, second: Device) -> None:
    graph = prepare(grid(7))
    again = prepare(grid(7))  # looks the same, but hierarchies are not compared
    # The same arcs, read twice, and some of them only: the hierarchy is theirs, too.
    equal = replace(Graph.from_csr(graph.first_out.copy(), graph.head.copy(), graph.weight), hierarchy=graph.hierarchy)
    fewer = Graph.from_edges(graph.tail[::2], graph.head[::2], graph.weight[::2], num_nodes=graph.num_nodes)
    fewer = replace(fewer, hierarchy=graph.hierarchy)
    with (
        Solver(graph, device=device) as one,
        Solver(again, device=device) as other,
        Solver(equal, device=device) as same,
        Solver(fewer, device=device) as part,
        Solver(graph, device=second) as there,
    ):
        assert topology_of(one) is topology_of(same)
        assert len({topology_of(solver) for solver in (one, other, part, there)}) == 4
        for solver in (one, other, same, there):
            ask(solver)
        assert np.array_equal(part.distances(5), heap_dijkstra(fewer, 5))
        assert len(topologies(device).all) == 3 and len(topologies(second).all) == 1


def test_solvers_made_at_once(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """One solver uploads the topology that all need, while solvers are opened and closed."""
    graphs = metrics(8, 4)
    uploads: list[Topology] = []
    make = Topology.make
    monkeypatch.setattr(Topology, "make", lambda self, graph: (uploads.append(self), make(self, graph)))

    def come_and_go(graph: Graph) -> None:
        for _ in range(3):
            with Solver(graph, device=device) as solver:
                ask(solver)
                solver.set_weights(solver.graph.weight + np.uint32(1))
                ask(solver)

    with Solver(graphs[0], device=device):
        at_once([lambda graph=graph: come_and_go(graph) for graph in graphs])  # type: ignore[misc]
    assert len(uploads) == 1
    at_once([lambda graph=graph: come_and_go(graph) for graph in graphs])  # type: ignore[misc]
    assert all(one.closed for one in uploads) and not topologies(device).all


@pytest.mark.parametrize("error", [DeviceError("no more"), KeyboardInterrupt()])
def test_a_waiting_thread_repeats_an_upload_that_failed(
    device: Device, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    first, second = metrics(8, 2)
    make, began, go_on = Topology.make, threading.Event(), threading.Event()
    with Solver(first, device=device) as solver:
        taken = topology_of(solver).memory_bytes
    before = device.memory_bytes
    trouble: list[BaseException] = []
    uploading: list[Topology] = []

    def failing(self: Topology, graph: Graph) -> None:
        uploading.append(self)
        make(self, graph)
        if threading.current_thread() is thread:
            began.set()
            assert go_on.wait(60)
            raise error

    def fail() -> None:
        try:
            Solver(first, device=device)
        except BaseException as raised:
            trouble.append(raised)

    def wait_and_ask() -> None:
        with Solver(second, device=device) as solver:
            assert topology_of(solver).memory_bytes == taken, "once"
            ask(solver)

    monkeypatch.setattr(Topology, "make", failing)
    thread = threading.Thread(target=fail, daemon=True)
    thread.start()
    assert began.wait(60)
    waiting = threading.Thread(target=lambda: at_once([wait_and_ask, wait_and_ask]), daemon=True)
    waiting.start()
    while len(topologies(device).all[0].holders) < 3:
        waiting.join(0.01)
        assert waiting.is_alive()
    waiting.join(0.1)
    assert len(uploading) == 1
    go_on.set()
    for one in (thread, waiting):
        one.join(60)
        assert not one.is_alive()
    assert trouble == [error] and len({*uploading}) == 1 < len(uploading) == 2
    assert device.memory_bytes == before and not topologies(device).all


def test_any_call_may_fail_beside_another_metric(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = metrics(4, 2)

    def run() -> None:
        with Solver(second, device=device) as solver:
            solver.path(0, 15)

    with Solver(first, device=device) as there:
        ask(there)
        assert fail_each_call(device, monkeypatch, run, compiles=False) > 40
        ask(there)


def test_a_device_that_is_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared topology is freed after everything that the device may still use with it."""
    opened = open_device()
    solvers = [Solver(graph, device=opened) for graph in metrics(5, 2)]
    solvers[0].distances(0)
    shared = topology_of(solvers[0])
    # Not the parts themselves: garbage would then be collected while the patch is undone, which crashes Python 3.11.
    released: list[tuple[type[Resource], int]] = []
    for kind in (Buffer, Recording):
        watch_closing(monkeypatch, kind, after=lambda part: released.append((type(part), part.serial)))
    opened.close()
    assert shared.closed
    last = max(place for place, part in enumerate(released) if part[0] is Recording)
    assert released.index((Buffer, shared.supernodes.serial)) > last > 3
    for solver in solvers:
        solver.close()
    with pytest.raises(DeviceError, match="has been closed; open another"):
        Solver(metrics(5, 1)[0], device=opened)


def test_letting_go_never_waits(device: Device) -> None:
    """If another thread has the lock, that thread closes the topology."""
    graph = prepare(grid(5))
    shared = topologies(device)
    there = shared.hold(graph.hierarchy, graph, -7)  # type: ignore[arg-type]
    with shared.lock.held():
        thread = threading.Thread(target=shared.let_go, args=(-7,), daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive() and not there.closed
    other = prepare(grid(4))
    shared.hold(other.hierarchy, other, -8)  # type: ignore[arg-type]
    assert there.closed
    shared.let_go(-8)
    check_topologies(device)


def test_perfect_customization_passes_over_parts_without_work(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of one node has only pairs of ancestors, which have a dispatch of their own in a step of many parts."""
    graph = prepare(road_grid(64))
    assert graph.hierarchy is not None
    monkeypatch.setattr(cch_topology, "MOST_NARROW", 20)
    needed = topologies(device).missing(graph.hierarchy, graph)
    with Solver(graph, "phast", device) as solver:
        shared = topology_of(solver)
        assert 0 <= shared.memory_bytes - needed < 100
        parts, order = shared.pieces, shared.columns.order.read()
        sizes = dict(zip(parts.part.tolist(), parts.size.tolist(), strict=True))
        least = {False: set[int](), True: set[int]()}
        for step, batches in enumerate(shared.columns.steps):
            for batch in batches:
                taken = order[batch.begin : batch.end].tolist()
                least[bool(shared.are_narrow[step])].add(min(sizes[part] for part in taken))
        assert min(least[True]) == 1 < min(least[False])
        ask(solver)
