from __future__ import annotations

import hashlib

import numpy as np
import pytest

from vkssp import QueryError
from vkssp.generate import road_grid


def test_the_road_grid_is_the_one_that_figures_are_published_for() -> None:
    """Digests of the rows and of the arcs as (head, weight) pairs, made by an independent program."""
    graph = road_grid(64)
    arcs = np.stack([graph.head, graph.weight], axis=1)
    assert hashlib.sha256(graph.first_out.astype("<u4").tobytes()).hexdigest() == FIRST_OUT
    assert hashlib.sha256(arcs.astype("<u4").tobytes()).hexdigest() == ARCS


FIRST_OUT = "4aa9de037567914ea6698f31824896631b152ef3e8729dff27ec9756bfe30f13"
ARCS = "409fd16a4fa8e8453509f6e09d39bc1b30edfa10a30d1775c813f16c51cc7aec"


def test_road_grids_of_any_side_are_two_way_and_reproducible() -> None:
    for side in (2, 3, 100):
        graph, again = road_grid(side, seed=7), road_grid(side, seed=7)
        assert graph.num_nodes == side * side
        assert np.array_equal(graph.head, again.head) and np.array_equal(graph.weight, again.weight)
        matrix = graph.to_scipy()
        assert (matrix != matrix.T).nnz == 0
    one, other = road_grid(100, seed=7, keep=1.0), road_grid(100, seed=8, keep=1.0)
    assert np.array_equal(one.head, other.head) and not np.array_equal(one.weight, other.weight)


@pytest.mark.parametrize("side", [0, 1, 65536])
def test_sides_out_of_range(side: int) -> None:
    with pytest.raises(QueryError, match=f"side is {side}"):
        road_grid(side)
