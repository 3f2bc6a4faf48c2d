"""Times searches, of this package and of others alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from vkssp.bench.experiment import Experiment
from vkssp.bench.peers import Peer
from vkssp.errors import VksspError
from vkssp.graph import Uint32s
from vkssp.solver.solver import Solver

Value = TypeVar("Value")


class Times(NamedTuple):
    """The milliseconds of one search: where it ran, as the caller sees it, and to copy distances from a device."""

    device_ms: float
    call_ms: float
    download_ms: float = 0.0


class Timed(Protocol):
    """What finds distances, and says how long that took."""

    def distances(self, source: int) -> tuple[Uint32s, Times]:
        """Return the distances from a node, and the times of finding them."""

    def search(self, source: int) -> Times:
        """Return the times of finding the distances from a node, which are left where they are found."""


class TimedSolver:
    """An algorithm of this package, timed by its device's clock."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver

    def distances(self, source: int) -> tuple[Uint32s, Times]:
        """Return the distances from a node, and the times of finding them."""
        began = time.perf_counter()
        found = self._solver.distances(source)
        whole_ms = _since(began)
        outcome, download_ms = self._solver.last, self._solver.timings.download_ms
        assert outcome is not None and download_ms is not None
        return found, Times(outcome.device_ms, whole_ms - download_ms, download_ms)

    def search(self, source: int) -> Times:
        """Return the times of finding the distances from a node."""
        began = time.perf_counter()
        outcome = self._solver.search([(source, 0)])
        return Times(outcome.device_ms, _since(began))


class TimedPeer:
    """Another library: what it does on its way has no clock of its own, so the time of the call counts as both."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def distances(self, source: int) -> tuple[Uint32s, Times]:
        """Return the distances from a node, and the times of finding them."""
        began = time.perf_counter()
        found = self._peer.search(source)
        call_ms = _since(began)
        return self._peer.array(found), Times(call_ms, call_ms)

    def search(self, source: int) -> Times:
        """Return the times of finding the distances from a node."""
        began = time.perf_counter()
        found = self._peer.search(source)
        call_ms = _since(began)
        del found  # a list of a million numbers takes a while to go
        return Times(call_ms, call_ms)


def fill(row: dict[str, Any], timed: Timed, expected: Mapping[int, Uint32s], experiment: Experiment) -> bool:
    """Fill a row with times; return whether the run is so slow that nothing is run twice.

    Parameters
    ----------
    row : dict
        The row, with empty lists of sources and times.
    timed : Timed
        What is measured.
    expected : mapping of int to numpy.ndarray
        For each source the right distances.
    experiment : Experiment
        How it is measured.

    Raises
    ------
    VksspError
        If distances are wrong.
    """
    samples, slow = {}, False
    for source, distances in _until(expected, experiment.limit_s):
        found, first = timed.distances(source)
        if not np.array_equal(found, distances):
            raise VksspError(f"wrong distances from node {source}")
        samples[source] = [first]
        # By the device's time: the first call of all may wait for an upload.
        slow = slow or first.device_ms > 1e3 * experiment.limit_s / 4
    downloads = {source: first.download_ms for source, (first,) in samples.items()}
    if not slow:
        # What was compared on the host left the device idle, so all of it is done before the device is warmed up.
        began = time.perf_counter()
        while time.perf_counter() - began < experiment.warm_up_s:
            for source in samples:
                timed.search(source)
        samples = {
            source: [timed.search(source) for _ in range(experiment.repetitions)]
            for source, _ in _until(downloads, experiment.limit_s)
        }
    for source, times in samples.items():
        row["sources"].append(source)
        row["download_ms"].append(downloads[source])
        row["device_ms"].append([sample.device_ms for sample in times])
        row["call_ms"].append([sample.call_ms for sample in times])
    return slow


def _until(values: Mapping[int, Value], limit_s: float) -> Iterator[tuple[int, Value]]:
    """Yield keys and values, the first in any case, until a time has passed."""
    began = time.perf_counter()
    for item in values.items():
        yield item
        if time.perf_counter() - began > limit_s:
            return


def _since(began: float) -> float:
    return 1e3 * (time.perf_counter() - began)


def median_ms(act: Callable[[], Any], repetitions: int = 9) -> float:
    """Return the median milliseconds of a call, after one that is not timed."""
    act()
    found = []
    for _ in range(repetitions):
        began = time.perf_counter()
        act()
        found.append(_since(began))
    return float(np.median(found))
