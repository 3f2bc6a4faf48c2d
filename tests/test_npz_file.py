"""Archives of arrays, whose checksums are computed in parts."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.npz_file import write_npz


class _Pipe(io.RawIOBase):
    """Stream that cannot go back."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.data += data
        return len(data)


def test_numpy_reads_what_was_written() -> None:
    rng = np.random.default_rng(1)
    arrays: dict[str, npt.NDArray[Any]] = {
        "several parts": rng.integers(0, 2**63, (1 << 20, 2)),
        "no row": np.zeros((0, 2), np.float32),
        "flags": rng.integers(0, 2, 77).astype(np.bool_),
        "columns": np.asfortranarray(rng.random((5, 3))),
        "every other": np.arange(10, dtype=np.uint16)[::2],
        "a number": np.float64(2.5) * np.ones(()),
        "Straße": np.arange(3),
    }
    arrays["several parts"].flags.writeable = False
    pipe = _Pipe()
    write_npz(pipe, arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(io.BytesIO(pipe.data)) as archive:
        assert archive.testzip() is None, "a checksum is wrong"
    with np.load(io.BytesIO(pipe.data)) as found:
        assert found.files == list(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
