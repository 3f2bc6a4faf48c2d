"""Writer of archives of NumPy arrays (.npz), whose checksums all cores compute."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from functools import cache, partial, reduce
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import run_all

# Bytes whose checksum a thread computes at once.
_PART = 1 << 22
# The polynomial of the checksums, with the lowest bit for the highest power, as in zlib.
_POLYNOMIAL, _ONE = 0xEDB88320, 1 << 31
# Version of the format that readers of sizes of 64 bits know; that names are UTF-8; the first day that the format has.
_VERSION, _UTF_8, _DAY = 45, 1 << 11, 1 << 5 | 1
_IN_64_BITS = 0xFFFFFFFF


def write_npz(stream: IO[bytes], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write an archive of arrays, which `numpy.load` reads.

    `numpy.savez` writes the same, but copies what it writes, and has one core compute the checksums. An archive that
    is written again is the same, byte for byte.

    Parameters
    ----------
    stream : binary stream
        The stream, at its start; it need not be one that can go back.
    arrays : mapping of str to numpy.ndarray
        The arrays by their names; none is of objects.
    """
    members = [(f"{name}.npy".encode(), *_parts(array)) for name, array in arrays.items()]
    sums = iter(run_all([partial(zlib.crc32, part) for *_, parts in members for part in parts]))
    directory, at = [], 0
    for name, size, parts in members:
        checksum = reduce(_joined, ((next(sums), len(part)) for part in parts), (0, 0))[0]
        # Method, time and day, checksum, sizes that the further field has, and lengths of the name and that field.
        about = 0, 0, _DAY, checksum, _IN_64_BITS, _IN_64_BITS, len(name)
        sizes = struct.pack("<HHQQ", 1, 16, size, size)
        header = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", _VERSION, _UTF_8, *about, len(sizes)) + name + sizes
        sizes = struct.pack("<HHQQQ", 1, 24, size, size, at)
        entry = *about, len(sizes), 0, 0, 0, 0o600 << 16, _IN_64_BITS
        directory.append(struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 3 << 8 | _VERSION, _VERSION, _UTF_8, *entry))
        directory += [name, sizes]
        for part in (header, *parts):
            stream.write(part)
        at += len(header) + size
    listed, count = b"".join(directory), len(members)
    where = count, count, len(listed), at
    end = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 3 << 8 | _VERSION, _VERSION, 0, 0, *where)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at + len(listed), 1)
    most = 0xFFFF, 0xFFFF, _IN_64_BITS, _IN_64_BITS
    stream.write(listed + end + locator + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, *most, 0))


def _parts(array: npt.NDArray[Any]) -> tuple[int, list[Any]]:
    """Return the size of an array as a file, and the parts of that file."""
    array = np.asarray(array, order="C")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    content: memoryview[int] = array.reshape(-1).view(np.uint8).data
    parts = [content[at : at + _PART] for at in range(0, len(content), _PART)]
    return len(header.getbuffer()) + len(content), [header.getvalue(), *parts]


def _joined(before: tuple[int, int], after: tuple[int, int]) -> tuple[int, int]:
    """Return checksum and size of bytes that consist of two parts, by theirs."""
    return _product(_power(after[1]), before[0]) ^ after[0], before[1] + after[1]


@cache
def _power(size: int) -> int:
    """Return the factor by which some bytes that follow change a checksum: a power of x, modulo the polynomial."""
    found, base, exponent = _ONE, _ONE >> 1, 8 * size
    while exponent:
        if exponent & 1:
            found = _product(base, found)
        base, exponent = _product(base, base), exponent >> 1
    return found


def _product(a: int, b: int) -> int:
    """Return the product of two polynomials of bits, modulo the polynomial."""
    found = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            found ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return found
