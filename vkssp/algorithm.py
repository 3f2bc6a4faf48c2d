"""What all algorithms share: how they describe themselves, the shape of a search, and how parameters are declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.checks import index_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Uint32s

#: The algorithm that stands for the one that fits the graph best.
AUTO = "auto"
#: A node and what it takes to get there from the place that is meant, or from there to it.
Terminal = tuple[int, int]
#: Seeds and targets that one search for targets may have, each; one for all distances has as many seeds as it likes.
MAX_TERMINALS = 64
#: What a search may count: only its iterations, also its work in total, or that of every iteration.
COUNTING = ("iterations", "totals", "trace")

#: A row of a trace as algorithms write it: one iteration. Work is what `TOTALS` names, in this iteration.
ROW = np.dtype(
    [
        ("iteration", np.uint32),  # from 0
        ("phase", np.uint32),  # what kind of iteration, where an algorithm has several; its module says which
        ("low", np.uint32),  # the distances that it works on: low <= distance < high
        ("high", np.uint32),
        ("first_node", np.uint32),  # the range of ids that it looks at, both ends included
        ("last_node", np.uint32),
        ("visited", np.uint32),
        ("worked", np.uint32),
        ("relaxed", np.uint32),
        ("improved", np.uint32),
    ]
)
#: A row of a trace as callers get it: the same, and the time from the end of the iteration before to the end of this
#: one, as the device's clock has it; NaN where it has none, and for algorithms on the CPU.
TRACE = np.dtype([*ROW.descr, ("microseconds", np.float32)])

#: Names of the counters of work: nodes (or edges, where those are the work items) that were looked at; those of them
#: that had arcs to relax; arcs relaxed; arcs that improved a distance.
TOTALS = ("visited", "worked", "relaxed", "improved")


def timed(rows: npt.NDArray[Any], microseconds: npt.NDArray[Any] | float) -> npt.NDArray[Any]:
    """Return rows of a trace with their times."""
    result = np.empty(len(rows), TRACE)
    for name in ROW.names or ():
        result[name] = rows[name]
    result["microseconds"] = microseconds
    return result


@dataclass(frozen=True)
class Description:
    """What people want to know before they choose an algorithm.

    Attributes
    ----------
    idea : str
        How it works, in a sentence.
    source : str
        Who published it.
    complexity : str
        Work and number of iterations, with n nodes, m arcs, largest distance L.
    use : str
        When to choose it.
    ends_early : bool
        Whether a search for targets ends as soon as the best of them is known.
    """

    idea: str
    source: str
    complexity: str
    use: str
    ends_early: bool


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm.

    Attributes
    ----------
    name : str
        Keyword of `Solver`, and of the command line.
    low, high : int
        Least and largest value.
    default : int or None
        Value where none is given; None where it is chosen from the graph and the device.
    meaning : str
        One line for people.
    power_of_two : bool
        Whether only powers of two are taken.
    """

    name: str
    low: int
    high: int
    default: int | None
    meaning: str
    power_of_two: bool = False


def check_parameters(algorithm: type[Algorithm], given: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Raises
    ------
    QueryError
        If one is unknown, not an integer or out of range.
    """
    known = {parameter.name: parameter for parameter in algorithm.PARAMETERS}
    for name in given:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise QueryError(f"{algorithm.NAME} has no parameter {name!r}; it takes {takes}")
    values: dict[str, int | None] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None:
            values[name] = parameter.default
            continue
        if index_of(value) is None:
            raise QueryError(f"{name} is {shown(value)}; {algorithm.NAME} takes an integer")
        low, high = parameter.low, parameter.high
        number = whole_number(value, name, low, high, f"{algorithm.NAME} takes {low} to {high}")
        if parameter.power_of_two and number & (number - 1):
            raise QueryError(f"{name} is {number}; {algorithm.NAME} takes a power of two")
        values[name] = number
    return values


@dataclass(frozen=True)
class Outcome:
    """How a search went.

    Attributes
    ----------
    best : int
        Length of the way to the best target; 2**32 - 1 where there is none, or none was asked for.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    device_ms : float
        Milliseconds on the device from the reset of the distances to the last one written.
    counters : dict of str to int
        ``iterations``, and what else was counted; see `TOTALS`.
    """

    best: int
    overflow: bool
    device_ms: float
    counters: dict[str, int] = field(default_factory=dict)


class Walker(Protocol):
    """Reads paths off the distances of an algorithm's last search."""

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the seed and the target that the path joins, and the caller's ids of its arcs, in order."""

    def close(self) -> None:
        """Give back what it holds."""


class Reader(Protocol):
    """Reads the distances of some nodes off those of an algorithm's last search."""

    closed: bool

    def read(self) -> Uint32s:
        """Return the distances, in the order of the nodes."""

    def close(self) -> None:
        """Give back what it holds."""


class Labels(Protocol):
    """Finds which seed of an algorithm's last search each node is nearest to."""

    closed: bool
    most_seeds: int

    def find(self, seeds: Uint32s) -> Uint32s:
        """Return the label of each node, given node, offset and label of each seed, no node twice."""

    def close(self) -> None:
        """Give back what it holds."""


class Algorithm(Protocol):
    """A search with buffers of its own, to be run any number of times by one thread at a time."""

    NAME: ClassVar[str]
    DESCRIPTION: ClassVar[Description]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]
    #: Where it runs, ``"device"`` or ``"host"``; which kind of graph it takes follows from it.
    RUNS_ON: ClassVar[str]

    def __init__(self, graph: Any, *, counting: int = 0, **parameters: int | None) -> None:
        """Allocate buffers and make pipelines; `counting` is an index into `COUNTING`."""

    @property
    def is_current(self) -> bool:
        """Whether it may go on after weights have changed; otherwise another has to be made."""

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = ()) -> Outcome:
        """Find distances from the nearest seed to every node, or to the best target and all nodes that are nearer."""

    def read(self) -> Uint32s:
        """Return the distances of the last search, by the numbers that nodes have in the prepared graph."""

    def trace(self) -> npt.NDArray[Any]:
        """Return the iterations of the last search, of dtype `TRACE`; empty unless it counts them."""

    def walker(self) -> Walker:
        """Return a walker along the distances of this algorithm's searches."""

    def reader(self, nodes: Uint32s) -> Reader:
        """Return a reader of the distances of some nodes, by the numbers that they have in the prepared graph."""

    def cells(self, most_seeds: int) -> Labels:
        """Return what finds the nearest of so many seeds at most for all nodes."""

    def close(self) -> None:
        """Give back the buffers."""
