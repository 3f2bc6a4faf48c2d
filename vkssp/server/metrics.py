"""Figures of the server, in the format of Prometheus."""

from __future__ import annotations

import bisect
import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vkssp.solver.micro_batches import SIZES, Batching

#: Upper bounds of the classes of times, in seconds.
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Services and codes that are told apart; all others are counted as the last ones.
_SERVICES = ("route", "nearest", "table", "match", "trip", "tile", "isochrone", "speeds", "none")
_CODES = (
    *("Ok", "InternalError", "InvalidContentType", "InvalidMethod", "InvalidOptions", "InvalidQuery", "InvalidService"),
    *("InvalidUrl", "InvalidValue", "InvalidVersion", "DisabledDataset", "NoMatch", "NoRoute", "NoSegment", "NoTrips"),
    *("NotImplemented", "Ending", "Timeout", "TooBig", "TooBusy", "Unauthorized", "Other"),
)
#: Cells of a service: its codes, its classes of times, and the sum of its times.
_OF_TIMES = len(_CODES)
_SUM = _OF_TIMES + len(_BOUNDS) + 1
_CELLS = _SUM + 1
_SERVICE = {name: number * _CELLS for number, name in enumerate(_SERVICES)}
_CODE = {name: number for number, name in enumerate(_CODES)}
_BUSY = len(_SERVICES) * _CELLS
#: Cells of a process: those of its services, how many requests it is answering, and its batches by their sizes, with
#: the sum of the sizes.
_OF_BATCHES = _BUSY + 1
_OF_PROCESS = _OF_BATCHES + len(SIZES) + 1


def shared_figures(processes: int) -> mmap.mmap:
    """Return memory for the figures of several processes, which forks share."""
    return mmap.mmap(-1, 8 * _OF_PROCESS * processes)


class Metrics:
    """Numbers of requests, and how long their answers took.

    Parameters
    ----------
    memory : mmap.mmap, optional
        Memory of `shared_figures`, with the figures of all processes; each writes only its own.
    process : int
        Number of this process there. It continues the figures of a process that had the number before.
    batchings : sequence of Batching
        Batches of searches on devices that are counted, too.
    """

    def __init__(self, memory: mmap.mmap | None = None, process: int = 0, batchings: Sequence[Batching] = ()) -> None:
        self._all = np.frombuffer(shared_figures(1) if memory is None else memory).reshape(-1, _OF_PROCESS)
        self._own: Any = memoryview(self._all[process])  # of which single cells are quicker than those of an array
        self._own[_BUSY] = 0.0
        self._batchings, self._batches_before = batchings, self._all[process, _OF_BATCHES:].copy()

    def begin(self) -> None:
        """Count a request that is being answered."""
        self._own[_BUSY] += 1.0

    def add(self, service: str, code: str, seconds: float) -> None:
        """Count the answer of a request that `begin` has counted."""
        own, at = self._own, _SERVICE.get(service, _SERVICE["none"])
        own[_BUSY] -= 1.0
        own[at + _CODE.get(code, _CODE["Other"])] += 1.0
        own[at + _OF_TIMES + bisect.bisect_left(_BOUNDS, seconds)] += 1.0
        own[at + _SUM] += seconds
        if self._batchings:
            counts = sum(one.counts for one in self._batchings)
            found = np.append(counts, sum(one.questions for one in self._batchings))
            own[_OF_BATCHES:] = memoryview(self._batches_before + found)

    def text(self) -> str:
        """Return the figures of all processes together, one a line."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        total = self._all.sum(axis=0)
        services = list(zip(_SERVICES, total[:_BUSY].reshape(-1, _CELLS).tolist(), strict=True))
        yield "# HELP vkssp_requests_total Requests by service and code of the answer."
        yield "# TYPE vkssp_requests_total counter"
        for service, cells in services:
            for code, count in zip(_CODES, cells, strict=False):
                if count:
                    yield f'vkssp_requests_total{{service="{service}",code="{code}"}} {count:.0f}'
        yield "# HELP vkssp_answer_seconds Time from a request to its answer."
        yield "# TYPE vkssp_answer_seconds histogram"
        for service, cells in services:
            passed = np.cumsum(cells[_OF_TIMES:_SUM]).tolist()
            if passed[-1]:
                for bound, count in zip((*map(str, _BOUNDS), "+Inf"), passed, strict=True):
                    yield f'vkssp_answer_seconds_bucket{{service="{service}",le="{bound}"}} {count:.0f}'
                yield f'vkssp_answer_seconds_sum{{service="{service}"}} {cells[_SUM]:.6f}'
                yield f'vkssp_answer_seconds_count{{service="{service}"}} {passed[-1]:.0f}'
        yield "# HELP vkssp_requests_waiting Requests that are being answered, or wait."
        yield "# TYPE vkssp_requests_waiting gauge"
        yield f"vkssp_requests_waiting {total[_BUSY]:.0f}"
        *sizes, searches = total[_OF_BATCHES:].tolist()
        if searches:
            yield "# HELP vkssp_batch_searches Searches that a device has made together."
            yield "# TYPE vkssp_batch_searches histogram"
            passed = np.cumsum(sizes).tolist()
            for bound, count in zip((*map(str, SIZES), "+Inf"), (*passed, passed[-1]), strict=True):
                yield f'vkssp_batch_searches_bucket{{le="{bound}"}} {count:.0f}'
            yield f"vkssp_batch_searches_sum {searches:.0f}"
            yield f"vkssp_batch_searches_count {passed[-1]:.0f}"
