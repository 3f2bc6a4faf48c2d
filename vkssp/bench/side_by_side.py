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
    times : dict of str to list of float
        Milliseconds of each repetition by contestant, `OURS` first.
    most_ms, most_ratio : float or None
        Goal: milliseconds, or the share of the time of the fastest other contestant.
    cores : str
        Cores that the contestants used.
    verified : str
        What the answers were compared with; all answers that were timed.
    notes : list of str
        Further remarks.
    """

    graph: str
    task: str
    times: dict[str, list[float]]
    most_ms: float | None = None
    most_ratio: float | None = None
    cores: str = "1"
    verified: str = ""
    notes: list[str] = field(default_factory=list)

    def quartiles(self, name: str) -> tuple[float, float, float]:
        """Return the quartiles of the milliseconds of a contestant."""
        low, middle, high = np.percentile(self.times[name], (25, 50, 75))
        return float(low), float(middle), float(high)

    @property
    def ratio(self) -> float | None:
        """Our median as a share of the least median of the others; None if there are no others."""
        others = [self.quartiles(name)[1] for name in self.times if name != OURS]
        return self.quartiles(OURS)[1] / min(others) if others else None

    @property
    def verdict(self) -> str:
        """Whether the goal is met, and whether another contestant is faster."""
        ratio, slower = self.ratio, self.ratio is not None and self.ratio > 1
        is_missed = (self.most_ms is not None and self.quartiles(OURS)[1] > self.most_ms) or (
            self.most_ratio is not None and ratio is not None and ratio > self.most_ratio
        )
        if is_missed:
            return "MISSED, slower" if slower else "MISSED"
        if self.most_ms is None and (self.most_ratio is None or ratio is None):
            return "SLOWER" if slower else "-" if ratio is None else "faster"
        return "met, but SLOWER" if slower else "met"

    @property
    def goal(self) -> str:
        """The goal in words."""
        if self.most_ms is not None:
            return f"{self.most_ms:g} ms"
        return "-" if self.most_ratio is None else f"{self.most_ratio:g} of its time"


def alternate(
    contestants: Mapping[str, Callable[[Any], Any]],
    questions: Sequence[Any],
    check: Callable[[Any, str, Any], object],
    *,
    repetitions: int,
    warm_up_s: float,
    calls: int = 1,
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
                began = time.perf_counter()
                answer = contestants[name](question)
                ms = 1e3 * (time.perf_counter() - began)
                if isinstance(answer, Clocked):
                    answer, ms = answer
                times[name].append(ms / calls)
                check(question, name, answer)
                del answer
    return times


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


def report(rows: Sequence[Row]) -> list[str]:
    """Return the table of some rows, a line for each contestant, and their notes."""
    lines, remarks = [], []
    for row in rows:
        ours = row.quartiles(OURS)
        for place, name in enumerate([name for name in row.times if name != OURS] or [""]):
            theirs = row.quartiles(name) if name else (np.nan,) * 3
            lines.append(
                (
                    row.task if not place else "",
                    row.cores if not place else "",
                    *(_spread(ours) if not place else ("", "")),
                    name or "-",
                    *(_spread(theirs) if name else ("", "")),
                    number(ours[1] / theirs[1]),
                    row.goal if not place else "",
                    row.verdict if not place else "",
                )
            )
        remarks += [f"{row.task}: {'; '.join(part for part in (row.verified, *row.notes) if part)}"]
    header = ("milliseconds", "cores", OURS, "quartiles", "beside", "its", "quartiles", "ratio", "goal", "")
    return [*table(header, lines), "", *remarks]


def _spread(quartiles: tuple[float, float, float]) -> tuple[str, str]:
    low, middle, high = map(_short, quartiles)
    return middle, f"{low}..{high}"


def _short(milliseconds: float) -> str:
    """Return a readable time; a hierarchy answers within microseconds."""
    return number(milliseconds) if milliseconds >= 0.1 else f"{milliseconds:.4f}"
