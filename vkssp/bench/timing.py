"""Times searches, of this package and of others alike."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from vkssp.bench.experiment import Experiment
from vkssp.bench.peers import Peer
from vkssp.errors import VksspError
from vkssp.graph import Uint32s
from vkssp.solver import Solver


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
    began, slow = time.perf_counter(), False
    for source, distances in expected.items():
        started = time.perf_counter()
        found, first = timed.distances(source)
        if not np.array_equal(found, distances):
            raise VksspError(f"wrong distances from node {source}")
        row["sources"].append(source)
        row["download_ms"].append(first.download_ms)
        slow = slow or first.call_ms + first.download_ms > 1e3 * experiment.limit_s / 4
        samples = [first]
        if not slow:
            while time.perf_counter() - started < experiment.warm_up_s:
                timed.search(source)
            samples = [timed.search(source) for _ in range(experiment.repetitions)]
        row["device_ms"].append([sample.device_ms for sample in samples])
        row["call_ms"].append([sample.call_ms for sample in samples])
        if time.perf_counter() - began > experiment.limit_s:
            break
    return slow


def _since(began: float) -> float:
    return 1e3 * (time.perf_counter() - began)
