"""Unique shortest paths, found by one dispatch: they are those of other algorithms, as are paths with ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cch.test_unpack import graphs, same_paths
from tests.conftest import EXAMPLES
from tests.support.graphs import grid
from tests.support.submissions import check_paths_take_one_submission, noted_submissions
from vkssp import Graph, Solver, prepare
from vkssp.cch import lower_arcs, pairs, path_batch, recustomized, unique_paths, unpack
from vkssp.gpu.device import Device
from vkssp.prepared.seed_groups import Groups

#: Value of `done` where there are several shortest paths.
HAS_TIES = 5


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Find lower arcs at once, and always look for unique paths; return the value of `done` for each."""
    monkeypatch.setattr(lower_arcs, "enough_paths", lambda *_: 0)
    monkeypatch.setattr(unique_paths.UniquePaths, "learn", lambda _, has_ties: done.append(HAS_TIES if has_ties else 1))
    done: list[int] = []
    return done


def varied(side: int, most: int) -> Graph:
    """Return a grid with random weights, which differ in both directions."""
    whole = grid(side)
    return whole.with_weights(np.random.default_rng(side).integers(1, most, whole.num_arcs))


@settings(max_examples=max(4, EXAMPLES // 8))
@given(graph=graphs(), seed=st.integers(0, 2**32 - 1))
def test_paths_are_those_of_other_algorithms(device: Device, graph: Graph, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_arcs, "enough_paths", lambda *_: 0)
        patch.setattr(unique_paths, "TIES", 1 << 20)
        same_paths(graph, device, np.random.default_rng(seed))


def chosen(device: Device, found: list[int]) -> int:
    """Return for how many pairs one of several shortest paths is found at once; only these may be ties."""
    graph, rng, counts = prepare(varied(17, 30)), np.random.default_rng(0), list[int]()
    tail, head, weight = graph.tail, graph.head, graph.weight.astype(np.int64)
    with Solver(graph, "dijkstra") as reference, Solver(graph, "phast", device) as solver:
        for source, target in rng.integers(0, graph.num_nodes, (30, 2)).tolist():
            distance = reference.distances(source).astype(np.int64)
            is_tight = distance[tail] + weight == distance[head]
            count = np.zeros(graph.num_nodes)
            count[source] = 1
            for node in np.argsort(distance, kind="stable").tolist():
                if node != source:
                    count[node] = count[tail[is_tight & (head == node)]].sum()
            assert solver.path(source, target).arcs.tolist() == reference.path(source, target).arcs.tolist()
            counts.append(int(count[target]))
    assert all(done == 1 for done, count in zip(found, counts, strict=True) if count == 1)
    assert set(found) == {1, HAS_TIES} and 1 in counts
    return sum(done == 1 and count > 1 for done, count in zip(found, counts, strict=True))


def test_one_of_several_paths_of_an_arc_is_chosen(device: Device, found: list[int]) -> None:
    assert chosen(device, found) > 0


@pytest.mark.parametrize(("name", "value"), [("_ROUNDS", 0), ("_TIES", (1, 1 << 20))])
def test_only_equally_short_paths_are_ties(
    device: Device, monkeypatch: pytest.MonkeyPatch, found: list[int], name: str, value: object
) -> None:
    monkeypatch.setattr(lower_arcs, name, value)
    assert chosen(device, found) == 0


def test_a_unique_path_takes_one_submission(device: Device, monkeypatch: pytest.MonkeyPatch, found: list[int]) -> None:
    with Solver(prepare(varied(17, 1 << 20)), "phast", device) as solver:
        check_paths_take_one_submission(solver, monkeypatch)
    assert set(found) == {1}


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (unique_paths, "_MOST_ROOM", 600),
        (unique_paths, "_SOFTWARE_SIZE", 8),
        (lower_arcs, "_MANY", 0),
        (lower_arcs, "_MOST_MEMORY", 0),
        (pairs, "_MOST_TRACKS", 60),
        (unpack, "_MOST_RESULTS", 20),
        (pairs, "_SOFTWARE_SIDES", 2),
        (pairs, "_SOFTWARE_AT_ONCE", 4),
    ],
)
def test_paths_with_little_room_or_work_divided_otherwise(
    device: Device, monkeypatch: pytest.MonkeyPatch, found: list[int], module: object, name: str, value: int
) -> None:
    monkeypatch.setattr(module, name, value)
    same_paths(varied(15, 1 << 20), device, np.random.default_rng(2))


def test_few_changed_weights_and_other_metrics(
    device: Device, monkeypatch: pytest.MonkeyPatch, found: list[int]
) -> None:
    monkeypatch.setattr(recustomized, "FEWEST_ARCS", 0)
    monkeypatch.setattr(recustomized, "MOST_WORK", 1)
    graph, rng = prepare(varied(16, 1 << 20)), np.random.default_rng(3)
    other = graph.with_weights(graph.weight[::-1].copy())
    with Solver(graph, "phast", device) as solver, Solver(other, "phast", device) as beside:
        for _ in range(4):
            for each in (solver, beside):
                with Solver(each.graph, "dijkstra") as reference:
                    for source, target in rng.integers(0, graph.num_nodes, (6, 2)).tolist():
                        assert each.path(source, target).arcs.tolist() == reference.path(source, target).arcs.tolist()
            changed = rng.integers(0, graph.num_arcs, 5)
            solver.set_weights(rng.integers(1, 1 << 20, 5), changed)
    assert set(found) == {1}


@pytest.mark.parametrize(
    ("most", "slots", "limits"), [(3, 23, {}), (1 << 20, 128, {}), (1 << 20, 128, {"_MOST_TRACKS_OF_MANY": 60})]
)  # 70 are three times 23 and one more
def test_paths_of_many_searches(
    device: Device, monkeypatch: pytest.MonkeyPatch, most: int, slots: int, limits: dict[str, int]
) -> None:
    monkeypatch.setattr(lower_arcs, "enough_paths", lambda *_: 0)
    monkeypatch.setattr(path_batch, "slots_for", lambda *_: slots)
    for name, value in limits.items():
        monkeypatch.setattr(pairs, name, value)
    graph, rng = prepare(varied(14, most)), np.random.default_rng(4)

    def places(count: int) -> Groups:
        ends = rng.integers(0, graph.num_nodes, (count, 3)).tolist()
        return Groups.of(
            [[(node, int(rng.integers(3))) for node in some[: 1 + at % 3]] for at, some in enumerate(ends)]
        )

    seeds, targets = places(70), places(70)
    with Solver(graph, "dijkstra") as reference, Solver(graph, "phast", device) as solver:
        for _ in range(9 if most == 3 else 2):  # ties are expected after some
            expected, paths = reference.search_paths(seeds, targets), solver.search_paths(seeds, targets)
            for one, other in zip(expected, paths, strict=True):
                assert np.array_equal(one, other)


def test_paths_with_ties_are_expected_after_some(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_arcs, "enough_paths", lambda *_: 0)
    with Solver(prepare(grid(17, low=1, high=2)), "phast", device) as solver:
        solver.path(0, 288)
        submitted, counts = noted_submissions(monkeypatch), list[int]()
        for _ in range(100):
            submitted.clear()
            solver.path(0, 288)
            counts.append(len(submitted))
    assert counts[:2] == [2, 2] and sum(counts) < 115
