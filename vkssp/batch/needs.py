"""Memory that a batch of searches needs on a device, and for how many searches at once there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vkssp.gpu.device import Device
from vkssp.gpu.download import staging_bytes

#: Largest number of bytes of rows that come to the host at a time, unless one row has more.
MOST_BYTES = 64 << 20


class Needs(NamedTuple):
    """Sizes of the buffers of a part of a batch.

    Attributes
    ----------
    each : tuple of int
        Bytes of a search in each buffer that has a part for every search.
    others : tuple of int
        Bytes of each other buffer.
    read_bytes : int
        Bytes of what is read at once besides rows.
    """

    each: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    read_bytes: int = 0


def searches_in(device: Device, free: float, parts: Sequence[Needs], row_bytes: int) -> int:
    """Return for how many searches a device has memory, and buffers that are large enough; it may be none.

    Parameters
    ----------
    device : Device
        The device.
    free : float
        Bytes of memory that a batch may take.
    parts : sequence of Needs
        What the parts of the batch need.
    row_bytes : int
        Bytes of a row that comes to the host.
    """
    each = [nbytes for part in parts for nbytes in part.each]
    others = [nbytes for part in parts for nbytes in part.others]
    limit = device.limits.buffer
    if max(others, default=0) > limit:
        return 0
    free -= sum(others) + sum(staging_bytes(device, part.read_bytes) for part in parts if part.read_bytes)
    return min(rows_in(device, free, sum(each), row_bytes), limit // max(each))


def rows_in(device: Device, free: float, each: int, row_bytes: int) -> int:
    """Return for how many rows some memory suffices; it may be none.

    Parameters
    ----------
    device : Device
        The device.
    free : float
        Bytes of memory that the rows may take; it may be negative.
    each : int
        Bytes of a row besides its download.
    row_bytes : int
        Bytes of a row that comes to the host.
    """
    staging = staging_bytes(device, max(MOST_BYTES, row_bytes))
    if not staging:
        return max(0, int(free // each))
    # The download of few rows has pieces for these alone, rounded up by less than one: less than twice the rows.
    return max(0, int((free - staging) // each), int(free // (each + 2 * row_bytes)))
