"""Sorts of many arcs by all cores, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from vkssp.generate import rmat
from vkssp.graph import Graph, large, many_arcs
from vkssp.prepared import renumbered as renumbered_module
from vkssp.prepared.renumbered import RenumberedGraph


def same(one: Graph, other: Graph) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("first_out", "head", "weight"))


@pytest.mark.parametrize(("both_ways", "most"), [(False, 2**29), (True, 2**29), (True, 3000)])
def test_rows_are_those_of_few_arcs(both_ways: bool, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tail, head, weight = (rng.integers(0, high, 5000, np.uint32) for high in (1900, 1990, 10**6))
    expected = large.graph_from_arcs(2001, tail, head, weight, both_ways=both_ways)
    monkeypatch.setattr(large, "MANY", 1)
    monkeypatch.setattr(many_arcs, "MOST_ITEMS", most)
    assert same(large.graph_from_arcs(2001, tail, head, weight, both_ways=both_ways), expected)


def test_arcs_by_head_and_by_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    # Equal weights, rows in order and in reverse, and rows of all lengths.
    graph = rmat(9, 60, undirected=False)
    weights = [np.arange(graph.num_arcs), np.arange(graph.num_arcs)[::-1], graph.weight, np.ones_like(graph.weight)]
    for weight in weights:
        renumbered = RenumberedGraph(graph.with_weights(weight), "natural")
        expected, sorted_before = renumbered.reverse(), renumbered.arcs_light_first()
        with monkeypatch.context() as patch:
            patch.setattr(renumbered_module, "MANY", 1)
            assert all(map(np.array_equal, renumbered.reverse(), expected))
            light_first = renumbered.arcs_light_first()
        assert np.array_equal(light_first[:, 1], sorted_before[:, 1])
        order = np.lexsort((renumbered.arcs[:, 1], graph.tail))
        assert np.array_equal(light_first, renumbered.arcs[order])


def test_rows_without_arcs() -> None:
    nothing = np.zeros(0, np.uint32)
    first, head, weight = many_arcs.rows_of_edges([(nothing, nothing)], nothing, 3)
    assert first.tolist() == [0, 0, 0, 0] and len(head) == len(weight) == 0
    arcs = np.zeros((0, 2), np.uint32)
    assert many_arcs.light_first(np.zeros(4, np.uint32), arcs).shape == (0, 2)
    assert [len(part) for part in many_arcs.incoming_arcs(np.zeros(4, np.uint32), arcs)] == [4, 0, 0]


@pytest.mark.parametrize("bits", [4, 32])
def test_long_rows_by_digits(bits: int) -> None:
    rng = np.random.default_rng(bits)
    first = np.cumsum([0, 5000, 0, 300, 3, 70, 4096]).astype(np.uint32)
    arcs = rng.integers(0, 2**bits, (int(first[-1]), 2), np.uint32)
    tail = np.repeat(np.arange(len(first) - 1), np.diff(first))
    assert np.array_equal(many_arcs.light_first(first, arcs), arcs[np.lexsort((arcs[:, 1], tail))])
    items = arcs[:, 0].astype(np.uint64) << np.uint64(32) | arcs[:, 1]
    by_rows = items[np.lexsort((items, tail))]
    many_arcs.sort_items(first, items)
    assert np.array_equal(items, by_rows)


def test_opposite_arcs() -> None:
    rng = np.random.default_rng(3)
    tail, head, weight = rng.integers(0, 40, (3, 500))
    undirected = Graph.from_edges(tail, head, weight, undirected=True)
    arcs = np.stack([undirected.head, undirected.weight], axis=1)
    assert many_arcs.has_opposite_arcs(undirected.first_out, arcs)
    ends = [np.concatenate(pair) for pair in ((tail, head), (head, tail), (weight, weight))]
    for column, by in ((1, 1), (2, 1), (2, 2**31)):  # another head or another weight of a single arc
        changed = [values.copy() for values in ends]
        changed[column][7] = (changed[column][7] + by) % (40 if column == 1 else 2**32 - 1)
        graph = Graph.from_edges(*changed)
        assert not many_arcs.has_opposite_arcs(graph.first_out, np.stack([graph.head, graph.weight], axis=1))
