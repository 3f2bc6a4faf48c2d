"""Shortest paths of many searches at once: paths of the graph, as long as Dijkstra's distances say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from vkssp import UNREACHABLE, DeviceError, DistanceOverflowError, Graph, Solver, SolverPool, prepare
from vkssp.cpu import phast
from vkssp.gpu.device import Device
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.seed_groups import Groups


def searches(graph: Graph, count: int, seed: int, most_offset: int = 5) -> tuple[Groups, Groups]:
    """Return seeds and targets of searches, one to three of each."""
    rng = np.random.default_rng(seed)
    groups = []
    for _ in range(2):
        first = np.concatenate([[0], np.cumsum(rng.integers(1, 4, count))])
        node = rng.integers(0, graph.num_nodes, first[-1]).astype(np.uint32)
        groups.append(Groups(first, node, rng.integers(0, most_offset, first[-1]).astype(np.uint32)))
    return groups[0], groups[1]


def check(graph: Graph, found: FoundPaths, seeds: Groups, targets: Groups) -> None:
    """Check that each path joins a seed and a target, and weighs as little as any of them can."""
    for number in range(len(seeds)):
        weight, seed, target, arcs = found.path(number)
        best = UNREACHABLE
        for node, offset in seeds[number]:
            distance = heap_dijkstra(graph, node)
            best = min(best, *(int(distance[end]) + offset + rest for end, rest in targets[number]))
        assert weight == best
        if weight == UNREACHABLE:
            assert (seed, target, len(arcs)) == (-1, -1, 0)
            continue
        (first, offset), (last, rest) = seeds[number][seed], targets[number][target]
        nodes = [first, *graph.head[arcs].tolist()]
        assert nodes[-1] == last and graph.tail[arcs].tolist() == nodes[:-1]
        assert int(graph.weight[arcs].sum()) + offset + rest == weight


def with_zeros() -> Graph:
    """A grid of which most weights are zero, beside another one that nothing leads to."""
    graph = grid(7, seed=2, low=0, high=2)
    apart = grid(4, seed=3)
    tail, head = (np.concatenate([getattr(graph, name), getattr(apart, name) + 49]) for name in ("tail", "head"))
    return Graph.from_edges(tail, head, np.concatenate([graph.weight // 2, apart.weight]))


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("on_cpu", [True, False])
def test_paths_are_shortest(device: Device, prepared: bool, on_cpu: bool) -> None:
    graphs = [grid(9, seed=4), with_zeros(), Graph.from_edges([0], [0], [7])]
    count = 20 if prepared else 4
    for number, graph in enumerate(graphs):
        seeds, targets = searches(graph, count, number)
        given = prepare(graph) if prepared else graph
        with Solver(
            given, "phast" if prepared else "dijkstra" if on_cpu else "near_far", "cpu" if on_cpu else device
        ) as solver:
            found = solver.search_paths(seeds, targets)
            check(graph, found, seeds, targets)
            for row in range(0, count, 3):
                one = solver.search_path(seeds[row], targets[row])
                assert one is None or [*map(list, (one[:3], one[3]))] == [
                    *map(list, (found.path(row)[:3], found.path(row)[3]))
                ]
            few = solver.search_paths(seeds.between(0, 3), targets.between(0, 3))
            check(graph, few, seeds.between(0, 3), targets.between(0, 3))
            none = solver.search_paths(seeds.between(0, 0), targets.between(0, 0))
            assert len(none.weight) == 0 and none.first.tolist() == [0] and len(none.arcs) == 0


def test_paths_with_more_arcs_than_there_is_room_for_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phast, "ARCS_A_PATH", 1)
    graph = grid(9, seed=4)
    seeds, targets = searches(graph, 40, 1)
    with Solver(prepare(graph), "phast", "cpu") as solver, SolverPool(prepare(graph), "phast", "cpu") as pool:
        check(graph, solver.search_paths(seeds, targets), seeds, targets)
        again = pool.search_paths(seeds, targets)
        for one, other in zip(solver.search_paths(seeds, targets), again, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("on_cpu", [True, False])
def test_sums_that_do_not_fit_are_errors_and_others_are_found_beside_them(device: Device, on_cpu: bool) -> None:
    """A line of heavy arcs: of two of them the sum fits, of three it does not."""
    heavy = 2**31 - 3
    line = Graph.from_edges([0, 1, 2], [1, 2, 3], [heavy, heavy, heavy])
    with Solver(prepare(line), "phast", "cpu" if on_cpu else device) as solver:
        nodes = np.tile(np.array([0, 1, 1, 3], np.uint32), 5), np.tile(np.array([2, 3, 2, 0], np.uint32), 5)
        ends = Groups.of_nodes(nodes[0]), Groups.of_nodes(nodes[1])
        found = solver.search_paths(*ends)
        check(line, found, *ends)
        assert found.weight[:4].tolist() == [2 * heavy, 2 * heavy, heavy, UNREACHABLE]
        beyond = np.append(nodes[1], np.uint32(3))
        with pytest.raises(DistanceOverflowError):
            solver.search_paths(Groups.of_nodes(np.append(nodes[0], np.uint32(0))), Groups.of_nodes(beyond))
        check(line, solver.search_paths(*ends), *ends)


def test_new_weights_hold_for_the_next_paths(device: Device) -> None:
    graph = grid(9, seed=4)
    changed = replace(graph, weight=np.random.default_rng(9).integers(1, 50, graph.num_arcs).astype(np.uint32))
    seeds, targets = searches(graph, 20, 5)
    for place in ("cpu", device):
        with Solver(prepare(graph), "phast", place) as solver:
            solver.search_paths(seeds, targets)
            solver.set_weights(changed.weight)
            check(changed, solver.search_paths(seeds, targets), seeds, targets)


def test_without_memory_for_many_at_once_each_is_found_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(6, seed=1))
    seeds, targets = searches(graph, 20, 3)

    def full(*_: object) -> None:
        raise DeviceError("paths need more memory than there is")

    monkeypatch.setattr("vkssp.solver.session.find_together", full)
    with Solver(graph, "phast", device) as solver:
        check(graph, solver.search_paths(seeds, targets), seeds, targets)
