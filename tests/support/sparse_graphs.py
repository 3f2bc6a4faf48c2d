"""Graphs with dead ends and chains."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from vkssp import Graph

BOTH, THERE, BACK = 3, 1, 2


@st.composite
def sparse_graphs(draw: st.DrawFn, max_nodes: int = 12) -> Graph:
    """Graphs that are mostly chains and dead ends: few junctions, and shape nodes along what joins them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = draw(st.sampled_from([[1], [0, 1, 2], [1, 100], [1, 2**31, 2**32 - 2], [0, 2**30, 2**32 - 3]]))
    oneway = draw(st.sampled_from([0.0, 0.1, 0.5]))
    longest = draw(st.sampled_from([0, 1, 6]))
    junctions = draw(st.integers(1, max_nodes))
    streets = draw(st.integers(0, junctions + 4))
    edges: list[tuple[int, int, int]] = []
    count = junctions
    for _ in range(streets):
        shape = int(rng.integers(0, longest + 1))
        line = [int(rng.integers(junctions)), *range(count, count + shape), int(rng.integers(junctions))]
        count += shape
        ways = int(rng.choice([BOTH, THERE, BACK], p=[1 - oneway, oneway / 2, oneway / 2]))
        for tail, head in pairwise(line):
            here = int(rng.integers(1, 4)) if rng.random() < oneway / 4 else ways  # where a street changes its mind
            edges += [(tail, head, here)] * int(rng.choice([1, 2], p=[0.9, 0.1]))
    number = rng.permutation(count)  # so that ends of edges come in either order
    arcs = [(t, h) for t, h, ways in edges if ways & THERE] + [(h, t) for t, h, ways in edges if ways & BACK]
    tails, heads = np.array(arcs, np.int64).reshape(-1, 2).T
    return Graph.from_edges(number[tails], number[heads], rng.choice(weights, len(arcs)), num_nodes=count)


def path_graph(count: int, **options: Any) -> Graph:
    nodes = np.arange(count)
    return Graph.from_edges(nodes[:-1], nodes[1:], np.ones(count - 1), num_nodes=count, **options)
