"""Sizes of blocks: what a device does in about a second, in whole chunks of what is written."""

from __future__ import annotations

from dataclasses import dataclass

from vkssp.checks import whole_number
from vkssp.dask.question import Facts
from vkssp.solver.table_file import CHUNK_BYTES

# Seconds of work in a block, most bytes of one, and blocks that a result has at least, if it has so many rows: 16 for
# each of four workers, which then end at about the same time, though each begins four of them at once.
_BLOCK_S, _MOST_BYTES, _LEAST_BLOCKS = 1.0, 256 << 20, 64
# Seconds of work that a block has at least for this: ten times of what a task costs.
_LEAST_S = 0.05
# Most of the time of a block that it may take besides its rows, for each second of these.
_SHARE = 0.1


@dataclass(frozen=True)
class Blocks:
    """Division of rows into blocks, and of blocks into chunks.

    Attributes
    ----------
    count : int
        Number of rows.
    rows : int
        Rows of each block but the last one.
    chunk : int
        Rows of a chunk, of which each block but the last one has a whole number.
    """

    count: int
    rows: int
    chunk: int

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first row of each block, and the row behind its last one."""
        return [(first, min(first + self.rows, self.count)) for first in range(0, self.count, self.rows)]

    def sizes(self) -> tuple[int, ...]:
        """Return the number of rows of each block."""
        return tuple(end - first for first, end in self.ranges())


def blocks_of(facts: Facts, rows: int | None = None) -> Blocks:
    """Return the division of a result.

    Parameters
    ----------
    facts : Facts
        What is known of the result.
    rows : int, optional
        Rows of a block; by default as many as take a second on one device, but at most 256 MiB, and no more than a
        64th of all if that takes a twentieth of a second, and ten times of what a block takes besides its rows.

    Raises
    ------
    QueryError
        If `rows` is no number of rows.
    """
    count = facts.shape[0]
    chunk = max(1, CHUNK_BYTES // facts.row_bytes)
    if rows is None:
        seconds = max(_BLOCK_S - facts.block_seconds, facts.block_seconds / _SHARE)
        by_time = int(seconds / max(facts.row_seconds, 1e-9))
        least = max(_LEAST_S, facts.block_seconds / _SHARE)
        by_share = max(-(-count // _LEAST_BLOCKS), int(least / max(facts.row_seconds, 1e-9)))
        rows = max(1, min(by_time, by_share, _MOST_BYTES // facts.row_bytes, count))
        rows -= rows % chunk if rows > chunk else 0
    else:
        rows = whole_number(rows, "rows", 1, 2**31 - 1, "give a number of rows, 1 to 2147483647")
    return Blocks(count, rows, chunk if rows % chunk == 0 else rows)
