"""Connected parts by compiled code, against scipy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from vkssp.graph.csr import rows_of
from vkssp.osm.kernels import components


def is_same_division(found: npt.NDArray[np.int32], expected: npt.NDArray[np.int32]) -> bool:
    pairs = set(zip(found.tolist(), expected.tolist(), strict=True))
    return len(pairs) == len({first for first, _ in pairs}) == len({second for _, second in pairs})


@pytest.mark.parametrize("seed", range(50))
def test_parts_of_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, arcs = int(rng.integers(1, 80)), int(rng.integers(0, 160))
    tail, head = rng.integers(0, size, (2, arcs))
    links = sparse.coo_array((np.ones(arcs, np.bool_), (tail, head)), shape=(size, size))
    weak, expected = csgraph.connected_components(links, connection="weak")[1], np.empty(size, np.int32)
    components.find_weak(tail, head, np.arange(arcs), expected)
    assert is_same_division(expected, weak)
    first_out, by_tail = rows_of(tail.astype(np.uint32), size)
    part, order = (np.full(size, -1, np.int32) for _ in range(2))
    room = (np.empty(size, np.int32) for _ in range(4))
    count = components.find_strong(first_out.astype(np.int64), head[by_tail], part, order, *room)
    number, strong = csgraph.connected_components(links, connection="strong")
    assert count == number and is_same_division(part, strong)
