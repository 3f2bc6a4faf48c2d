"""Reader of NumPy arrays in files, which checks headers against the size of the file before it allocates memory."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x93NUMPY"
#: Bytes of the header's length by major version; the header of an array of numbers has about 100 bytes.
_LENGTH_BYTES, _LONGEST_HEADER = {1: 2, 2: 4, 3: 4}, 10_000
# A header is a Python dictionary in the form of text. Its three entries are looked for and nothing is evaluated.
_ENTRIES = (
    rb"""['"]descr['"]\s*:\s*['"]([<>|=]?[biuf][1248])['"]""",
    rb"""['"]fortran_order['"]\s*:\s*(True|False)""",
    rb"""['"]shape['"]\s*:\s*\(([0-9L,\s]*)\)""",
)


def read_npy(stream: IO[bytes], size: int) -> npt.NDArray[Any]:
    """Read an array of numbers or truth values in the .npy format.

    Parameters
    ----------
    stream : binary stream
        Stream at the array's first byte; it is only read forward.
    size : int
        Number of bytes from there to the end.

    Returns
    -------
    numpy.ndarray
        The array, read-only.

    Raises
    ------
    ValueError
        If the bytes are not such an array, or if the header claims another size. At most some kilobytes are read before
        this error.
    """
    shape, is_fortran, dtype, begin = _header(stream)
    left = size - begin
    if math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"claims to have the shape {shape!s:.60} and dtype {dtype} in {left:,} bytes")
    data = stream.read(left)
    if len(data) < left:
        raise ValueError(f"ends after {len(data):,} of {left:,} bytes")
    array: npt.NDArray[Any] = np.ndarray(shape, dtype, data, order="F" if is_fortran else "C")
    # A truth value stored as another byte than 0 or 1 would count as true without being equal to true.
    if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("holds bytes that are neither true nor false")
    return array


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read an archive of arrays of numbers, as `numpy.savez` writes it.

    Raises
    ------
    ValueError
        If it is no such archive, is compressed, so that a small file could hold large arrays, or is damaged.
    OSError
        If the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            is_stored = all(one.compress_type == zipfile.ZIP_STORED for one in members)
            if not is_stored or any(one.compress_size != one.file_size for one in members):
                raise ValueError("is compressed; write it by numpy.savez")
            if sum(one.file_size for one in members) > path.stat().st_size:
                raise ValueError("is smaller than what it holds")
            found = {}
            for one in members:
                with archive.open(one) as stream:
                    found[one.filename.removesuffix(".npy")] = read_npy(stream, one.file_size)
            return found
    except (OSError, MemoryError, ValueError):
        raise
    # zipfile raises many kinds of errors for damaged bytes.
    except Exception as error:
        raise ValueError(f"is damaged ({error!s:.80})") from error


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, whether the order is Fortran's, dtype, and the length of the header in bytes."""
    start = stream.read(len(_MAGIC) + 2)
    width = _LENGTH_BYTES.get(start[-2], 0) if start.startswith(_MAGIC) and len(start) == len(_MAGIC) + 2 else 0
    count = int.from_bytes(stream.read(width), "little")
    if not 0 < count <= _LONGEST_HEADER:
        raise ValueError("does not begin like a NumPy array")
    text = stream.read(count)
    descr, order, shape = (found[1].decode() if (found := re.search(entry, text)) else None for entry in _ENTRIES)
    if descr is None or order is None or shape is None:
        raise ValueError(f"is no array of numbers but {text.decode('latin-1').strip()!r:.120}")
    sizes = tuple(int(length.strip().rstrip("L")) for length in shape.split(",") if length.strip())
    try:
        return sizes, order == "True", np.dtype(descr), len(start) + width + count
    except TypeError:
        raise ValueError(f"has the dtype {descr}, which is not known") from None
