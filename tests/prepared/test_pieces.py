"""Nodes of very many arcs, cut into pieces so that one workgroup need not walk them all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import check_path, heap_dijkstra, random_graphs
from vkssp import UNREACHABLE, Graph, Solver
from vkssp.engine import device_graph
from vkssp.gpu.device import Device
from vkssp.prepared.renumbered import RenumberedGraph


@given(graph=random_graphs(), limit=st.integers(1, 9))
def test_pieces_have_the_arcs_of_their_node(graph: Graph, limit: int) -> None:
    renumbered = RenumberedGraph(graph)
    rows, added = renumbered.split_rows(limit)
    arcs = np.concatenate([renumbered.arcs, added])
    n = renumbered.num_nodes
    assert len(rows) == n + len(added) and not added[:, 1].any()
    for node in range(n):
        own = list(range(renumbered.first_out[node], renumbered.first_out[node + 1]))
        first, end = rows[node]
        if len(own) <= limit:
            assert list(range(first, end)) == own
            continue
        pieces = arcs[first:end, 0].tolist()
        assert len(pieces) == -(-len(own) // limit) and min(pieces) >= n
        assert [arc for piece in pieces for arc in range(*rows[piece])] == own
        assert all(0 < rows[piece][1] - rows[piece][0] <= limit for piece in pieces)
    assert sorted(added[:, 0]) == list(range(n, n + len(added)))


@given(graph=random_graphs(), limit=st.integers(1, 5), data=st.data())
def test_searches_through_pieces(device: Device, graph: Graph, limit: int, data: st.DataObject) -> None:
    source, target = (data.draw(st.integers(0, graph.num_nodes - 1)) for _ in range(2))
    expected = heap_dijkstra(graph, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_graph, "PIECE", limit)
        parameters = {"delta": data.draw(st.sampled_from([None, 1, 50])), "rounds": data.draw(st.sampled_from([1, 4]))}
        with Solver(graph, "near_far", device, counters="trace", **parameters) as solver:
            found = solver.distances(source)
            assert np.array_equal(found, expected) and len(found) == graph.num_nodes
            assert solver.distance(source, target) == expected[target]
            if expected[target] != UNREACHABLE:
                check_path(graph, solver.path(source, target), source, target, int(expected[target]))


def test_a_large_node_is_cut_and_a_common_one_is_not(device: Device) -> None:
    def pieces(leaves: int) -> int:
        heads = np.arange(1, leaves + 1)
        with Solver(Graph.from_edges(np.zeros(leaves, int), heads, heads), "near_far", device) as solver:
            assert np.array_equal(solver.distances(0), np.arange(leaves + 1))
            counted: int = solver.session.shared.graph.num_pieces  # type: ignore[union-attr]
            return counted

    assert pieces(device_graph.PIECE) == 0
    assert pieces(device_graph.PIECE + 1) == 2
    assert pieces(1_000_000) == -(-1_000_000 // device_graph.PIECE)
