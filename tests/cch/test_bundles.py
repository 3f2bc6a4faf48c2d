"""Bundles of subtrees: what they hold, and distances of sweeps over them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES, open_device
from tests.support.graphs import grid, heap_dijkstra, random_graphs
from tests.support.resources import all_owned
from vkssp import DeviceError, DistanceOverflowError, Graph, Solver, prepare
from vkssp.algorithms import phast
from vkssp.algorithms.phast import hierarchy_of
from vkssp.cch import topology
from vkssp.cch.bundled import BundledArcs
from vkssp.cch.bundles import bundles_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.graph.hierarchy import Hierarchy


@pytest.fixture
def bundling(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Open a device that sweeps bundles of few nodes."""
    with open_device() as device:
        device.tuned = {**device.tuned, "bundles.nodes": request.param, "bundles.trees": 0, "bundles.kept_arcs": 256}
        yield device


def check_bundles(hierarchy: Hierarchy, most_nodes: int) -> None:
    bundles = bundles_of(hierarchy, most_nodes)
    count = hierarchy.num_nodes
    assert np.array_equal(np.sort(bundles.rank), np.arange(count))
    assert np.array_equal(bundles.rank[bundles.place], np.arange(count))
    level = np.searchsorted(hierarchy.first_of_level, np.arange(hierarchy.num_supernodes), "right") - 1
    level = level[hierarchy.supernode]
    tier = np.zeros(count, np.int64)
    number = np.zeros(count, np.int64)
    assert [begin for begin, _ in bundles.tiers] == [0, *(end for _, end in bundles.tiers)][:-1]
    at = 0
    for order, (begin, end) in enumerate(bundles.tiers):
        for bundle in range(begin, end):
            first, last, first_step, end_step = bundles.bundles[bundle].tolist()
            assert first == at and first < last <= first + most_nodes
            tier[first:last], number[first:last], at = order, bundle, last
            for step in range(first_step, end_step):
                step_level, step_end = bundles.steps[step].tolist()
                assert first < step_end and (level[bundles.rank[first:step_end]] == step_level).all()
                first = step_end
            assert first == last or first_step == end_step
    assert at == count
    for begin, end in pairwise(bundles.rest):
        assert len(set(level[bundles.rank[begin:end]].tolist())) == 1
    # Ancestors are in the same bundle, or in an upper tier.
    outside = np.repeat(hierarchy.num_ancestors, hierarchy.size)
    first = np.repeat(hierarchy.first_ancestor[:-1].astype(np.int64), hierarchy.size)
    for rank in range(count):
        own, above = bundles.place[rank], bundles.place[hierarchy.ancestor[first[rank] : first[rank] + outside[rank]]]
        is_swept = own < (bundles.rest or [0])[-1]
        assert ((tier[above] < tier[own]) | (number[above] == number[own]) | is_swept).all()
        assert (above < own).all()


@settings(max_examples=EXAMPLES)
@given(graph=random_graphs(), most_nodes=st.sampled_from([1, 2, 5, 16, 100]))
def test_ancestors_are_in_the_same_bundle_or_above(graph: Graph, most_nodes: int) -> None:
    hierarchy = prepare(graph).hierarchy
    assert hierarchy is not None
    check_bundles(hierarchy, most_nodes)


def check_trees(graph: Graph, solver: Solver) -> None:
    """Compare distances of single searches with Dijkstra's."""
    last = graph.num_nodes - 1
    with Solver(graph, "dijkstra") as reference:
        for source in (0, last, [(0, 5), (last, 2**29 + 1), (last // 2, 0)]):
            try:
                expected = reference.distances(source)
            except DistanceOverflowError:
                with pytest.raises(DistanceOverflowError):
                    solver.distances(source)
                continue
            assert np.array_equal(solver.distances(source), expected)


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("bundling", [3, 20, 120], indirect=True)
def test_sweeps_over_bundles(bundling: Device, monkeypatch: pytest.MonkeyPatch, is_split: bool) -> None:
    monkeypatch.setattr(topology, "is_split", lambda *_: is_split)
    rng = np.random.default_rng(3)
    tails, heads = rng.integers(0, 90, (2, 120))
    for graph in (grid(11), Graph.from_edges(tails, heads, heads, num_nodes=90), Graph.from_edges([0], [1], [7])):
        with Solver(prepare(graph), "phast", bundling) as solver:
            check_trees(graph, solver)
            customized = hierarchy_of(solver.session.shared.graph)  # type: ignore[arg-type]
            assert customized.bundled() is not None
            for low, high in ((0, 3), (2**29, 2**32 - 2)):
                weight = rng.integers(low, high, graph.num_arcs).astype(np.uint32)
                solver.set_weights(weight)
                check_trees(Graph(graph.first_out, graph.head, weight), solver)
            weight[:2] //= 7
            solver.set_weights(weight[:1], [0])
            solver.set_weights(weight[:2], np.arange(len(weight[:2])))
            check_trees(Graph(graph.first_out, graph.head, weight), solver)


@pytest.mark.parametrize("bundling", [20], indirect=True)
def test_bundles_are_made_after_some_searches(bundling: Device) -> None:
    bundling.tuned["bundles.trees"] = 2
    graph = grid(11)
    with Solver(prepare(graph), "phast", bundling) as solver:
        for number in range(4):
            assert np.array_equal(solver.distances(number), heap_dijkstra(graph, number))
            assert any(isinstance(one, BundledArcs) for one in all_owned(bundling)) == (number >= 2)


@pytest.mark.parametrize("bundling", [64], indirect=True)
def test_trees_are_swept_by_levels_where_memory_lacks(bundling: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(13)
    asked = []

    class ScarceBuffer(Buffer):
        def __init__(self, device: Device, nbytes: int, **options: Any) -> None:
            if options.get("name") == "the distances of inner tiers":
                asked.append(nbytes)
                raise DeviceError("no memory")
            super().__init__(device, nbytes, **options)

    monkeypatch.setattr(phast, "Buffer", ScarceBuffer)
    with Solver(prepare(graph), "phast", bundling) as solver:
        for source in range(4):
            assert np.array_equal(solver.distances(source), heap_dijkstra(graph, source))
    assert asked
