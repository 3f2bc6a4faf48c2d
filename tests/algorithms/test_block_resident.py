"""Block-resident relaxation: small blocks, few rounds, and graphs that do not fit into blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA, EXAMPLES
from tests.support.graphs import check_counters, check_path, grid, heap_dijkstra, random_graphs, scipy_dijkstra
from vkssp import UNREACHABLE, DeviceError, DistanceOverflowError, Graph, QueryError, Solver, read_graph
from vkssp.algorithms import block_resident
from vkssp.algorithms.block_resident import BlockResident
from vkssp.gpu.device import Device
from vkssp.prepared import blocks as blocks_module
from vkssp.prepared.blocks import RECORD, make_blocks, place_bits
from vkssp.tunables import defaults

NAME = "block_resident"


def solve(graph: Graph, device: Device, **options: Any) -> Solver:
    return Solver(graph, NAME, device, **options)


def blocks(solver: Solver) -> tuple[int, int]:
    """Return how many blocks there are, and how many nodes each has."""
    search = solver.session.algorithm()
    assert isinstance(search, BlockResident)
    return search.num_blocks, search.block


def shuffled(graph: Graph, seed: int = 0) -> Graph:
    """Return a graph numbered at random and without places, so that nearly all arcs leave their block."""
    name = np.random.default_rng(seed).permutation(graph.num_nodes)
    return Graph.from_edges(name[graph.tail], name[graph.head], graph.weight, num_nodes=graph.num_nodes)


def check_search(solver: Solver, source: int, expected: np.ndarray) -> None:
    """Compare all distances, and check that the counters of the search fit together."""
    assert np.array_equal(solver.distances(source), expected)
    rows = check_counters(solver)
    assert solver.last is not None
    counters, (number, size) = solver.last.counters, blocks(solver)
    visits, splits = rows[rows["phase"] == 0], rows[rows["phase"] == 1]
    assert counters["buckets"] == len(splits) + 1
    # The range is one of places in a list, which holds no block twice.
    assert (rows["last_node"] < number).all()
    assert counters["blocks"] == (visits["last_node"] + 1).sum()
    assert (splits["visited"] == splits["last_node"] + 1).all() and not splits["relaxed"].any()
    assert (visits["visited"] <= (visits["last_node"].astype(np.int64) + 1) * size * rounds_of(solver)).all()
    # Every split raises the threshold.
    assert (np.diff(splits["high"].astype(np.int64)) > 0).all()
    assert (splits["high"] > splits["low"]).all()


def rounds_of(solver: Solver) -> int:
    rounds = solver.session.parameters["rounds"] or block_resident.default_rounds(blocks(solver)[1])
    at_once = min(rounds, solver.session.parameters["rounds_at_once"] or 4)
    return -(-rounds // at_once) * at_once


@settings(max_examples=max(3, EXAMPLES // 4))
@given(graphs=st.lists(random_graphs(), min_size=2, max_size=2), data=st.data())
def test_tiny_blocks(device: Device, graphs: list[Graph], data: st.DataObject) -> None:
    parameters = {
        "block": data.draw(st.sampled_from([1, 8, 16])),
        "workgroup_size": data.draw(st.sampled_from([None, 3, 16])),
        "rounds": data.draw(st.sampled_from([1, None])),
        "rounds_at_once": data.draw(st.sampled_from([1, 3, None])),
        "delta": data.draw(st.sampled_from([None, 1, 30, 2**32 - 2])),
        "workgroups": data.draw(st.sampled_from([1, 64])),
    }
    for graph in graphs:
        source, target = (data.draw(st.integers(0, graph.num_nodes - 1)) for _ in range(2))
        expected = heap_dijkstra(graph, source)
        with solve(graph, device, counters="trace", **parameters) as solver:
            check_search(solver, source, expected)
            assert solver.distance(source, target) == expected[target]
            if expected[target] != UNREACHABLE:
                check_path(graph, solver.path(source, target), source, target, int(expected[target]))


@settings(max_examples=max(3, EXAMPLES // 3))
@given(graph=random_graphs(), limit=st.integers(4, 9), data=st.data())
def test_seeds_and_targets_with_offsets(device: Device, graph: Graph, limit: int, data: st.DataObject) -> None:
    """Against one more node on each side, with arcs that weigh the offsets."""
    place = st.tuples(st.integers(0, graph.num_nodes - 1), st.sampled_from([0, 1, 40, 10**7]))
    seeds, targets = (data.draw(st.lists(place, min_size=1, max_size=limit)) for _ in range(2))
    n = graph.num_nodes
    ends = [(n, node, offset) for node, offset in seeds] + [(node, n + 1, offset) for node, offset in targets]
    tail, head, weight = zip(*ends, strict=True)
    parts = [np.concatenate(pair) for pair in ((graph.tail, tail), (graph.head, head), (graph.weight, weight))]
    expected = int(heap_dijkstra(Graph.from_edges(*parts, num_nodes=n + 2), n)[n + 1])
    delta = data.draw(st.sampled_from([1, 30, None]))
    with solve(graph, device, block=4, rounds=data.draw(st.sampled_from([1, None])), delta=delta) as solver:
        found = solver.search_path(seeds, targets)
        if expected == UNREACHABLE:
            assert found is None
            return
        assert found is not None
        length, seed, target, arcs = found
        assert length == expected == seeds[seed][1] + targets[target][1] + int(graph.weight[arcs].sum(dtype=np.uint64))
        nodes = [seeds[seed][0], *graph.head[arcs].tolist()]
        assert graph.tail[arcs].tolist() == nodes[:-1] and nodes[-1] == targets[target][0]


@pytest.mark.parametrize(
    ("rounds", "at_once", "block", "size"),
    [(1, 1, 64, 16), (2, 1, 256, 64), (32, 1, 16, 64), (32, 4, 64, 16), (32, 4, 256, 64), (5, 2, 16, 64)],
)
def test_grids(device: Device, rounds: int, at_once: int, block: int, size: int) -> None:
    """Some of the combinations, since kernels are compiled for each of them; drawn ones are in `test_tiny_blocks`."""
    graph = grid(20, seed=rounds)
    for delta in (7, 60, 2**32 - 2):
        options = {"block": block, "workgroup_size": size, "rounds": rounds, "delta": delta, "rounds_at_once": at_once}
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 210, heap_dijkstra(graph, 210))


def test_all_arcs_leave_their_block(device: Device) -> None:
    graph = shuffled(grid(40, seed=4))
    for options in ({"block": 16}, {"block": 32, "rounds": 1}, {"block": 1}, {}):
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 7, heap_dijkstra(graph, 7))


def test_a_block_of_one_node_is_a_queue_of_nodes(device: Device) -> None:
    """All arcs leave, and with a bucket of one unit every reached node works once."""
    graph = grid(15, seed=1)
    with solve(graph, device, counters="totals", block=1, delta=1) as solver:
        solver.distances(0)
        assert solver.last is not None and solver.last.counters["worked"] == graph.num_nodes
        assert solver.last.counters["relaxed"] == graph.num_arcs


def test_a_graph_in_one_block_needs_no_second_dispatch_but_for_rounds(device: Device) -> None:
    """A path: a hop a round in the worst case, and in each visit at least as many hops as it has rounds."""
    n = 60
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 5))
    for rounds in (1, 5, 200):
        with solve(graph, device, counters="trace", block=64, rounds=rounds, delta=10**6) as solver:
            check_search(solver, 0, np.arange(n) * 5)
            assert solver.last is not None
            counters = solver.last.counters
            assert counters["iterations"] == counters["blocks"] <= -(-n // rounds)
            assert counters["relaxed"] == counters["improved"] == n - 1


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_long_path_through_many_blocks(device: Device, both_ways: bool) -> None:
    nodes = np.arange(4000)
    weight = np.random.default_rng(6).integers(0, 30, len(nodes) - 1)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], weight, undirected=both_ways)
    expected = np.concatenate([[0], np.cumsum(weight)])
    for options in ({"block": 16}, {"block": 64, "rounds": 5, "delta": 100}, {"block": 256, "workgroup_size": 16}):
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 0, expected)
            check_path(graph, solver.path(0, 3999), 0, 3999, int(expected[-1]))


@pytest.mark.parametrize("leaves", [RECORD, RECORD + 1, 40, 5000])
def test_stars(device: Device, leaves: int) -> None:
    """Rows that just fit into a record and longer ones, in and out of the block, twice in a row."""
    ends = np.arange(1, leaves + 1)
    tail = np.concatenate([np.zeros(leaves, int), ends, np.full(leaves, leaves)])
    head = np.concatenate([ends, ends - 1, ends])
    weight = np.random.default_rng(leaves).integers(1, 50, len(tail))
    graph = Graph.from_edges(tail, head, weight)
    for options in ({"block": 16}, {"block": 32, "rounds": 1, "delta": 10}, {"block": 128, "workgroup_size": 9}, {}):
        with solve(graph, device, counters="trace", **options) as solver:
            for source in (0, leaves):
                check_search(solver, source, heap_dijkstra(graph, source))


def test_many_nodes_of_many_arcs_in_a_block(device: Device) -> None:
    """A complete graph, whose nodes improve one another in several rounds."""
    n = 150
    tail, head = (ends.ravel() for ends in np.meshgrid(np.arange(n), np.arange(n)))
    weight = (tail - head) ** 2 + np.random.default_rng(2).integers(1, 5, n * n)
    graph = Graph.from_edges(tail, head, weight)
    for options in ({"block": 32}, {"block": 256, "workgroup_size": 16}, {"block": 64, "rounds": 5, "delta": 40}):
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 3, heap_dijkstra(graph, 3))


def test_a_real_road_network(device: Device) -> None:
    graph = read_graph(DATA / "andorra.osm.pbf")
    expected = scipy_dijkstra(graph, 5)
    for options in ({}, {"block": 256, "workgroup_size": 16}, {"order": "natural", "block": 32, "delta": 20_000}):
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 5, expected)


def test_a_search_for_a_target_ends_where_it_is_decided(device: Device) -> None:
    graph = grid(40, seed=9, low=50)
    expected = heap_dijkstra(graph, 0)
    with solve(graph, device, counters="trace", block=16, delta=100) as solver:
        solver.distances(0)
        whole = len(solver.trace())
        for target in (0, 1, 41, 250, 1599):
            assert solver.distance(0, target) == expected[target]
            rows = check_counters(solver)
            # It works on no bucket beyond the target's.
            assert (rows["low"] <= expected[target]).all()
            assert len(rows) < whole or target == 1599
            found = solver.session.algorithm().read()[solver.session.renumbered.node]
            final = expected < rows["high"].max()
            assert np.array_equal(found[final], expected[final]) and (found >= expected).all()


def test_empty_ranges_of_distances_cost_nothing(device: Device) -> None:
    """Nodes ten million apart, with buckets of ten: a split for each of them, not for each bucket between."""
    nodes = np.arange(30)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], np.full(29, 10**7))
    with solve(graph, device, counters="trace", block=8, delta=10) as solver:
        check_search(solver, 0, nodes * 10**7)
        assert solver.last is not None and solver.last.counters["buckets"] == 30


def test_searches_leave_nothing_behind(device: Device) -> None:
    graph = grid(30, seed=2)
    with solve(graph, device, counters="trace", block=32, delta=300) as solver:
        for source in (0, 899, 450, 0):
            assert solver.distance(source, 31) == heap_dijkstra(graph, source)[31]
            check_search(solver, source, heap_dijkstra(graph, source))


def test_distances_that_do_not_fit(device: Device) -> None:
    largest = 2**32 - 2
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [largest - 1, 1, 1, 9])
    for block in (1, 2, 4):
        with solve(graph, device, block=block) as solver:
            assert solver.distances(0).tolist() == [0, largest - 1, largest, 9]
            assert solver.distance(1, 3) == 2
    beyond = Graph.from_edges([0, 1, 2], [1, 2, 3], [largest, 1, 0])
    for block in (1, 4):
        with solve(beyond, device, block=block) as solver, pytest.raises(DistanceOverflowError):
            solver.distances(0)


def test_weights_that_do_not_fit_into_a_record(device: Device) -> None:
    """Where a block has 1024 places, 22 bits are left for the weight, and the highest stands for no arc."""
    rng = np.random.default_rng(8)
    road = grid(30, seed=8)
    weight = rng.choice(np.array([0, 1, 2**22 - 2, 2**22 - 1, 2**22, 2**25], np.uint32), road.num_arcs)
    graph = Graph.from_edges(road.tail, road.head, weight, num_nodes=road.num_nodes)
    expected = heap_dijkstra(graph, 17)
    for options in ({}, {"block": 1024, "workgroup_size": 128}, {"block": 64, "rounds": 5}, {"delta": 2**24}):
        with solve(graph, device, counters="trace", **options) as solver:
            check_search(solver, 17, expected[: graph.num_nodes])


@settings(max_examples=EXAMPLES)
@given(graph=random_graphs(), block=st.sampled_from([1, 2, 8, 64, 1024]))
def test_blocks_hold_each_arc_once(graph: Graph, block: int) -> None:
    arcs = np.stack([graph.head, graph.weight], axis=1)
    found, bits = make_blocks(graph.first_out, arcs, block), place_bits(block)
    result = []
    for node, record in enumerate(found.records.tolist()):
        free = (UNREACHABLE >> bits) << bits | node % block
        first = node - node % block
        kept = [(node, first + word % (1 << bits), word >> bits) for word in record if word != free]
        assert record[len(kept) :] == [free] * (RECORD - len(kept))
        result += kept
    for number, (leaving, staying, also, end) in enumerate(found.ranges.tolist()):
        assert staying == also and (leaving == 0 if number == 0 else leaving == found.ranges[number - 1, 3])
        for at, (place, head, weight) in enumerate(found.others[leaving:end].tolist(), leaving):
            tail = number * block + place
            assert place < block and (head // block == number) == (at >= staying)
            if at >= staying:  # only what has no room elsewhere
                held = sum(word >> bits != UNREACHABLE >> bits for word in found.records[tail])
                assert held == RECORD or weight >= UNREACHABLE >> bits
            result.append((tail, head, weight))
    is_loop = graph.tail == graph.head
    expected = zip(*(ends[~is_loop].tolist() for ends in (graph.tail, graph.head, graph.weight)), strict=True)
    assert sorted(result) == sorted(expected)


def test_blocks_of_a_graph_that_is_put_in_order_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = shuffled(grid(20, seed=1))
    arcs = np.stack([graph.head, graph.weight], axis=1)
    whole = make_blocks(graph.first_out, arcs, 16)
    monkeypatch.setattr(blocks_module, "NODES_AT_ONCE", 64)
    pieces = make_blocks(graph.first_out, arcs, 16)
    for name in ("records", "others", "ranges"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name))


def test_defaults_that_follow_from_the_graph() -> None:
    """Rounds are the hops across a block; ways are what joins crossings of three arcs each."""
    assert [block_resident.default_rounds(block) for block in (1, 2, 16, 512, 1024, 4096)] == [1, 2, 4, 32, 32, 64]
    assert block_resident.mean_chain(3) == 1
    # Two crossings and three ways of three arcs between them: 8 nodes, 18 arcs.
    assert block_resident.mean_chain(18 / 8) == pytest.approx(3)
    assert block_resident.mean_chain(2) == block_resident.mean_chain(0) == block_resident.LONGEST_CHAIN


# What a device allows


def test_blocks_that_do_not_fit_into_shared_memory_are_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a pipeline is made: a driver may lose the device instead of refusing it."""
    monkeypatch.setattr(device, "limits", replace(device.limits, shared_memory=4096))
    owned = set(device.owned)
    with pytest.raises(DeviceError, match=r"^block_resident needs 8\d\d\d bytes of shared memory, .* has 4096; choose"):
        solve(grid(5), device, block=1024, workgroup_size=128)
    assert set(device.owned) == owned
    with solve(grid(5), device, block=256, workgroup_size=64) as solver:
        assert np.array_equal(solver.distances(3), heap_dijkstra(grid(5), 3))


def test_more_nodes_than_an_invocation_has_registers_for_are_refused(device: Device) -> None:
    with pytest.raises(
        QueryError, match=r"^block is 128; block_resident with workgroups of 4 takes 64 at most; choose"
    ):
        solve(grid(5), device, block=128, workgroup_size=4)
    with solve(grid(12), device, block=64, workgroup_size=4) as solver:
        assert np.array_equal(solver.distances(3), heap_dijkstra(grid(12), 3))
    with solve(grid(12), device, block=2048) as solver:
        assert blocks(solver)[1] == 2048, "large blocks have large workgroups"


@pytest.mark.parametrize(("limit", "size", "block"), [(1024, 1024, 1024), (512, 512, 1024), (256, 256, 1024)])
def test_defaults_follow_the_largest_workgroup(
    device: Device, monkeypatch: pytest.MonkeyPatch, limit: int, size: int, block: int
) -> None:
    """As they are on a GPU: an invocation for each node if there are so many."""
    if limit > device.limits.workgroup_size:
        pytest.skip("no device has less than it has")
    monkeypatch.setattr(device, "limits", replace(device.limits, workgroup_size=limit))
    monkeypatch.setattr(device, "info", replace(device.info, kind="discrete"))
    monkeypatch.setattr(device, "tuned", defaults(is_software=False))
    graph = grid(40, seed=3)
    with solve(graph, device) as solver:
        assert blocks(solver) == (2, block)
        assert np.array_equal(solver.distances(8), heap_dijkstra(graph, 8))
        search = solver.session.algorithm()
        kernel = search.parts[-2]  # type: ignore[attr-defined]
        assert kernel.workgroup_size == size
