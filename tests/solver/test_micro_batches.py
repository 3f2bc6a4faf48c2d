"""Questions of several threads that a device answers together: each gets the answer that it gets alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import Graph, QueryError, Solver, prepare
from vkssp.cch import path_batch, unpack
from vkssp.gpu.device import Device
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.micro_batches import SIZES, MicroBatches, Waiting
from vkssp.tunables import TUNABLES

GRAPH = prepare(grid(18, seed=5))


@pytest.fixture(autouse=True)
def _trees_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trees wait for each other, as in large graphs only."""
    monkeypatch.setattr("vkssp.solver.session.NODES_OF_TREES", 0)


def asked_together(solver: Solver, questions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the answers, or errors, of questions that all wait while the device is at work."""
    answers: list[Any] = [None] * len(questions)

    def ask(number: int) -> None:
        try:
            answers[number] = questions[number]()
        except QueryError as error:
            answers[number] = error

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(len(questions))]
    with solver.session.lock.held():
        for thread in threads:
            thread.start()
        while solver.session.micro_batches.num_waiting < len(questions) - 1:  # the first one has begun
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    return answers


def same(one: Any, other: Any) -> bool:
    if isinstance(one, QueryError):
        return isinstance(other, QueryError) and str(one) == str(other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other)) and getattr(one, "dtype", None) == getattr(other, "dtype", None)


def questions_of(solver: Solver, rng: np.random.Generator) -> list[Callable[[], Any]]:
    """Return questions of all kinds, none of which has to wait for an answer before it waits."""

    def ends(count: int) -> list[tuple[int, int]]:
        return [(int(node), int(offset)) for node, offset in rng.integers(0, (GRAPH.num_nodes, 4), (count, 2))]

    found: list[Callable[[], Any]] = []
    for _ in range(12):
        seeds, targets = ends(int(rng.integers(1, 4))), ends(int(rng.integers(1, 4)))
        found.append(lambda seeds=seeds, targets=targets: solver.search_path(seeds, targets))  # type: ignore[misc]
    for limit in (5, 9, 14, 30, 80):
        seeds = ends(2)
        found.append(lambda seeds=seeds, limit=limit: solver.from_seeds(seeds, limit))  # type: ignore[misc]
    sources, targets = rng.integers(0, GRAPH.num_nodes, (2, 4)).astype(np.uint32)
    found.append(lambda: next(iter(solver.row_blocks(solver.graph, Groups.of_nodes(sources), targets))).distances)
    found.append(lambda: solver.pairs(sources, targets))
    many = rng.integers(0, GRAPH.num_nodes, (2, TUNABLES["query_pairs.fewest_pairs"].software))
    found.append(lambda: solver.pairs(*many))
    return found


def test_answers_are_the_same_together(device: Device) -> None:
    rng = np.random.default_rng(3)
    with Solver(GRAPH, "phast", device) as solver:
        for _ in range(2):
            questions = questions_of(solver, rng)
            alone = [question() for question in questions]
            before = solver.batching.counts.copy()
            together = asked_together(solver, questions)
            assert all(map(same, alone, together))
            sizes = dict(zip(SIZES, (solver.batching.counts - before).tolist(), strict=True))
            assert {size: count for size, count in sizes.items() if count} == {1: 1, 32: 1}
            solver.set_weights(rng.integers(1, 4, GRAPH.num_arcs))


@pytest.mark.parametrize(("module", "name", "value"), [("unpack", "MOST_SLOTS", 5), ("path_batch", "_MOST_NODES", 30)])
def test_more_paths_than_slots_and_paths_of_more_arcs_than_there_is_room_for(
    device: Device, monkeypatch: pytest.MonkeyPatch, module: str, name: str, value: int
) -> None:
    monkeypatch.setattr(f"vkssp.cch.{module}.{name}", value)
    unpacked, paths = list[bool](), unpack.Unpacker.paths

    def noted(self: unpack.Unpacker, *arguments: Any) -> Any:
        found = paths(self, *arguments)
        if self.slots > 1:
            unpacked.extend((found.results["done"] == unpack.DONE).tolist())
        return found

    monkeypatch.setattr(unpack.Unpacker, "paths", noted)
    rng = np.random.default_rng(8)
    with Solver(GRAPH, "phast", device) as solver:
        for _ in range(3):
            questions = questions_of(solver, rng)
            assert all(map(same, [question() for question in questions], asked_together(solver, questions)))
    assert any(unpacked) and all(unpacked) == (name == "MOST_SLOTS")


def test_a_question_fails_alone_and_searches_with_many_ends_are_made_alone(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vkssp.solver.session_batch.MOST_PAIRS", 8)
    many = [(node, 0) for node in range(9)]
    with Solver(GRAPH, "phast", device) as solver:
        wrong = GRAPH.num_nodes
        asks: list[Callable[[], Any]] = [
            lambda: solver.search_path([(0, 0)], [(300, 0)]),
            lambda: solver.search_path(many, [(310, 1)]),
            lambda: solver.search_path([(4, 0)], [(320, 0), (21, 3)]),
            lambda: solver.search_path(many[:5], [(7, 0)]),
            lambda: solver.from_seeds([(3, 0)], 8),
        ]
        alone, together = [ask() for ask in asks], asked_together(solver, asks)
        assert all(map(same, alone, together))
        with pytest.raises(QueryError, match=str(wrong)):
            solver.search_path([(wrong, 0)], [(0, 0)])

        def fail(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr(path_batch.PathBatch, "find", fail)
        assert all(map(same, alone, asked_together(solver, asks)))


def test_pairs_without_paths_are_found_together(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, found = np.random.default_rng(4), list[int]()
    find = path_batch.PathBatch.find

    def noted(self: path_batch.PathBatch, *arguments: Any) -> Any:
        answers = find(self, *arguments)
        found.append(len(answers.distances))
        return answers

    monkeypatch.setattr(path_batch.PathBatch, "find", noted)
    with Solver(GRAPH, "phast", device) as solver:
        some = rng.integers(0, GRAPH.num_nodes, (3, 2, 5))
        asks: list[Callable[[], Any]] = [lambda pairs=pairs: solver.pairs(*pairs) for pairs in some]  # type: ignore[misc]
        assert all(map(same, [ask() for ask in asks], asked_together(solver, asks)))
    assert found == [10]  # the first question is asked alone


def test_unreachable_nodes_and_overflows_among_others(device: Device) -> None:
    edges = [0, 1, 2, 4, 5], [1, 2, 3, 5, 4], [7, 2**32 - 3, 9, 1, 1]
    graph = prepare(Graph.from_edges(*edges, num_nodes=6))
    with Solver(graph, "phast", device) as solver:
        pairs = ((0, 1), (0, 4), (4, 5), (1, 2), (5, 0), (3, 3))
        asks = [lambda pair=pair: solver.search_path([(pair[0], 0)], [(pair[1], 0)]) for pair in pairs]  # type: ignore[misc]
        assert all(map(same, [ask() for ask in asks], asked_together(solver, asks)))


def test_a_change_of_weights_waits_its_turn(device: Device) -> None:
    """Those that were asked before it have the old weights, and what one asks inside of `holding` has one version."""
    weights = GRAPH.weight * np.uint32(2)
    with Solver(GRAPH, "phast", device) as solver:
        base = solver.search_path([(0, 0)], [(300, 0)])
        assert base is not None
        changing = threading.Thread(target=lambda: solver.set_weights(weights), daemon=True)

        def ask_twice() -> tuple[int, int]:
            with solver.holding():
                found = [solver.search_path([(0, 0)], [(300, 0)]) for _ in range(2)]
            assert found[0] is not None and found[1] is not None
            return found[0][0], found[1][0]

        def change_and_ask() -> Any:
            if not changing.ident:
                changing.start()
            return ask_twice()

        found = asked_together(solver, [ask_twice] * 6)
        assert found == [(base[0], base[0])] * 6
        answers = asked_together(solver, [ask_twice, ask_twice, change_and_ask])
        changing.join(60)
        assert all(one == other and one in (base[0], 2 * base[0]) for one, other in answers)
        assert solver.search_path([(0, 0)], [(300, 0)])[0] == 2 * base[0]  # type: ignore[index]


def test_questions_that_come_during_a_batch_are_the_next_one() -> None:
    batches, batch_sizes = MicroBatches(), list[int]()
    goes_on, has_begun = threading.Event(), threading.Event()

    def answer(batch: Sequence[Waiting]) -> None:
        batch_sizes.append(len(batch))
        has_begun.set()
        goes_on.wait(60)
        for one in batch:
            if one.question % 5:
                one.settle(-one.question)
            else:
                one.settle(error=ValueError(one.question))

    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        try:
            answers[number] = batches.ask(number, answer)
        except ValueError as error:
            answers[number] = error.args[0]

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(1, 9)]
    threads[0].start()
    assert has_begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    while batches.num_waiting < 7:
        time.sleep(0.001)
    goes_on.set()
    for thread in threads:
        thread.join(60)
    assert batch_sizes == [1, 7]
    assert answers == {number: -number if number % 5 else number for number in range(1, 9)}
    assert batches.batching.questions == 8
