"""Push and pull: rows that are divided, graphs of both kinds, and what each iteration looks at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.graphs import scipy_dijkstra
from vkssp import Graph, Solver
from vkssp.algorithm import MAX_TERMINALS
from vkssp.algorithms import push_pull
from vkssp.generate import rmat
from vkssp.gpu.device import Device
from vkssp.graph.many_arcs import sort_items
from vkssp.prepared import light_arcs as light_arcs_module
from vkssp.prepared.light_arcs import later_pieces, light_arcs
from vkssp.prepared.renumbered import RenumberedGraph


def with_hub(undirected: bool) -> Graph:
    """Return a graph with arcs without weight, a hub, and nodes out of reach."""
    rng = np.random.default_rng(7)
    tail, head = rng.integers(0, 900, (2, 6000))
    hub = np.full(2500, 7), rng.integers(0, 1000, 2500)
    tail, head = np.concatenate([tail, hub[0], hub[1][:500]]), np.concatenate([head, hub[1], hub[0][:500]])
    weight = rng.choice(np.array([0, 1, 5, 80, 81, 10_000], np.uint32), len(tail))
    if undirected:
        tail, head, weight = np.concatenate([tail, head]), np.concatenate([head, tail]), np.tile(weight + 1, 2)
    return Graph.from_edges(tail, head, weight, num_nodes=1010)


@pytest.mark.parametrize(
    ("undirected", "piece", "workgroup_size"), [(False, 16, 32), (True, 100, 256), (False, 1024, 8)]
)
def test_rows_that_are_divided(
    device: Device, monkeypatch: pytest.MonkeyPatch, undirected: bool, piece: int, workgroup_size: int
) -> None:
    monkeypatch.setattr(push_pull, "PIECE", piece)
    graph = with_hub(undirected)
    renumbered = RenumberedGraph(graph, "natural", keep=True)
    assert light_arcs(renumbered).is_undirected == undirected
    seeds = [(node, 3 * node % 50) for node in range(0, 900, 2)]
    nodes, offsets = zip(*seeds, strict=True)
    parts = (graph.tail, [graph.num_nodes] * len(seeds)), (graph.head, nodes), (graph.weight, offsets)
    with_root = Graph.from_edges(*map(np.concatenate, parts), num_nodes=graph.num_nodes + 1)
    from_root = scipy_dijkstra(with_root, graph.num_nodes)[: graph.num_nodes]
    for share in (1, 2**31):  # changed nodes push, or all pull
        options: dict[str, Any] = {"push_share": share, "workgroup_size": workgroup_size}
        with Solver(renumbered, "push_pull", device, counters="trace", **options) as solver:
            for source in (3, 7, 1005):
                assert np.array_equal(solver.distances(source), scipy_dijkstra(graph, source))
                if source == 3:
                    rows = solver.trace()
                    assert rows["phase"][0] == 2 and (rows["phase"] == 1).any() == (share > 1)
            assert np.array_equal(solver.from_seeds(seeds), from_root)


def test_as_many_seeds_as_the_terminals_have_room_for(device: Device) -> None:
    count = 2 * MAX_TERMINALS
    tail = np.arange(20 * count - 1)
    graph = Graph.from_edges(tail, tail + 1, np.ones_like(tail))
    with Solver(graph, "push_pull", device, reduction="none") as solver:
        found = solver.from_seeds([(20 * seed, 0) for seed in range(count)])
    assert np.array_equal(found, np.arange(20 * count) % 20)


@pytest.mark.parametrize("undirected", [False, True])
def test_light_arcs_of_many_arcs(undirected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    renumbered = RenumberedGraph(with_hub(undirected), "natural")
    expected = light_arcs(renumbered)
    monkeypatch.setattr(light_arcs_module, "MANY", 1)
    found = light_arcs(renumbered)
    assert found.is_undirected == expected.is_undirected == undirected
    assert np.array_equal(found.first_in, expected.first_in)
    assert np.array_equal(found.first_out, renumbered.first_out)
    if not undirected:
        assert np.array_equal(found.arcs, renumbered.arcs)
    # Of equal weights the order may differ.
    one, other = (arcs.arcs_in.view(np.uint64).reshape(-1).copy() for arcs in (found, expected))
    assert np.array_equal(one >> np.uint64(32), other >> np.uint64(32))
    for items in (one, other):
        sort_items(found.first_in, items)
    assert np.array_equal(one, other)


def test_light_arcs_of_both_directions() -> None:
    graph = with_hub(undirected=False)
    renumbered = RenumberedGraph(graph, "natural")
    arcs = light_arcs(renumbered)
    tail = np.repeat(np.arange(renumbered.num_nodes), np.diff(renumbered.first_out))
    expected = sorted(zip(renumbered.arcs[:, 0].tolist(), renumbered.arcs[:, 1].tolist(), tail.tolist(), strict=True))
    head = np.repeat(np.arange(renumbered.num_nodes), np.diff(arcs.first_in))
    rows = list(zip(head.tolist(), arcs.arcs_in[:, 1].tolist(), arcs.arcs_in[:, 0].tolist(), strict=True))
    assert sorted(rows) == expected
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    pieces = later_pieces(arcs.first_in, 16)
    degree = np.diff(arcs.first_in.astype(np.int64))
    wanted = [
        (node, int(arcs.first_in[node]) + first)
        for node in range(renumbered.num_nodes)
        for first in range(16, int(degree[node]), 16)
    ]
    assert list(map(tuple, pieces.tolist())) == wanted and len(wanted) > 99
    assert len(later_pieces(np.zeros(1, np.uint32), 16)) == 0


def test_most_arcs_are_never_looked_at(device: Device) -> None:
    graph = rmat(12)
    with Solver(graph, "push_pull", device, counters="totals") as solver:
        for source in (1, 100):
            assert np.array_equal(solver.distances(source), scipy_dijkstra(graph, source))
            assert solver.last is not None and solver.last.counters["relaxed"] < graph.num_arcs
