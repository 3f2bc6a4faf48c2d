"""Changes of a graph's weights, by arc ids or by speeds on OSM ways as in live traffic data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import ids_among, index_of, number_of, shown, whole_numbers
from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError, GraphError, QueryError
from vkssp.graph.csr import UNREACHABLE, Uint32s
from vkssp.graph.graph import Graph, checked_graph

_WAYS, _ARCS = ("way", "speed_kmh"), ("arc", "weight")
#: Bounds of the speed on a way in km/h. A slower street counts as closed, and a higher number as a typing error; both
#: are refused.
LOWEST_KMH, HIGHEST_KMH = 0.01, 1000.0


@dataclass(frozen=True)
class Change:
    """Summary of a change of weights.

    Attributes
    ----------
    arcs : int
        Number of arcs that were given weights.
    ways : int
        Number of ways that were given, or 0 if weights were given by arcs.
    unknown : int
        Number of the given ways that the graph does not have.
    """

    arcs: int
    ways: int
    unknown: int


def changed_weights(
    graph: Graph, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None
) -> tuple[Graph, npt.NDArray[np.int64] | None]:
    """Return a graph with other weights for all or some arcs, and the ids of these arcs, or None for all arcs.

    Raises
    ------
    GraphError
        If an arc id or a weight is invalid, or if the number of weights is not the number of arcs.
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
    """Return the arcs of OSM ways, in both directions, and their weights at given speeds.

    The new weight of an arc is the duration of its length at the speed, plus the unchanged weight of the turn into it.
    Arcs of length 0, which stand for the time that gates take, keep their weights.

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
        Numbers of changed arcs, of given ways, and of ways that the graph does not have.

    Raises
    ------
    QueryError
        If the graph has no streets or no durations, if a speed is out of range or so low that a weight does not fit
        into 32 bits, or if the graph has none of the ways.
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
    with np.errstate(over="ignore"):  # infinity is refused below
        units = np.rint(streets.length[arcs] * 3.6 / speed[which] / streets.seconds_per_weight)
    weights = np.maximum(units, 1.0)
    if streets.turn is not None:
        weights += streets.turn[arcs]
    if len(weights) and not weights.max() < UNREACHABLE:
        at = int(which[np.argmax(weights)])
        raise QueryError(f"at {speed[at]:g} km/h way {ways[at]} takes longer than 32 bits hold; give a higher speed")
    return arcs, weights.astype(np.uint32), Change(len(arcs), len(ways), unknown)


def with_traffic(graph: Graph, path: str | Path) -> tuple[Graph, Change]:
    """Return a graph with weights changed by a file, and a summary of the change.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : str or Path
        A table of comma-separated values whose first line names the columns: ``way`` and ``speed_kmh`` (see
        `speed_weights`), or ``arc`` and ``weight``. Other columns are ignored.

    Raises
    ------
    FormatError
        If the file is missing or is not such a table; the message names the line.
    GraphError, QueryError
        If the contents do not fit the graph; see `changed_weights` and `speed_weights`.
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
    """Return the names of a file's two columns, and the columns."""
    numbers: list[int] = []
    values: list[float] = []
    with csv_lines(path) as lines:
        header = [name.strip().lower() for name in next(lines, [])]
        names = next((pair for pair in (_WAYS, _ARCS) if set(pair) <= set(header)), None)
        if names is None:
            raise no_columns(path, "way,speed_kmh or arc,weight", header)
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
