"""Interface of all algorithms: descriptions, parameters, searches and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.checks import index_of, shown, whole_number
from vkssp.choices import AUTO as AUTO
from vkssp.choices import COUNTING as COUNTING
from vkssp.errors import QueryError
from vkssp.graph import Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType

if TYPE_CHECKING:
    from vkssp.gpu.buffer import Buffer

#: Places where algorithms run: a Vulkan device, or the CPU by compiled code.
VULKAN, CPU = "vulkan", "cpu"
#: A seed or target: a node, and the weight between it and the place that is meant.
Terminal = tuple[int, int]
#: Largest number of seeds, and of targets, of a search for targets. A search for all distances has no limit of seeds.
MAX_TERMINALS = 64

#: A record of a trace as algorithms write it: one iteration, with the work of this iteration named in `TOTALS`.
ROW = np.dtype(
    [
        ("iteration", np.uint32),  # from 0
        ("phase", np.uint32),  # kind of iteration, if an algorithm has several; its module lists them
        ("low", np.uint32),  # range of distances in this iteration: low <= distance < high
        ("high", np.uint32),
        ("first_node", np.uint32),  # range of ids in this iteration, both ends included
        ("last_node", np.uint32),
        ("visited", np.uint32),
        ("worked", np.uint32),
        ("relaxed", np.uint32),
        ("improved", np.uint32),
    ]
)
#: A record of a trace as callers get it: the same, and the time from the end of the previous iteration to the end of
#: this one on the device's clock. The time is NaN if the device has no clock, and for algorithms on the CPU. The
#: range of distances is uint64 if distances have 64 bits.
TRACE = np.dtype([*ROW.descr, ("microseconds", np.float32)])

#: Names of the counters of work: nodes (or edges, if edges are the work items) that were visited; visited nodes or
#: edges that had arcs to relax; arcs relaxed; arcs that improved a distance.
TOTALS = ("visited", "worked", "relaxed", "improved")


def row_of(distance_type: DistanceType) -> np.dtype[Any]:
    """Return the layout of a record of a trace, like `ROW`, for distances of a type."""
    if distance_type is BITS_32:
        return ROW
    far = {"low", "high"}
    kinds = {name: ROW[name] for name in ROW.names or ()}
    return np.dtype([(name, distance_type.dtype if name in far else kind) for name, kind in kinds.items()], align=True)


def timed(rows: npt.NDArray[Any], microseconds: npt.NDArray[Any] | float) -> npt.NDArray[Any]:
    """Return records of a trace with their times."""
    result = np.empty(len(rows), [*rows.dtype.descr, TRACE.descr[-1]])
    for name in rows.dtype.names or ():
        result[name] = rows[name]
    result["microseconds"] = microseconds
    return result


@dataclass(frozen=True)
class Description:
    """Description of an algorithm for users who choose one.

    Attributes
    ----------
    idea : str
        How the algorithm works, in a sentence.
    source : str
        Publication that it comes from.
    complexity : str
        Work and number of iterations, with n nodes, m arcs, largest distance L.
    use : str
        When to choose the algorithm.
    ends_early : bool
        Whether a search for targets ends as soon as the best of them is known.
    distance_bits : tuple of int
        Bits that distances may have: 32, or also 64.
    """

    idea: str
    source: str
    complexity: str
    use: str
    ends_early: bool
    distance_bits: tuple[int, ...] = (32,)


@dataclass(frozen=True)
class Parameter:
    """Parameter of an algorithm.

    Attributes
    ----------
    name : str
        Keyword of `Solver`, and of the command line.
    low, high : int
        Least and largest value.
    default : int or None
        Default value; None if the value is chosen from the graph and the device.
    meaning : str
        Explanation in one line.
    power_of_two : bool
        Whether the value must be a power of two.
    is_distance : bool
        Whether the value is a distance, so that `high` is that for distances of 32 bits.
    """

    name: str
    low: int
    high: int
    default: int | None
    meaning: str
    power_of_two: bool = False
    is_distance: bool = False


#: Budget of labels, of the algorithms over hierarchies.
LABEL_MIB = Parameter(
    "label_mib", 0, 1 << 24, None, "memory for labels of many pairs, MiB; 0 for none, by default a part of what is free"
)


def check_parameters(
    algorithm: type[Algorithm], given: Mapping[str, Any], distance_type: DistanceType = BITS_32
) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Raises
    ------
    QueryError
        If a parameter is unknown, not an integer or out of range.
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
        low, high = parameter.low, distance_type.unreachable - 1 if parameter.is_distance else parameter.high
        number = whole_number(value, name, low, high, f"{algorithm.NAME} takes {low} to {high}")
        if parameter.power_of_two and number & (number - 1):
            raise QueryError(f"{name} is {number}; {algorithm.NAME} takes a power of two")
        values[name] = number
    return values


@dataclass(frozen=True)
class Outcome:
    """Outcome of a search.

    Attributes
    ----------
    best : int
        Weight of the path to the best target; 2**32 - 1 if no path exists or the search has no targets, or 2**64 - 1
        if distances have 64 bits.
    overflow : bool
        Whether some sum did not fit into the distances' bits.
    device_ms : float
        Milliseconds on the device from the reset of the distances to the last distance written.
    counters : dict of str to int
        ``iterations``, and the other counters; see `TOTALS`.
    """

    best: int
    overflow: bool
    device_ms: float
    counters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FinishedRows:
    """Consecutive rows whose searches have finished, in the order of their sources.

    Attributes
    ----------
    overflow : numpy.ndarray
        For each row whether a sum did not fit, shape (rows,), bool.
    read : callable
        Returns the rows, shape (rows, k), uint32 or uint64, or their aggregates, int64; on a device they stay there
        until the generator is resumed.
    sums : numpy.ndarray or None
        What the rows without overflow have together, by the caller's ids, if it is wanted: loads of arcs, shape
        (num_arcs,), or sums by node, shape (3, num_nodes); see `vkssp.prepared.aggregates`.
    place : tuple of (Buffer, sequence of (int, int)) or None
        Buffer of rows on a device, and first row and end of the spans where these rows lie until the generator is
        resumed; None on the CPU, for aggregates, and for rows by labels.
    read_into : callable or None
        Writes the rows to an array, of the shape and type of what `read` returns, and returns it; None if they have to
        be copied.
    """

    overflow: npt.NDArray[np.bool_]
    read: Callable[[], npt.NDArray[Any]]
    sums: npt.NDArray[np.int64] | None = None
    place: tuple[Buffer, Sequence[tuple[int, int]]] | None = None
    read_into: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None


class Walker(Protocol):
    """Reader of paths from the distances of an algorithm's last search."""

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the seed and the target that the path joins, and the caller's ids of its arcs, in order."""

    def close(self) -> None:
        """Release all resources."""


class Reader(Protocol):
    """Reader of the distances of some nodes in an algorithm's last search."""

    closed: bool

    def read(self) -> npt.NDArray[Any]:
        """Return the distances, in the order of the nodes."""

    def close(self) -> None:
        """Release all resources."""


class Voronoi(Protocol):
    """Finder of the seed of an algorithm's last search that is nearest to each node."""

    closed: bool
    most_seeds: int

    def find(self, seeds: npt.NDArray[Any]) -> Uint32s:
        """Return the label of each node, given node, offset and label of each seed; seeds have different nodes."""

    def close(self) -> None:
        """Release all resources."""


class Algorithm(Protocol):
    """Search with buffers of its own; one thread at a time may run it, any number of times."""

    NAME: ClassVar[str]
    DESCRIPTION: ClassVar[Description]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]
    #: Place where the search runs, `VULKAN` or `CPU`; this determines the kind of graph that it takes.
    RUNS_ON: ClassVar[str]

    def __init__(self, graph: Any, *, counting: int = 0, **parameters: Any) -> None:
        """Allocate buffers and make pipelines; `counting` is an index into `COUNTING`."""

    @property
    def is_current(self) -> bool:
        """Whether the search may be used after weights have changed; otherwise another one must be made."""

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Compute distances from the nearest seed to every node, or to the best target and all nearer nodes.

        The search may leave out nodes beyond a limit; they then have larger distances, or none.
        """

    def read(self) -> npt.NDArray[Any]:
        """Return the distances of the last search, by the ids of the renumbered graph."""

    def trace(self) -> npt.NDArray[Any]:
        """Return the iterations of the last search, of dtype `TRACE`; empty unless `counting` asks for a trace."""

    def walker(self) -> Walker:
        """Return a walker along the distances of this algorithm's searches."""

    def reader(self, nodes: Uint32s) -> Reader:
        """Return a reader of the distances of some nodes, by the ids of the renumbered graph."""

    def voronoi(self, most_seeds: int) -> Voronoi:
        """Return a finder of the nearest seed of each node, for at most `most_seeds` seeds."""

    def close(self) -> None:
        """Release the buffers."""
