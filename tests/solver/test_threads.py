"""Solvers, their clones and pools, used from many threads at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.support.graphs import grid, scipy_dijkstra
from tests.support.threads import at_once
from vkssp import CpuDevice, DeviceError, Graph, QueryError, Solver, SolverPool, prepare
from vkssp.gpu.device import Device
from vkssp.prepared.renumbered import RenumberedGraph

GRAPH = grid(18, seed=5)
TARGETS = np.arange(0, 324, 5)
WHOLE = np.stack([scipy_dijkstra(GRAPH, source) for source in range(40)])


def ask_all(asked: Solver | SolverPool, seed: int, times: int = 1, factor: int = 1) -> None:
    """Ask all kinds of questions, and check the answers."""
    rng = np.random.default_rng(seed)
    for kind in rng.permutation(np.tile(np.arange(4), times)).tolist():
        source, target = int(rng.integers(40)), int(rng.integers(324))
        if kind == 0:
            assert np.array_equal(asked.distances(source), factor * WHOLE[source])
        elif kind == 1:
            assert asked.distance(source, target) == factor * WHOLE[source, target]
        elif kind == 2:
            route = asked.path(source, target)
            assert route.weight == factor * WHOLE[source, target]
        else:
            sources = rng.integers(0, 40, 20)
            found = asked.table(sources, TARGETS)
            assert np.array_equal(found, factor * WHOLE[sources][:, TARGETS])


@pytest.mark.parametrize(("algorithm", "reduction"), [("block_resident", "full"), ("near_far", "none")])
def test_solvers_clones_and_pools_on_the_same_devices(
    device: Device, second: Device, algorithm: str, reduction: str
) -> None:
    renumbered = RenumberedGraph(GRAPH, keep=True)
    with (
        Solver(renumbered, algorithm, device, reduction=reduction) as solver,
        Solver(renumbered, algorithm, device, reduction=reduction) as other,
        SolverPool(GRAPH, algorithm, [device, second], reduction=reduction) as pool,
        SolverPool(renumbered, algorithm, [second], reduction=reduction) as another,
        solver.clone() as clone,
    ):
        asked = [solver, solver, clone, other, pool, pool, another]
        times = 1 if algorithm == "block_resident" else 4  # the former is compiled for each table
        at_once([lambda one=one, i=i: ask_all(one, i, times) for i, one in enumerate(asked)])  # type: ignore[misc]


def test_solvers_are_made_and_closed_beside_others_at_work(device: Device) -> None:
    def make_and_ask(seed: int) -> None:
        for number in range(2):
            with Solver(GRAPH, "near_far", device) as solver:
                ask_all(solver, seed + number)

    def clone_and_ask(solver: Solver, seed: int) -> None:
        for number in range(2):
            with solver.clone() as clone:
                ask_all(clone, seed + number)

    with Solver(GRAPH, "block_resident", device) as solver:
        at_once(
            [
                *(lambda seed=seed: make_and_ask(seed) for seed in (1, 2)),  # type: ignore[misc]
                *(lambda seed=seed: clone_and_ask(solver, seed) for seed in (3, 4)),  # type: ignore[misc]
                lambda: ask_all(solver, 5),
            ]
        )


def test_weights_change_beside_tables_and_routes(device: Device, second: Device) -> None:
    """What one gets is by the one weights or by the others."""
    twice = GRAPH.weight * np.uint32(2)
    ended = threading.Event()

    def ask(asked: Solver | SolverPool, source: int) -> None:
        for _ in range(4):
            assert asked.distance(source, 7) in (WHOLE[source, 7], 2 * WHOLE[source, 7])
            with asked.holding():
                factor = 1 if np.array_equal(asked.graph.weight, GRAPH.weight) else 2
                ask_all(asked, source, 1, factor)
            try:
                found = asked.table(range(30), TARGETS)
            except QueryError as error:
                assert "weights changed" in str(error)
            else:
                assert any(np.array_equal(found, factor * WHOLE[:30, TARGETS]) for factor in (1, 2))

    def change(asked: Solver | SolverPool) -> None:
        while not ended.is_set():
            for weight in (twice, GRAPH.weight):
                asked.set_weights(weight)
                ended.wait(0.02)

    with Solver(GRAPH, "near_far", device) as solver, solver.clone() as clone:
        with SolverPool(GRAPH, "near_far", [device, second]) as pool:
            changing = [threading.Thread(target=change, args=(one,), daemon=True) for one in (solver, pool)]
            for thread in changing:
                thread.start()
            try:
                at_once([lambda one=one, i=i: ask(one, i) for i, one in enumerate((solver, clone, pool, pool))])  # type: ignore[misc]
            finally:
                ended.set()
                for thread in changing:
                    thread.join(60)


def test_nobody_keeps_a_solver_while_waiting_for_weights_to_change(device: Device) -> None:
    """One thread holds the weights by a clone, another waits to change them, and a third waits for that."""
    graph: Graph = grid(5)
    with Solver(graph, "near_far", device) as solver, solver.clone() as clone:
        changing = threading.Thread(target=lambda: solver.set_weights(graph.weight), daemon=True)
        asking = threading.Thread(target=lambda: solver.distance(0, 1), daemon=True)
        with clone.holding():
            changing.start()
            while not solver.session.weights.lock.has_writers:
                changing.join(0.01)
            asking.start()
            asking.join(0.1)
            with solver.session.lock.held_if_free() as is_free:
                assert is_free, "it belongs to the thread that waits for this one"
            assert np.array_equal(solver.distances(0), scipy_dijkstra(graph, 0))
        for thread in (changing, asking):
            thread.join(60)
            assert not thread.is_alive()


def test_prepared_pairs_on_the_cpu_are_found_beside_changes_of_weights() -> None:
    """Pairs need no lock; their weights are those of a moment during the call."""
    graph = prepare(GRAPH)
    factor, is_over = [1, 1], threading.Event()  # what may already be set, and what certainly is

    def ask(asked: Solver, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while not is_over.is_set():
            source, target = int(rng.integers(40)), int(rng.integers(324))
            least = factor[1]
            found = asked.distance(source, target)
            assert found in [step * WHOLE[source, target] for step in range(least, factor[0] + 1)]

    def change(solver: Solver) -> None:
        try:
            for step in range(2, 12):
                factor[0] = step
                solver.set_weights(GRAPH.weight * np.uint32(step))
                factor[1] = step
                assert solver.distance(0, 323) == step * WHOLE[0, 323]
        finally:
            is_over.set()

    with Solver(graph, device="cpu") as solver, solver.clone() as clone:
        at_once([lambda: change(solver), *(lambda i=i: ask((solver, clone)[i % 2], i) for i in range(4))])  # type: ignore[misc]


def test_a_prepared_pair_on_the_cpu_waits_for_nobody() -> None:
    graph = prepare(GRAPH)
    with CpuDevice() as cpu, Solver(graph, device=cpu) as solver:
        assert solver.distance(0, 323) == WHOLE[0, 323]
        found: list[int] = []
        asking = threading.Thread(target=lambda: found.append(solver.distance(1, 322)), daemon=True)
        with solver.holding():
            asking.start()
            asking.join(60)
            assert found == [WHOLE[1, 322]]
        for source, target in ((-1, 0), (0, 324), (0, 0.5), (True, 0)):
            with pytest.raises(QueryError, match=r"source|target"):
                solver.distance(source, target)  # type: ignore[arg-type]
        cpu.close()
        with pytest.raises(DeviceError, match="closed"):
            solver.distance(0, 323)
    with pytest.raises(QueryError, match="closed"):
        solver.distance(0, 323)


def test_a_table_that_is_given_up_ends_while_weights_wait_to_change() -> None:
    """The workers need the weights once more, and the caller, who waits for them, keeps them."""
    with SolverPool(GRAPH, "dijkstra", "cpu") as pool:
        for _ in range(3):
            changing = threading.Thread(target=lambda: pool.set_weights(GRAPH.weight), daemon=True)
            with pool.holding():
                rows = pool.table(np.arange(300), np.arange(324), chunked=True)
                next(rows)
                changing.start()
                changing.join(0.05)
                rows.close()
            changing.join(60)
            assert not changing.is_alive()
