"""Times of several contestants that take turns at the same questions, and their comparison with a goal.

Other work on the machine, and the clock of its cores, then count for all contestants alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vkssp.bench.result import number, table

#: Name of this package among the contestants.
OURS = "vkssp"

# A process rests if it uses less than this share of a core for this time; threads of OpenMP spin for up to a second.
_BUSY, _REST_S, _LONGEST_REST_S = 0.1, 0.1, 5.0


class Clocked(NamedTuple):
    """Answer of a contestant that has a clock of its own, and the milliseconds that it took."""

    answer: Any
    ms: float


@dataclass
class Row:
    """Times of a task.

    Attributes
    ----------
    graph, task : str
        Name of the graph, and what is timed.
    questions : int
        Number of questions in a repetition.
    times : dict of str to list of float
        Milliseconds of each question in each repetition by contestant, `OURS` among them; see `alternate`.
    most_ms, most_ratio : float or None
        Goal: milliseconds, or the share of the time of the fastest other contestant.
    cores : str
        Cores that this package used.
    verified : str
        What the answers were compared with: all answers that were timed.
    notes : list of str
        Further remarks.
    """

    graph: str
    task: str
    questions: int
    times: dict[str, list[float]]
    most_ms: float | None = None
    most_ratio: float | None = None
    cores: str = "1"
    verified: str = ""
    notes: list[str] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Return the median milliseconds of a contestant."""
        return float(np.median(self.times[name]))

    def best(self, name: str) -> float:
        """Return the median, over the questions, of the least milliseconds of a question: other work only adds time."""
        return float(np.median(np.reshape(self.times[name], (-1, self.questions)).min(axis=0)))

    def ratio(self, of: Callable[[Row, str], float] = median) -> float | None:
        """Return our time as a share of the least time of the others, by default of medians; None without others."""
        others = [of(self, name) for name in self.times if name != OURS]
        return of(self, OURS) / min(others) if others else None

    def misses(self, of: Callable[[Row, str], float] = median) -> bool:
        """Return whether the goal is missed, by default by medians."""
        ratio = self.ratio(of)
        return (self.most_ms is not None and of(self, OURS) > self.most_ms) or (
            self.most_ratio is not None and ratio is not None and ratio > self.most_ratio
        )

    @property
    def verdict(self) -> str:
        """Whether the goal is met, and whether another contestant is faster."""
        ratio = self.ratio()
        slower = ratio is not None and ratio > 1
        if self.misses():
            return "MISSED" + ", slower" * slower + ("" if self.misses(Row.best) else "; met at best")
        if self.most_ms is None and (self.most_ratio is None or ratio is None):
            return "-" if ratio is None else "SLOWER" if slower else "faster"
        return "met, but SLOWER" if slower else "met"

    @property
    def goal(self) -> str:
        """The goal in words."""
        if self.most_ms is not None:
            return f"{self.most_ms:g} ms"
        return "-" if self.most_ratio is None else f"{self.most_ratio:g} of its"


def alternate(
    contestants: Mapping[str, Callable[[Any], Any]],
    questions: Sequence[Any],
    check: Callable[[Any, str, Any], object],
    *,
    repetitions: int,
    warm_up_s: float,
    calls: int = 1,
    rest: bool = False,
) -> dict[str, list[float]]:
    """Time contestants that take turns, and check every answer.

    Parameters
    ----------
    contestants : mapping of str to callable
        Functions that answer a question; one that returns `Clocked` is timed by its own clock.
    questions : sequence
        Questions. Each is asked once in a repetition, of one contestant after the other.
    check : callable
        Takes a question, the name of a contestant and its answer, and raises an error if the answer is wrong.
    repetitions : int
        Number of repetitions.
    warm_up_s : float
        Seconds of questions that are not timed, at least one question to each.
    calls : int
        Number of equal tasks in a question, for times of one of them.
    rest : bool
        Whether to wait before each timed question until threads that still spin after the last one sleep.

    Returns
    -------
    dict of str to list of float
        Milliseconds of a task by contestant, one for each repetition and question.
    """
    names, number_of_turns = list(contestants), 0
    began = time.perf_counter()
    while not number_of_turns or time.perf_counter() - began < warm_up_s:
        question = questions[number_of_turns % len(questions)]
        for name in names:
            contestants[name](question)
        number_of_turns += 1
    times: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(repetitions):
        for place, question in enumerate(questions):
            first = (repetition + place) % len(names)
            for name in names[first:] + names[:first]:
                if rest:
                    _rest()
                began = time.perf_counter()
                answer = contestants[name](question)
                ms = 1e3 * (time.perf_counter() - began)
                if isinstance(answer, Clocked):
                    answer, ms = answer
                times[name].append(ms / calls)
                check(question, name, answer)
                del answer
    return times


def _rest() -> None:
    """Wait until this process hardly uses any processor time, or for the longest time."""
    began = time.perf_counter()
    while time.perf_counter() - began < _LONGEST_REST_S:
        used = time.process_time()
        time.sleep(_REST_S)
        if time.process_time() - used < _BUSY * _REST_S:
            return


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread on one core, where the system can do that; work that is then divided is not divided."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def report(rows: Sequence[Row], *, markdown: bool = False) -> list[str]:
    """Return the table of some rows, a line for each other contestant, and their notes; or only a Markdown table."""
    lines, remarks = [], []
    for row in rows:
        for place, name in enumerate([name for name in row.times if name != OURS] or [""]):
            ours = (row.task, row.cores, *_shown(row, OURS)) if not place else ("",) * 4
            ratios = [number(of(OURS) / of(name)) if name else "-" for of in (row.median, row.best)]
            last = (row.goal, row.verdict) if not place else ("", "")
            lines.append((*ours, name or "-", *_shown(row, name), *ratios, *last))
        if remark := "; ".join(part for part in (row.verified, *row.notes) if part):
            remarks.append(f"{row.task}: {remark}")
    header = ("milliseconds", "cores", OURS, "at best", "beside", "its", "at best", "ratio", "at best", "goal", "")
    if markdown:
        return [f"| {' | '.join(cells)} |" for cells in (header, ("---",) * len(header), *lines)]
    return [*table(header, lines), "", *remarks]


def _shown(row: Row, name: str) -> tuple[str, str]:
    """Return the median with the quartiles, and the best of a contestant, empty for none."""
    if not name:
        return "", ""
    low, middle, high = map(_short, np.percentile(row.times[name], (25, 50, 75)))
    return f"{middle} ({low}..{high})", _short(row.best(name))


def _short(milliseconds: float) -> str:
    """Return a readable time; a hierarchy answers within microseconds."""
    return number(milliseconds) if milliseconds >= 0.1 else f"{milliseconds:.4f}"
