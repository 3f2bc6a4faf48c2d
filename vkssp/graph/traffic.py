"""Other weights for a graph's arcs, by the arcs' ids or by the speeds on OSM ways, as live traffic has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import ids_among, index_of, number_of, shown, whole_numbers
from vkssp.csv_file import csv_lines
from vkssp.errors import FormatError, GraphError, QueryError
from vkssp.graph.csr import UNREACHABLE, Uint32s
from vkssp.graph.graph import Graph, checked_graph

_WAYS, _ARCS = ("way", "speed_kmh"), ("arc", "weight")
#: Bounds of the speed on a way in km/h; a slower street is closed, and a higher number is a slip of the keyboard.
LOWEST_KMH, HIGHEST_KMH = 0.01, 1000.0


@dataclass(frozen=True)
class Change:
    """What became of other speeds.

    Attributes
    ----------
    arcs : int
        How many arcs have other weights now.
    ways : int
        How many ways were given, or 0 where weights were given by arcs.
    unknown : int
        How many of them the graph does not have.
    """

    arcs: int
    ways: int
    unknown: int


def changed_weights(
    graph: Graph, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None
) -> tuple[Graph, npt.NDArray[np.int64] | None]:
    """Return a graph with other weights for all arcs, or some, and the ids of those, None for all.

    Raises
    ------
    GraphError
        If there is no such arc or weight, or there are not as many weights as arcs.
    QueryError
        If an arc has two weights.
    """
    checked_graph(graph)
    if arcs is None:
        return graph.with_weights(weights), None
    ids = ids_among(arcs, "arcs", "arc", graph.num_arcs).astype(np.int64)
    values = whole_numbers(weights, "weights", "weights", UNREACHABLE - 1)
    if len(ids) != len(values):
        raise GraphError(f"weights has {len(values)} entries and arcs {len(ids)}; give one weight per arc")
    whole = graph.weight.copy()
    whole[ids] = values
    torn = np.flatnonzero(whole[ids] != values)
    if len(torn):
        at = int(torn[0])
        raise QueryError(f"arc {ids[at]} is to weigh {values[at]} and {whole[ids[at]]}; give one weight for each arc")
    return graph.with_weights(own(whole)), ids


def speed_weights(graph: Graph, speeds: Mapping[int, float]) -> tuple[npt.NDArray[np.int64], Uint32s, Change]:
    """Return the arcs of OSM ways and what they weigh where the ways are travelled at some speeds, both ways.

    An arc takes its length at that speed, and the turn into it as before. The links that stand for the time that gates
    take have no length, and stay as they are.

    Parameters
    ----------
    graph : Graph
        A graph of an extract, with durations for weights.
    speeds : mapping of int to float
        Speed in km/h for OSM way ids, from 0.01 to 1000.

    Returns
    -------
    arcs : numpy.ndarray
        Arc ids, shape (k,), int64.
    weights : numpy.ndarray
        Their weights, shape (k,), uint32.
    change : Change
        How many of the ways the graph has.

    Raises
    ------
    QueryError
        If the graph has no streets or no durations, a speed is out of range or so low that a weight does not fit into
        32 bits, or the graph has none of the ways.
    """
    checked_graph(graph)
    try:
        ways = np.fromiter(map(index_of, speeds), np.int64, len(speeds))
        speed = np.fromiter(map(number_of, speeds.values()), np.float64, len(speeds))
    except (AttributeError, TypeError, ValueError, OverflowError):
        cure = "give a mapping of OSM way ids to km/h, such as {4711: 30.0}"
        raise QueryError(f"speeds is {shown(speeds)}; {cure}") from None
    return _speed_weights(graph, ways, speed)


def _speed_weights(
    graph: Graph, ways: npt.NDArray[np.int64], speed: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], Uint32s, Change]:
    streets = graph.streets
    if streets is None or not streets.seconds_per_weight > 0:
        raise QueryError("the graph has no OSM ways with durations, so speeds mean nothing in it; set weights by arcs")
    wrong = np.flatnonzero(~((speed >= LOWEST_KMH) & (speed <= HIGHEST_KMH)))  # NaN is neither
    if len(wrong):
        at = int(wrong[0])
        bounds = f"{LOWEST_KMH:g} to {HIGHEST_KMH:g}"
        raise QueryError(f"the speed on way {ways[at]} is {speed[at]:g} km/h; give a number from {bounds}")
    order = np.argsort(ways, kind="stable")
    torn = np.flatnonzero((np.diff(ways[order]) == 0) & (np.diff(speed[order]) != 0))
    if len(torn):
        one, other = order[torn[0] : torn[0] + 2].tolist()
        raise QueryError(
            f"way {ways[one]} has the speeds {speed[one]:g} and {speed[other]:g} km/h; give one for each way"
        )
    arcs, which = streets.arcs_of_ways(ways)
    known = np.zeros(len(ways), np.bool_)
    known[which] = True
    unknown = len(ways) - int(np.count_nonzero(known))
    if len(ways) and unknown == len(ways):
        raise QueryError(f"the graph has none of the {len(ways)} ways, such as {ways[0]}; give ids of OSM ways on it")
    moving = streets.length[arcs] > 0
    arcs, which = arcs[moving], which[moving]
    with np.errstate(over="ignore"):  # infinite is too long, too
        units = np.rint(streets.length[arcs] * 3.6 / speed[which] / streets.seconds_per_weight)
    weights = np.maximum(units, 1.0)
    if streets.turn is not None:
        weights += streets.turn[arcs]
    if len(weights) and not weights.max() < UNREACHABLE:
        at = int(which[np.argmax(weights)])
        raise QueryError(f"at {speed[at]:g} km/h way {ways[at]} takes longer than 32 bits hold; give a higher speed")
    return arcs, weights.astype(np.uint32), Change(len(arcs), len(ways), unknown)


def with_traffic(graph: Graph, path: str | Path) -> tuple[Graph, Change]:
    """Return a graph with the weights that a file changes.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : str or Path
        A table of comma-separated values with a line that names the columns: ``way`` and ``speed_kmh``, see
        `speed_weights`, or ``arc`` and ``weight``. Other columns are passed over.

    Raises
    ------
    FormatError
        If the file is missing or no such table; the message names the line.
    GraphError, QueryError
        If what it holds does not suit the graph; see `changed_weights` and `speed_weights`.
    """
    checked_graph(graph)
    names, first, second = _read(path)
    if names == _ARCS:
        changed, arcs = changed_weights(graph, second, first)
        assert arcs is not None
        return changed, Change(len(arcs), 0, 0)
    arcs, weights, change = _speed_weights(graph, first, second)
    return changed_weights(graph, weights, arcs)[0], change


def _read(path: str | Path) -> tuple[tuple[str, str], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return which two columns a file has, and both."""
    numbers: list[int] = []
    values: list[float] = []
    with csv_lines(path) as lines:
        header = [name.strip().lower() for name in next(lines, [])]
        names = next((pair for pair in (_WAYS, _ARCS) if set(pair) <= set(header)), None)
        if names is None:
            raise FormatError(
                f"{path} has no columns way,speed_kmh or arc,weight in its first line; name them, with commas"
            )
        places = [header.index(name) for name in names]
        for line in lines:
            if not line:
                continue
            try:
                numbers.append(int(line[places[0]]))
                value = float(line[places[1]])
                if names == _ARCS and not (math.isfinite(value) and value == int(value)):
                    raise ValueError
                values.append(value)
            except (ValueError, IndexError):
                what = "a way and a speed" if names == _WAYS else "an arc and a whole weight"
                raise FormatError(f"{path}, line {lines.line_num}: {','.join(line)[:60]!r} is not {what}") from None
    try:
        return names, np.array(numbers, np.int64), np.array(values, np.float64)
    except OverflowError:
        raise FormatError(f"{path} has an id that does not fit into 64 bits; correct it") from None
