"""Checks of so many ids that all cores look at them: the answers and errors are those of few."""

from __future__ import annotations

import numpy as np
import pytest

from vkssp import Graph, QueryError
from vkssp.prepared.terminals import nodes_of

GRAPH = Graph.from_edges([0], [1], [1], num_nodes=300)
MANY = np.resize(np.arange(300), 1 << 20)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.uint32, np.uint16, ">i8", ">u4"])
def test_many_ids_are_taken(dtype: str) -> None:
    for ids in (MANY.astype(dtype), np.repeat(MANY, 2).astype(dtype)[::2]):
        found = nodes_of(GRAPH, ids, "sources")
        assert found.dtype == np.uint32 and found.dtype.isnative and np.array_equal(found, MANY)


@pytest.mark.parametrize(
    ("dtype", "wrong", "message"),
    [
        (np.int64, -1, r"sources\[777777\] is -1; node ids must not be negative"),
        (np.int32, -7, r"sources\[777777\] is -7; node ids must not be negative"),
        (np.int64, 2**32 + 5, rf"sources\[777777\] is {2**32 + 5}; the largest of node ids"),
        (np.uint32, 300, r"sources\[777777\] is 300; node ids of this graph go from 0 to 299"),
        (np.uint64, 300, r"sources\[777777\] is 300; node ids of this graph go from 0 to 299"),
    ],
)
def test_a_wrong_one_is_named(dtype: type, wrong: int, message: str) -> None:
    ids = MANY.astype(dtype)
    ids[777_777] = wrong
    with pytest.raises(QueryError, match=f"^{message}"):
        nodes_of(GRAPH, ids, "sources")
