"""Arrays in huge pages, distinct values, and short texts of results."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest

from vkssp import Graph, Solver
from vkssp.arrays import distinct, in_huge_pages, own


@pytest.mark.parametrize("shape", [(0,), (7,), (1 << 17,), (70_001, 3), (1 << 20, 2)])
def test_a_copy_in_huge_pages_is_the_same_array(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.random.default_rng(1).integers(0, 1000, shape, dtype=np.uint32)
    copy = own(in_huge_pages(array))
    is_large = array.nbytes >= 1 << 19 and hasattr(mmap, "MADV_HUGEPAGE")
    assert (copy is not array) == is_large and copy.flags.c_contiguous and not copy.flags.writeable
    if is_large:
        assert copy.ctypes.data % (1 << 21) == 0
        kept = array.copy()
        array[...] = 0
        del array
        gc.collect()
        assert np.array_equal(copy, kept)
        monkeypatch.setattr(mmap, "mmap", _fail)
        assert in_huge_pages(kept) is kept, "what cannot be copied there stays where it is"


def _fail(*_: object, **__: object) -> None:
    raise OSError(12, "Cannot allocate memory")


def test_results_tell_shapes_in_place_of_numbers() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [4, 9])
    with Solver(graph, device="cpu") as solver:
        found = solver.flows([0, 1], [2], [[5], [7]], skims={"metres": [1, 2]}, select=[1], turns=True)
    turns = "Turns(before=int64[1], after=int64[1], load=int64[1])"
    chosen = "selected=int64[1, 2], is_selected=[bool[2, 1]]"
    assert (
        repr(found) == f"Flows(arcs=int64[2], unreached=0, skims={{'metres': float64[2, 1]}}, {chosen}, turns={turns})"
    )


@pytest.mark.parametrize("values", [[], [3], [7, 0, 7, 2, 2, 7, 9]])
def test_distinct_values(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
