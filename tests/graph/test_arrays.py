"""Arrays in huge pages."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest

from vkssp.arrays import in_huge_pages, own


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
