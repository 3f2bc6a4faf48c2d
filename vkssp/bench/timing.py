"""Timing of searches, of this package and of other libraries alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from vkssp.bench.experiment import Experiment
from vkssp.bench.peers import Peer
from vkssp.errors import VksspError
from vkssp.graph.distance_type import Distances, unreachable_in
from vkssp.solver.solver import Solver

Value = TypeVar("Value")


class Times(NamedTuple):
    """Milliseconds of one search: on the device or host, of the call, and of copying the distances from a device."""

    device_ms: float
    call_ms: float
    download_ms: float = 0.0


class Timed(Protocol):
    """Search that reports its times."""

    def distances(self, source: int) -> tuple[Distances, Times]:
        """Compute the distances from a node; return them and the times."""

    def search(self, source: int) -> Times:
        """Compute the distances from a node without copying them from the device; return the times."""


class TimedSolver:
    """Algorithm of this package, timed by its device's clock."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver

    def distances(self, source: int) -> tuple[Distances, Times]:
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
    """Another library, which has no clock of its own: the time of the call counts as both times."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def distances(self, source: int) -> tuple[Distances, Times]:
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
        del found  # releasing a list of a million numbers takes time
        return Times(call_ms, call_ms)


def fill(row: dict[str, Any], timed: Timed, expected: Mapping[int, Distances], experiment: Experiment) -> bool:
    """Fill a row with times; return whether the run is so slow that each search runs only once.

    Parameters
    ----------
    row : dict
        The row, with empty lists of sources and times.
    timed : Timed
        The search to measure.
    expected : mapping of int to numpy.ndarray
        Correct distances from each source.
    experiment : Experiment
        Settings of the measurement.

    Raises
    ------
    VksspError
        If distances are wrong.
    """
    samples, slow = {}, False
    for source, distances in _until(expected, experiment.limit_s):
        found, first = timed.distances(source)
        if not same_distances(found, distances):
            raise VksspError(f"wrong distances from node {source}")
        samples[source] = [first]
        # The device's time decides, because the first call may wait for an upload.
        slow = slow or first.device_ms > 1e3 * experiment.limit_s / 4
    downloads = {source: first.download_ms for source, (first,) in samples.items()}
    if not slow:
        # Comparisons on the host leave the device idle, so all of them come before the warm-up.
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


def same_distances(found: Distances, expected: Distances) -> bool:
    """Return whether distances of 32 or 64 bits are those of another array."""
    if found.dtype != expected.dtype:
        expected = np.where(expected == unreachable_in(expected), unreachable_in(found), expected.astype(np.uint64))
    return np.array_equal(found, expected)


def _until(values: Mapping[int, Value], limit_s: float) -> Iterator[tuple[int, Value]]:
    """Yield keys and values, at least the first, until a time has passed."""
    began = time.perf_counter()
    for item in values.items():
        yield item
        if time.perf_counter() - began > limit_s:
            return


def _since(began: float) -> float:
    return 1e3 * (time.perf_counter() - began)


def median_ms(act: Callable[[], Any], repetitions: int = 9) -> float:
    """Return the median milliseconds of a call, after one call that is not timed."""
    act()
    found = []
    for _ in range(repetitions):
        began = time.perf_counter()
        act()
        found.append(_since(began))
    return float(np.median(found))
