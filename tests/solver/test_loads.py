"""Betweenness and flows beside sums over the paths of all pairs, and beside networkx where paths are unique."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, random_graphs
from vkssp import (
    UNREACHABLE,
    Device,
    DistanceOverflowError,
    FormatError,
    Graph,
    MemoryShortageError,
    NoRouteError,
    QueryError,
    Solver,
    SolverPool,
    prepare,
    read_demand,
)


def loads_of(solver: Solver, demand: np.ndarray, limit: int = UNREACHABLE - 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Return loads of arcs, what goes through nodes, and what is not served, path by path."""
    graph = solver.graph
    arcs, nodes, missed = np.zeros(graph.num_arcs, np.int64), np.zeros(graph.num_nodes, np.int64), 0
    for source, target in np.argwhere(demand):
        amount = int(demand[source, target])
        try:
            route = solver.path(int(source), int(target))
        except NoRouteError:
            missed += amount
            continue
        if route.weight > limit:
            missed += amount
            continue
        np.add.at(arcs, route.arcs, amount)
        np.add.at(nodes, route.nodes[1:-1], amount)
    return arcs, nodes, missed


def all_pairs(num_nodes: int) -> np.ndarray:
    return 1 - np.eye(num_nodes, dtype=np.int64)


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=2 * EXAMPLES)
def test_random_graphs(graph: Graph, data: st.DataObject) -> None:
    size = graph.num_nodes
    limit = data.draw(st.integers(0, 100))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    demand = rng.integers(0, 3, (size, size))
    with Solver(graph, "dijkstra", "cpu") as solver, Solver(prepare(graph), "phast", "cpu") as prepared:
        for most in (None, limit):
            arcs, nodes, _ = loads_of(solver, all_pairs(size), UNREACHABLE - 1 if most is None else most)
            for each in (solver, prepared):
                found = each.betweenness(limit=most)
                assert np.array_equal(found.arcs, arcs)
                assert np.array_equal(found.nodes, nodes)
        arcs, _, missed = loads_of(solver, demand)
        for each in (solver, prepared):
            load = each.flows(range(size), range(size), demand)
            assert np.array_equal(load.arcs, arcs)
            assert load.unreached == missed


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=EXAMPLES)
def test_what_is_watched_along_the_paths_of_random_graphs(graph: Graph, data: st.DataObject) -> None:
    size, rng = graph.num_nodes, np.random.default_rng(data.draw(st.integers(0, 99)))
    demand = rng.integers(0, 3, (size, size))
    values = rng.random((2, graph.num_arcs))
    arcs = rng.integers(0, graph.num_arcs, 3).tolist() if graph.num_arcs else []
    sets = [arcs[:1], arcs[1:]]
    skims, met = np.full((2, size, size), np.nan), np.zeros((2, size, size), np.bool_)
    chosen, turned = np.zeros((2, graph.num_arcs), np.int64), dict[tuple[int, int], int]()
    with Solver(graph, "dijkstra", "cpu") as solver, Solver(prepare(graph), "phast", "cpu") as prepared:
        for source, target in np.ndindex(size, size):
            try:
                path = solver.path(source, target).arcs
            except NoRouteError:
                continue
            amount = int(demand[source, target])
            for number in range(2):
                skims[number, source, target] = sum(values[number, path].tolist())
                met[number, source, target] = np.isin(path, sets[number]).any()
                np.add.at(chosen[number], path, amount * met[number, source, target])
            for turn in pairwise(path.tolist()):
                turned[turn] = turned.get(turn, 0) + amount
        for each in (solver, prepared):
            given = {"skims": {"a": values[0], "b": values[1]}, "select": sets, "turns": True}
            found = each.flows(range(size), range(size), demand, **given)
            assert np.array_equal(np.stack([found.skims["a"], found.skims["b"]]), skims, equal_nan=True)
            assert np.array_equal(np.stack(found.is_selected), met)
            assert np.array_equal(found.selected, chosen)
            turns = found.turns
            assert list(zip(turns.after, turns.before, strict=True)) == sorted(
                zip(turns.after, turns.before, strict=True)
            )
            listed = zip(zip(turns.before.tolist(), turns.after.tolist(), strict=True), turns.load, strict=True)
            assert dict(listed) == {turn: load for turn, load in turned.items() if load}


GRAPH = grid(12, low=1, high=4, seed=5)  # with many ties
DEMAND = np.random.default_rng(4).integers(0, 1000, (GRAPH.num_nodes, GRAPH.num_nodes))


@pytest.fixture(scope="module")
def sources_of_rows(device: Device) -> Iterator[list[tuple[str, Any]]]:
    """Solvers that make rows in all ways."""
    prepared = prepare(GRAPH)
    solvers = [
        Solver(GRAPH, "dijkstra", "cpu"),
        Solver(prepared, "phast", "cpu"),
        Solver(GRAPH, "bellman_ford", "cpu"),
        Solver(prepared, "phast", device),
        Solver(GRAPH, "block_resident", device),
        Solver(GRAPH, "near_far", device, reduction="full"),
        SolverPool(prepared, devices=[device, "cpu"]),
    ]
    yield [(f"{solver.algorithm} on {solver.device.info.name}", solver) for solver in solvers]
    for solver in solvers:
        solver.close()


def test_all_ways_give_the_same_loads(sources_of_rows: list[tuple[str, Any]]) -> None:
    size = GRAPH.num_nodes
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        whole, near, demanded = (
            loads_of(solver, *given) for given in ((all_pairs(size),), (all_pairs(size), 9), (DEMAND,))
        )
    some = [3, 100, 3, 7]
    parts = np.random.default_rng(5).random((4, size))
    first: list[np.ndarray] = []
    for name, each in sources_of_rows:
        found = each.betweenness()
        assert np.array_equal(found.arcs, whole[0]) and np.array_equal(found.nodes, whole[1]), name
        assert found.num_pairs == size * (size - 1), name
        found = each.betweenness(limit=9)
        assert np.array_equal(found.arcs, near[0]) and np.array_equal(found.nodes, near[1]), name
        assert np.array_equal(each.flows(range(size), range(size), DEMAND).arcs, demanded[0]), name
        assert np.array_equal(each.flows(range(size), range(size), sparse.csr_matrix(DEMAND)).arcs, demanded[0]), name
        row, column = np.nonzero(DEMAND)
        assert np.array_equal(each.flows(row, column, DEMAND[row, column]).arcs, demanded[0]), name
        load = each.flows(some, range(size), parts)
        assert load.arcs.dtype == np.float64, name
        first = first or [load.arcs]
        assert np.array_equal(load.arcs, first[0]), name
        whole_parts = np.rint(np.ldexp(parts, 40)).astype(np.int64)
        assert np.allclose(load.arcs, np.ldexp(each.flows(some, range(size), whole_parts).arcs, -40), rtol=1e-9), name


def test_entries_of_one_pair_are_added_up() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 1, 1], undirected=True)
    twice = np.array([100, 100, 100]), np.array([1, 1, 1])
    with Solver(graph, device="cpu") as solver:
        for kind in (np.uint8, np.int64, np.float32, np.bool_):
            amounts = twice[0].astype(kind)
            for matrix in (
                sparse.csr_array((amounts, twice[1], [0, 3, 3]), shape=(2, 2)),
                sparse.coo_matrix((amounts, ([0, 0, 0], twice[1])), shape=(2, 2)),
            ):
                found = solver.flows([0, 1], [2, 3], matrix, skims={"arcs": np.ones(graph.num_arcs)})
                assert found.arcs.sum() == 3 * amounts.astype(float).sum()
                assert found.skims["arcs"].toarray().tolist() == [[0, 3], [0, 0]]
        broken = sparse.csr_array(([1, 1], [0, 1], [0, 1, 2]), shape=(2, 2))
        broken.indices[0] = 7
        with pytest.raises(QueryError, match="no valid sparse matrix"):
            solver.flows([0, 1], [2, 3], broken)


def test_turns_at_a_hub_need_memory() -> None:
    hub, others = 0, np.arange(1, 300_000)
    graph = Graph.from_edges(np.zeros(len(others), np.uint32), others, np.ones(len(others), np.uint32), undirected=True)
    with Solver(graph, device="cpu") as solver, pytest.raises(MemoryShortageError, match="leave turns out"):
        solver.flows([1], [hub], [5], turns=True)


def test_what_is_watched_in_all_ways(sources_of_rows: list[tuple[str, Any]]) -> None:
    size, rng = GRAPH.num_nodes, np.random.default_rng(8)
    values, few = rng.random(GRAPH.num_arcs), DEMAND * (rng.random(DEMAND.shape) < 0.1) / 8
    row, column = np.nonzero(few)
    matrix, first = sparse.csr_array(few), None
    for name, each in sources_of_rows:
        given = {"skims": {"v": values}, "select": [5, [7, 8]], "turns": True}
        dense = each.flows(range(size), range(size), few, **given)
        thin = each.flows(range(size), range(size), matrix, **given)
        pairs = each.flows(row, column, few[row, column], **given)
        assert np.array_equal(dense.arcs, each.flows(range(size), range(size), few).arcs), name
        for other in (thin, pairs):
            assert np.array_equal(other.arcs, dense.arcs) and np.array_equal(other.selected, dense.selected), name
            assert np.array_equal(other.turns.load, dense.turns.load), name
        assert np.array_equal(pairs.skims["v"], dense.skims["v"][row, column]), name
        assert np.array_equal(thin.skims["v"].toarray(), np.where(few > 0, dense.skims["v"], 0)), name
        for number in range(2):
            where = dense.is_selected[number] & (few > 0)
            assert np.array_equal(thin.is_selected[number].toarray(), where), name
            assert np.array_equal(pairs.is_selected[number], where[row, column]), name
        first = first or dense
        assert np.array_equal(dense.skims["v"], first.skims["v"]), name
        assert np.array_equal(dense.turns.load, first.turns.load), name


def test_betweenness_is_that_of_brandes_where_paths_are_unique() -> None:
    rng = np.random.default_rng(7)
    drawn = networkx.gnm_random_graph(60, 240, seed=3, directed=True)
    for edge in drawn.edges.values():
        edge["weight"] = int(rng.integers(1, 2**24))
    tail, head = np.array(drawn.edges).T
    graph = Graph.from_edges(tail, head, [drawn.edges[edge]["weight"] for edge in drawn.edges], num_nodes=60)
    nodes = networkx.betweenness_centrality(drawn, weight="weight", normalized=False)
    arcs = networkx.edge_betweenness_centrality(drawn, weight="weight", normalized=False)
    with Solver(graph, "dijkstra", "cpu") as solver:
        found = solver.betweenness()
    assert found.nodes.tolist() == pytest.approx([nodes[node] for node in range(60)])
    assert dict(zip(zip(graph.tail.tolist(), graph.head.tolist(), strict=True), found.arcs, strict=True)) == arcs


def test_sums_beyond_32_bits(device: Device) -> None:
    far = Graph.from_edges([0, 1, 2], [1, 2, 3], [2**31, 2**31 - 2, 2])
    for place in ("cpu", device):
        for name in ("dijkstra" if place == "cpu" else "bellman_ford", "phast"):
            with Solver(far, name, place) as solver:
                with pytest.raises(DistanceOverflowError):
                    solver.betweenness()
                assert solver.betweenness([0, 2], limit=2**32 - 3).arcs.tolist() == [1, 0, 1]
                assert solver.flows([1], [3], [[7]]).arcs.tolist() == [0, 7, 7]


def test_what_cannot_be_demanded_is_told() -> None:
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        for demand, text in (
            ([[1.0, -1.0]], "negative"),
            ([[1.0, np.inf]], "not finite"),
            ([[2**61, 2**61]], "sum"),
            ([[1, 2, 3]], r"shape \(1, 3\); give .* \(1, 2\)"),
            (sparse.coo_matrix((2, 2)), r"shape \(2, 2\)"),
            ([["a", "b"]], "demand"),
            ([[1j, 1]], "dtype"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.flows([0], [1, 2], demand)
        with pytest.raises(QueryError, match="sources"):
            solver.flows([-1], [1], [[1]])
        with pytest.raises(QueryError, match="targets"):
            solver.flows([0], [GRAPH.num_nodes], [[1]])
        assert solver.flows([5], [5], [[3]]).arcs.sum() == 0
        for given, text in (
            ({"skims": [1.0]}, "dictionary"),
            ({"skims": {"a": [1.0]}}, r"skims\['a'\] has 1 values; give one for each of 528 arcs"),
            ({"skims": {"a": np.full(GRAPH.num_arcs, np.inf)}}, "not finite"),
            ({"select": 3}, "select"),
            ({"select": [3, [GRAPH.num_arcs]]}, r"select\[1\]"),
            ({"select": [3] * 65}, "at most 64"),
            ({"turns": "yes"}, "turns"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.flows([0], [1], [[1]], **given)
    with Solver(Graph.from_edges([], [], [], num_nodes=0), "dijkstra", "cpu") as empty:
        assert empty.betweenness().num_pairs == 0
    parts = Graph.from_edges([0, 2], [1, 3], [1, 1])
    with Solver(parts, "dijkstra", "cpu") as solver:
        assert solver.flows([0, 0], [1, 3], [1.5, 2.25]).unreached == 2.25


def test_batches_whose_loads_are_read_together(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    monkeypatch.setattr("vkssp.batch.batch_sums.BATCHES_OF_SUMS", 2)
    monkeypatch.setitem(device.tuned, "sweeps.searches", 16)
    large = DEMAND * 2**30  # what goes through a node has two words
    with Solver(prepare(GRAPH), "phast", device) as solver, Solver(GRAPH, "dijkstra", "cpu") as reference:
        nodes = range(GRAPH.num_nodes)
        for count in (144, 33, 16, 3):
            found, expected = (each.betweenness(nodes[:count], limit=11) for each in (solver, reference))
            assert np.array_equal(found.arcs, expected.arcs) and np.array_equal(found.nodes, expected.nodes)
            assert found.num_pairs == expected.num_pairs
            for demand in (DEMAND, large):
                here, there = (each.flows(nodes[:count], nodes, demand[:count]) for each in (solver, reference))
                assert np.array_equal(here.arcs, there.arcs)


def test_demand_in_parts_from_files(tmp_path: Path) -> None:
    size = GRAPH.num_nodes
    row, column = np.nonzero(DEMAND)
    amount = DEMAND[row, column]
    whole = {"origin": row, "destination": column, "trips": amount}
    pyarrow.parquet.write_table(pyarrow.table(whole), tmp_path / "a.parquet")
    pyarrow.csv.write_csv(pyarrow.table(whole), tmp_path / "a.csv")
    halves = pyarrow.table({"target": column, "demand": amount / 2, "source": row.astype(np.uint32)})
    pyarrow.parquet.write_table(halves, tmp_path / "b.parquet")
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        expected = solver.flows(range(size), range(size), DEMAND, select=[3], turns=True)
        for name in ("a.parquet", "a.csv"):
            parts = read_demand(tmp_path / name, columns=list(whole), rows=5000)
            found = solver.flows_of(parts, select=[3], turns=True)
            assert np.array_equal(found.arcs, expected.arcs) and found.arcs.dtype == np.int64
            assert np.array_equal(found.selected, expected.selected)
            for field in ("before", "after", "load"):
                assert np.array_equal(getattr(found.turns, field), getattr(expected.turns, field))
        assert len(list(read_demand(tmp_path / "b.parquet", rows=5000))) == -(-len(row) // 5000)
        assert np.array_equal(solver.flows_of(read_demand(tmp_path / "b.parquet")).arcs, expected.arcs / 2)
        nothing = solver.flows_of([], select=[1], turns=True)
        assert not nothing.arcs.any() and nothing.selected.shape == (1, GRAPH.num_arcs) and not len(nothing.turns.load)
        for parts, text in (
            (3, "parts is 3"),
            (np.array(3), "parts is an array of shape"),
            ([3], r"parts\[0\]"),
            ([([1], [2])], "2 items"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.flows_of(parts)
        large = [([0], [1], [2**61])] * 2
        with pytest.raises(QueryError, match="beyond"):
            solver.flows_of(large)
    (tmp_path / "c.csv").write_text("source,target,demand\n0,1,2\n0,1,\n")
    (tmp_path / "d.csv").write_text("source,target,demand\n0,1,2\n0,x,1\n")
    (tmp_path / "e.parquet").write_bytes(b"PAR1 and nothing else")
    for name, text in (
        ("c.csv", "no value in row 1 of column 'demand'"),
        ("e.parquet", "cannot read"),
        ("a.parquet", "no column 'source'"),
        ("none.parquet", "does not exist"),
        ("none.txt", r"\.parquet or \.csv"),
    ):
        with pytest.raises(FormatError, match=text):
            list(read_demand(tmp_path / name))
    with Solver(GRAPH, "dijkstra", "cpu") as solver, pytest.raises(QueryError, match="give node ids, integers"):
        solver.flows_of(read_demand(tmp_path / "d.csv"))  # texts are names, which this graph has not
    with pytest.raises(QueryError, match="three names"):
        read_demand("a.parquet", columns="source")
    # Fractions, and a comment, after more rows than the types of columns are guessed from.
    count = 100_000
    rows = "".join(f" 3,{node % 144},{node % 7},\n" for node in range(count))
    (tmp_path / "f.csv").write_text(f"\ufeffsource,target,demand,comment\n{rows}5,6,0.5,late\n", "utf-8")
    amounts = np.concatenate([part[2] for part in read_demand(tmp_path / "f.csv")])
    assert amounts.sum() == (np.arange(count) % 7).sum() + 0.5


def test_a_sample_of_sources_tells_about_all() -> None:
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        whole, part = solver.betweenness(), solver.betweenness(sample=100, seed=3)
        assert (whole.scale, whole.error()) == (1.0, 0.0)
        assert part.num_sources == 100 and part.num_pairs == 100 * (GRAPH.num_nodes - 1)
        assert np.array_equal(part.arcs, solver.betweenness(sample=100, seed=3).arcs)
        assert not np.array_equal(part.arcs, solver.betweenness(sample=100, seed=4).arcs)
        wrong = np.abs(part.arcs * part.scale - whole.arcs).max()
        assert 0 < wrong < part.error() < part.error(0.99)
        assert np.corrcoef(part.arcs, whole.arcs)[0, 1] > 0.95
        for given, text in (
            ({"sample": 0}, "sample"),
            ({"sample": 145}, "144"),
            ({"sources": [1], "sample": 1}, "one of"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.betweenness(**given)
        with pytest.raises(QueryError, match="confidence"):
            whole.error(1.0)
