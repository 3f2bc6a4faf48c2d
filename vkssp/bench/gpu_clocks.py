"""Clocks of GPUs while something runs, as `nvidia-smi` tells them, where there is one."""

from __future__ import annotations

import datetime
import subprocess
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self

#: Milliseconds between two readings.
EVERY_MS = 20
# Seconds that the program may take until its first reading, and until it ends.
_PATIENCE_S = 5.0
_COMMAND = ("nvidia-smi", "--query-gpu=timestamp,clocks.sm,clocks.mem", "--format=csv,noheader,nounits")


class Clocks(NamedTuple):
    """One reading.

    Attributes
    ----------
    at : float
        When it was made, as `time.time` tells it.
    processors, memory : float
        Clocks in MHz.
    """

    at: float
    processors: float
    memory: float


class ClockReader:
    """Reader of the clocks of GPUs in a block: an own process that reads them again and again.

    Where there is no `nvidia-smi`, or it tells nothing, there are no readings.

    Parameters
    ----------
    every_ms : int
        Milliseconds between two readings; 0 for none at all.

    Attributes
    ----------
    readings : list of Clocks
        The readings; in order, those of several GPUs after each other.
    """

    def __init__(self, every_ms: int = EVERY_MS) -> None:
        self.readings: list[Clocks] = []
        self._every_ms = every_ms
        self._process: subprocess.Popen[str] | None = None
        self._has_first = threading.Event()

    def __enter__(self) -> Self:
        """Begin to read, and wait for the first reading."""
        if self._every_ms:
            command = [*_COMMAND, f"--loop-ms={self._every_ms}"]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
            except OSError:
                return self
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()
            self._has_first.wait(_PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(_PATIENCE_S)

    def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if (clocks := clocks_of(line)) is not None:
                    self.readings.append(clocks)
                    self._has_first.set()
        self._has_first.set()  # the program has ended

    def between(self, begin: float, end: float) -> list[Clocks]:
        """Return the readings of a time; where there is none, the last one before it."""
        found = [clocks for clocks in self.readings if begin <= clocks.at <= end]
        return found or [clocks for clocks in self.readings if clocks.at < begin][-1:]


def clocks_of(line: str) -> Clocks | None:
    """Return the reading of a line; None if it is none, as for a GPU that does not tell its clocks."""
    try:
        at, processors, memory = line.split(",")
        when = datetime.datetime.strptime(at.strip(), "%Y/%m/%d %H:%M:%S.%f")  # local time, as the program tells it
        return Clocks(time.mktime(when.timetuple()) + 1e-6 * when.microsecond, float(processors), float(memory))
    except ValueError:
        return None
