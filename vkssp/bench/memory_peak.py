"""The most memory that a program takes while a part of it runs, with the processes that it has started."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWN = Path("/proc/self")
_EVERY_S = 0.05


class MemoryPeak:
    """Largest number of bytes in memory during a block, see `memory_peak`.

    Attributes
    ----------
    nbytes : int or None
        The bytes, known at the end of the block; None on systems that do not tell.
    """

    def __init__(self) -> None:
        self.nbytes: int | None = None


@contextmanager
def memory_peak() -> Iterator[MemoryPeak]:
    """Measure the most memory that this process takes during a block, with its child processes; on Linux.

    The system counts the pages of this process; those of the children are added up twenty times a second.
    """
    peak = MemoryPeak()
    with suppress(OSError):  # where it is not permitted the largest since the start counts
        (_OWN / "clear_refs").write_text("5")
    ended, sums = threading.Event(), [0]

    def look() -> None:
        while not ended.wait(_EVERY_S):
            sums[0] = max(sums[0], resident(os.getpid()) + sum(map(resident, children())))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()
        with suppress(OSError, StopIteration):
            lines = (line.split() for line in (_OWN / "status").read_text().splitlines())
            own = next(1024 * int(words[1]) for words in lines if words[0] == "VmHWM:")
            peak.nbytes = max(own, sums[0])


def resident(process: int) -> int:
    """Return the bytes of a process that are in memory, 0 if it has ended or the system does not tell."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def children() -> list[int]:
    """Return the ids of the processes that this one has started and that have not ended; empty if unknown."""
    found: list[int] = []
    with suppress(OSError):
        for task in (_OWN / "task").iterdir():
            with suppress(OSError, ValueError):  # a thread that has just ended
                found += map(int, (task / "children").read_text().split())
    return found
