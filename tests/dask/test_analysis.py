"""Sums over distances by tasks of dask: those of solvers and routers, bit for bit, however sources are divided."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from tests.support.clusters import cluster_here
from tests.support.graphs import grid
from tests.support.table_places import places_of
from vkssp import Decay, Graph, QueryError, Router, Solver
from vkssp.dask.blocks import blocks_of
from vkssp.dask.graph_source import hash_of
from vkssp.dask.question import Facts
from vkssp.dask.worker_solvers import SOLVERS

pytest.importorskip("distributed")
dask = pytest.importorskip("vkssp.dask")


@pytest.mark.parametrize("reverse", [False, True])
def test_accessibility(andorra: Graph, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    origins, jobs = places_of(andorra, 8, 1), places_of(andorra, 20, 2)
    weights = np.random.default_rng(3).integers(1, 9, (len(jobs), 2)) / 4
    given = {"limits": [300, 900], "decays": Decay.exponential(0.01), "reverse": reverse}
    with Router(andorra, device="cpu") as router:
        expected = router.accessibility(origins, jobs, weights, **given)
        everywhere = router.accessibility(None, jobs[:3], limits=300, reverse=reverse)
    made, opened = list[int](), Solver.for_graph

    def counted(self: Solver, graph: Graph) -> Solver:
        made.append(graph.num_nodes)
        return opened(self, graph)

    monkeypatch.setattr(Solver, "for_graph", counted)
    found = dask.accessibility(andorra, origins, jobs, weights, rows=5, **given)
    assert found.chunks == ((5, 5, 3), (3,), (2,)) and found.dtype == expected.dtype
    assert np.array_equal(found.compute(scheduler="synchronous"), expected)
    assert len(made) == 1, "opportunities are snapped once, and one solver makes all blocks"
    whole = dask.accessibility(andorra, None, jobs[:3], limits=300, reverse=reverse, rows=1500)
    assert whole.numblocks == (3,) and np.array_equal(whole.compute(), everywhere)
    with pytest.raises(QueryError, match="origins and opportunities are places"):
        dask.accessibility(andorra, [1, 2], jobs, limits=300)
    with pytest.raises(QueryError, match="neither limits nor decays"):
        dask.accessibility(andorra, origins, jobs)


def test_an_origin_with_many_seeds(andorra: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """An origin that reaches many opportunities on its own street is a node of a graph of its block."""
    from vkssp.routing import opportunities

    places = places_of(andorra, 8, 5)
    with Router(andorra, device="cpu") as router:
        expected = router.accessibility(places, places, limits=[60, 600])
        monkeypatch.setattr(opportunities, "MAX_TERMINALS", 2)
        assert np.array_equal(router.accessibility(places, places, limits=[60, 600]), expected)
        found = dask.accessibility(andorra, places, places, limits=[60, 600], rows=4)
        assert np.array_equal(found.compute(), expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_accessibility_of_nodes(reverse: bool) -> None:
    graph = grid(9)
    rng = np.random.default_rng(7)
    values, some = rng.integers(0, 5, (81, 2)), rng.permutation(81)[:30]
    with Solver(graph, device="cpu") as solver:
        for given in (
            {"limits": np.array([3, 9])},
            {"limits": 4, "sources": some},
            {"decays": Decay.linear(9), "sources": some},
        ):
            expected = solver.accessibility(values, **given, reverse=reverse)
            found = dask.node_accessibility(graph, values, **given, reverse=reverse, rows=11)
            assert np.array_equal(found.compute(), expected) and found.dtype == expected.dtype
    with pytest.raises(QueryError, match=r"values has shape \(3,\)"):
        dask.node_accessibility(graph, [1, 2, 3], 4)


def test_centrality_and_betweenness() -> None:
    graph = grid(9)
    some = np.random.default_rng(4).permutation(81)[:50]
    with Solver(graph, device="cpu") as solver:
        for sources in (None, some):
            whole, found = solver.centrality(sources, limit=9), dask.centrality(graph, sources, limit=9, rows=7)
            for name, lazy in found.items():
                assert np.array_equal(lazy.compute(), getattr(whole, name)), name
            # More than eight blocks, so that sums are added up in two steps.
            expected, lazy = solver.betweenness(sources), dask.betweenness(graph, sources, rows=3)
            sums = lazy.compute()
            assert np.array_equal(sums.arcs, expected.arcs) and np.array_equal(sums.nodes, expected.nodes)
            assert (sums.num_pairs, sums.num_sources) == (expected.num_pairs, expected.num_sources)
    with pytest.raises(QueryError, match=r"\[0\] is 81"):
        dask.betweenness(graph, [81])


def test_estimates_and_straightness(andorra: Graph) -> None:
    with Solver(andorra, device="cpu") as solver:
        for given in ({"limit": 3000}, {"limit": 3000, "reverse": True, "seed": 3}):
            expected = solver.centrality(sample=40, **given)
            found = dask.sampled_centrality(andorra, 40, rows=11, **given).compute()
            for name in ("sample", "reached", "total", "harmonic"):
                assert np.array_equal(getattr(found, name), getattr(expected, name)), name
            assert found.error() == expected.error()
        between = solver.betweenness(limit=3000, sample=30, seed=2)
        lazy = dask.betweenness(andorra, limit=3000, sample=30, seed=2, rows=7).compute()
        assert np.array_equal(lazy.arcs, between.arcs) and lazy.error() == between.error()
        straight = dask.straightness(andorra, np.arange(50), limit=3000, reverse=True, rows=9).compute()
        expected = solver.straightness(np.arange(50), limit=3000, reverse=True)
        assert np.array_equal(straight, expected, equal_nan=True)
    with pytest.raises(QueryError, match="both sources and sample are given"):
        dask.betweenness(andorra, [1], sample=3)


def test_flows() -> None:
    graph = grid(9)
    rng = np.random.default_rng(5)
    sources, targets = rng.permutation(81)[:20], rng.permutation(81)[:15]
    demand = rng.integers(0, 4, (20, 15))
    pairs = rng.integers(0, 20, 40)
    ends = sources[pairs], targets[rng.integers(0, 15, 40)]
    twice = coo_matrix((np.full(300, 200, np.uint8), (rng.integers(0, 20, 300), rng.integers(0, 15, 300))), (20, 15))
    with Solver(graph, device="cpu") as solver:
        for given in (
            (sources, targets, demand),
            (sources, targets, csr_matrix(demand)),
            (sources, targets, twice),
            (*ends, rng.integers(1, 9, 40)),
            (sources, targets, demand * 0.3),
            (sources, targets, demand * 1.0),
            (sources, targets, csr_matrix(demand * np.pi)),
            (*ends, rng.random(40)),
        ):
            asked = {"select": [np.int64(5), [7, 30]], "turns": True}
            expected, found = solver.flows(*given, **asked), dask.flows(graph, *given, rows=2, **asked).compute()
            assert np.array_equal(found.arcs, expected.arcs) and found.arcs.dtype == expected.arcs.dtype
            assert np.array_equal(found.selected, expected.selected) and found.unreached == expected.unreached
            for name in ("before", "after", "load"):
                assert np.array_equal(getattr(found.turns, name), getattr(expected.turns, name)), name
        values = {"metres": rng.random(graph.num_arcs), "tolls": rng.integers(0, 3, graph.num_arcs)}
        for name, lazy in dask.skims(graph, sources, targets, values, rows=6).items():
            expected = solver.flows(sources, targets, demand, skims=values).skims[name]
            assert lazy.numblocks == (4, 1) and np.array_equal(lazy.compute(), expected)
    for wrong_values, text in (({}, "there are no values"), ({"a": [1]}, r"has 1 values"), ([1], r"values is \[1\]")):
        with pytest.raises(QueryError, match=text):
            dask.skims(graph, sources, targets, wrong_values)
    for wrong, text in (
        ([1, 2, 3], r"demand has shape \(3,\)"),
        (-demand, "demand has numbers that are negative"),
        (demand * np.nan, "demand has numbers that are negative or not finite"),
    ):
        with pytest.raises(QueryError, match=text):
            dask.flows(graph, sources, targets, wrong)


def test_questions_that_differ_only_in_functions_or_entries() -> None:
    """Their tasks have different names, and workers keep what they have prepared for one of them apart."""
    graph, nodes = grid(5), np.arange(25)
    one, other = (csr_matrix(np.where(nodes == at, 1, np.zeros((25, 25), int))) for at in (3, 20))
    assert repr(one) == repr(other)
    found = import_module("dask").compute(*(dask.flows(graph, nodes, nodes, demand) for demand in (one, other)))
    assert not np.array_equal(found[0].arcs, found[1].arcs)
    values, sums = np.arange(25.0), list[Any]()
    for scale in (1.0, 1.0, 2.0, 3.0, 4.0):  # a function may have the address of one before it
        sums.append(dask.node_accessibility(graph, values, decays=Decay.exponential(scale)))
        assert (sums[-1].name == sums[0].name) == (scale == 1.0)
    assert hash_of({"metric": 1, "avoid": 2}) == hash_of({"avoid": 2, "metric": 1}), "of arguments in any order"
    assert hash_of(Decay.table([0, 5], [1, 0])) != hash_of(Decay.table([0, 6], [1, 0]))


@pytest.mark.parametrize("count", [None, 3])
def test_nearest(count: int | None) -> None:
    graph = grid(9)
    sources, offsets = [4, 80, 33, 4], [2, 0, 5, 1]
    with Solver(graph, device="cpu") as solver:
        for given in ({}, {"limit": 7, "reverse": True}):
            expected = solver.nearest(sources, offsets, count=count, **given)
            found = dask.nearest(graph, sources, offsets, count=count, rows=20, **given)
            assert found["distance"].numblocks[0] == 5
            assert np.array_equal(found["distance"].compute(), expected.distance)
            assert np.array_equal(found["source"].compute(), expected.source)


def test_nearest_opportunities(andorra: Graph) -> None:
    origins, shops = places_of(andorra, 9, 6), places_of(andorra, 5, 7)
    with Router(andorra, device="cpu") as router:
        expected = router.nearest_opportunities(origins, shops, 2, limit=900)
    found = dask.nearest_opportunities(andorra, origins, shops, 2, limit=900, rows=4)
    assert list(found) == ["opportunity", "duration_s"]
    assert np.array_equal(found["opportunity"].compute(), expected.opportunity)
    assert np.array_equal(found["duration_s"].compute(), expected.values, equal_nan=True)
    with Router(andorra, device="cpu") as router:
        expected = router.nearest_opportunities(None, shops, 9)
    everywhere = dask.nearest_opportunities(andorra, None, shops, 9, rows=1000)["opportunity"]
    assert np.array_equal(everywhere.compute(), expected.opportunity)


def test_isochrones(client: Any, andorra: Graph) -> None:
    origins = places_of(andorra, 5, 8)
    with Router(andorra, device="cpu") as router:
        expected = list(router.isochrones_of_each(origins, [120, 300]))
    bag = dask.isochrones(andorra, origins, [120, 300], rows=4, cluster=client)
    found = client.compute(bag).result()
    assert bag.npartitions == 3 and len(found) == len(expected) == 10
    for some, others in zip(found, expected, strict=True):
        assert [(one.limit, one.road_m, one.area.wkb) for one in some] == [
            (one.limit, one.road_m, one.area.wkb) for one in others
        ]
    with pytest.raises(QueryError, match="origins are places"):
        dask.isochrones(andorra, [1, 2], 300)


def test_errors_count_places_over_all_blocks(andorra: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    places = places_of(andorra, 5, 8)
    bad, asked, facts = [*places, (50.0, 50.0)], list[Any](), SOLVERS.facts

    def facts_of_good_places(question: Any) -> Facts:  # which measures some of the first ones
        asked.append(question)
        return facts(replace(question, origins=question.origins[:4]))

    monkeypatch.setattr(SOLVERS, "facts", facts_of_good_places)
    dask.isochrones(andorra, bad, 120)
    dask.accessibility(andorra, bad, places, limits=120)
    dask.nearest_opportunities(andorra, bad, places)
    for question, name in zip(asked, (r"places\[10\]", "origin 10", "origin 10"), strict=True):
        with pytest.raises(QueryError, match=rf"^{name} is 50.00000,50.00000, which is not on this map"):
            SOLVERS.block(question, 8, 11)


def test_sizes_of_blocks() -> None:
    def rows(count: int, columns: int, row_s: float, block_s: float = 0.0) -> tuple[int, int]:
        facts = Facts(
            (count, columns), {"weight": np.dtype(np.uint32)}, None, 32, row_seconds=row_s, block_seconds=block_s
        )
        made = blocks_of(facts)
        assert sum(made.sizes()) == count and (made.rows % made.chunk == 0 or made.chunk == made.rows)
        return made.rows, made.chunk

    assert rows(10**6, 1000, 1e-3) == (1000, 1000), "a second of work"
    assert rows(10**6, 10**5, 1e-6) == (41 * 16, 41), "whole chunks of 16 MiB, and 256 MiB at most"
    assert rows(6400, 10, 1e-3) == (100, 100), "enough blocks for several workers"
    assert rows(6400, 10, 1e-3, 0.025) == (250, 250), "ten times as long as what each takes besides, here too"
    assert rows(320, 10, 1e-3) == (50, 50), "no smaller blocks than are worth a task"
    assert rows(10**6, 1000, 1e-3, 2.0) == (16776, 4194), "blocks are ten times as long as what each takes besides"
    assert rows(5, 10**9, 10.0) == (1, 1)


def test_solvers_are_closed_with_the_last_worker_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from vkssp.dask.worker_plugin import SolversPlugin

    monkeypatch.setattr(SolversPlugin, "workers", set())  # besides those of the cluster that all tests share
    with cluster_here(workers=2, threads=1) as client:
        dask.table(grid(4), [1], cluster=client)
        kept = SOLVERS.solvers
        assert kept and not any(solver.closed for solver in kept)
    assert all(solver.closed for solver in kept)
