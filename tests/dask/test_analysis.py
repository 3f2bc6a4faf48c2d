"""Sums over distances by tasks of dask: those of solvers and routers, bit for bit, however sources are divided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.support.clusters import cluster_here
from tests.support.graphs import grid
from tests.support.table_places import places_of
from vkssp import Decay, QueryError, Router, Solver, read_graph
from vkssp.dask.blocks import blocks_of
from vkssp.dask.question import Facts
from vkssp.dask.worker_solvers import SOLVERS

pytest.importorskip("distributed")
dask = pytest.importorskip("vkssp.dask")


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    SOLVERS.configure("cpu")
    yield
    SOLVERS.close()
    SOLVERS.configure()


@pytest.mark.parametrize("reverse", [False, True])
def test_accessibility(andorra_path: Path, reverse: bool) -> None:
    graph = read_graph(andorra_path)
    origins, jobs = places_of(graph, 8, 1), places_of(graph, 20, 2)
    weights = np.random.default_rng(3).integers(1, 9, (len(jobs), 2)) / 4
    given = {"limits": [300, 900], "decays": Decay.exponential(0.01), "reverse": reverse}
    with Router(graph, device="cpu") as router:
        expected = router.accessibility(origins, jobs, weights, **given)
    found = dask.accessibility(graph, origins, jobs, weights, rows=5, **given)
    assert found.chunks == ((5, 5, 3), (3,), (2,)) and found.dtype == expected.dtype
    assert np.array_equal(found.compute(scheduler="synchronous"), expected)
    with pytest.raises(QueryError, match="origins and opportunities are places"):
        dask.accessibility(graph, [1, 2], jobs, limits=300)
    with pytest.raises(QueryError, match="neither limits nor decays"):
        dask.accessibility(graph, origins, jobs)


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


def test_flows() -> None:
    graph = grid(9)
    rng = np.random.default_rng(5)
    sources, targets = rng.permutation(81)[:20], rng.permutation(81)[:15]
    demand = rng.integers(0, 4, (20, 15))
    pairs = rng.integers(0, 20, 40)
    ends = sources[pairs], targets[rng.integers(0, 15, 40)], rng.integers(1, 9, 40)
    with Solver(graph, device="cpu") as solver:
        for given in ((sources, targets, demand), (sources, targets, csr_matrix(demand)), ends):
            expected, found = solver.flows(*given), dask.flows(graph, *given, rows=2).compute()
            assert np.array_equal(found.arcs, expected.arcs) and found.arcs.dtype == expected.arcs.dtype
            assert found.unreached == expected.unreached
    with pytest.raises(QueryError, match="demand has dtype float64; give whole numbers"):
        dask.flows(graph, sources, targets, demand / 2)
    with pytest.raises(QueryError, match=r"demand has shape \(3,\)"):
        dask.flows(graph, sources, targets, [1, 2, 3])


def test_nearest_opportunities(andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    origins, shops = places_of(graph, 9, 6), places_of(graph, 5, 7)
    with Router(graph, device="cpu") as router:
        expected = router.nearest_opportunities(origins, shops, 2, limit=900)
    found = dask.nearest_opportunities(graph, origins, shops, 2, limit=900, rows=4)
    assert list(found) == ["opportunity", "duration_s"]
    assert np.array_equal(found["opportunity"].compute(), expected.opportunity)
    assert np.array_equal(found["duration_s"].compute(), expected.values, equal_nan=True)


def test_isochrones(andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    origins = places_of(graph, 5, 8)
    with Router(graph, device="cpu") as router:
        expected = list(router.isochrones_of_each(origins, [120, 300]))
    with cluster_here() as client:
        bag = dask.isochrones(graph, origins, [120, 300], rows=4, cluster=client)
        found = client.compute(bag).result()
    assert bag.npartitions == 3 and len(found) == len(expected) == 10
    for some, others in zip(found, expected, strict=True):
        assert [(one.limit, one.road_m, one.area.wkb) for one in some] == [
            (one.limit, one.road_m, one.area.wkb) for one in others
        ]
    with pytest.raises(QueryError, match="origins are places"):
        dask.isochrones(graph, [1, 2], 300)


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
    assert rows(3200, 10, 1e-3) == (200, 200), "enough blocks for several devices"
    assert rows(320, 10, 1e-3) == (50, 50), "no smaller blocks than are worth a task"
    assert rows(10**6, 1000, 1e-3, 2.0) == (16776, 4194), "blocks are ten times as long as what each takes besides"
    assert rows(5, 10**9, 10.0) == (1, 1)


def test_solvers_are_closed_with_the_last_worker_of_a_process() -> None:
    with cluster_here(workers=2, threads=1) as client:
        dask.table(grid(4), [1], cluster=client)
        kept = SOLVERS.solvers
        assert kept and not any(solver.closed for solver in kept)
    assert all(solver.closed for solver in kept)
