"""Figures of the server, in the format of Prometheus."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterator

#: Upper bounds of the classes of times, in seconds.
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Numbers of requests, and how long their answers took; used by one event loop.

    Parameters
    ----------
    waiting : callable
        Tells how many requests are being answered or wait.
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._waiting = waiting
        self._requests: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def add(self, service: str, code: str, seconds: float) -> None:
        """Count an answer."""
        self._requests[service, code] += 1
        times = self._times.setdefault(service, [0] * (len(_BOUNDS) + 1))
        times[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[service] = self._seconds.get(service, 0.0) + seconds

    def text(self) -> str:
        """Return all figures, one a line."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP vkssp_requests_total Requests by service and code of the answer."
        yield "# TYPE vkssp_requests_total counter"
        for (service, code), count in sorted(self._requests.items()):
            yield f'vkssp_requests_total{{service="{service}",code="{code}"}} {count}'
        yield "# HELP vkssp_answer_seconds Time from a request to its answer."
        yield "# TYPE vkssp_answer_seconds histogram"
        for service, times in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), times, strict=True):
                total += count
                yield f'vkssp_answer_seconds_bucket{{service="{service}",le="{bound}"}} {total}'
            yield f'vkssp_answer_seconds_sum{{service="{service}"}} {self._seconds[service]:.6f}'
            yield f'vkssp_answer_seconds_count{{service="{service}"}} {total}'
        yield "# HELP vkssp_requests_waiting Requests that are being answered, or wait."
        yield "# TYPE vkssp_requests_waiting gauge"
        yield f"vkssp_requests_waiting {self._waiting()}"
