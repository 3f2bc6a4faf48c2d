"""Changes of a graph's weights, by arc ids or by speeds on OSM ways as in live traffic data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import ids_among, index_of, number_of, shown
from vkssp.csv_file import csv_lines, no_columns
from vkssp.errors import FormatError, GraphError, QueryError
from vkssp.graph.csr import UNREACHABLE
from vkssp.graph.graph import Graph, checked_graph
from vkssp.graph.scaling import AUTO, GivenWeights, Scaled, given_weights, in_units, scaled
from vkssp.graph.units import MOST_UNITS
from vkssp.graph.weight_arrays import WeightArrays

_WAYS, _ARCS = ("way", "speed_kmh"), ("arc", "weight")
#: Bounds of the speed on a way in km/h. A slower street counts as closed, and a higher number as a typing error; both
#: are refused.
LOWEST_KMH, HIGHEST_KMH = 0.01, 1000.0
# A unit that rounds weights stays if new weights, times this, add up to those before or more.
_MUCH_SMALLER = 4


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


#: Ids of arcs, int64, their weights, and the summary.
SpeedWeights = tuple[npt.NDArray[np.int64], npt.NDArray[Any], Change]


def changed_weights(
    graph: Graph, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None
) -> tuple[Graph, npt.NDArray[np.int64] | None]:
    """Return a graph with other weights for all or some arcs, and the ids of these arcs, or None for all arcs.

    Weights are whole numbers, of any type, if those of the graph are, and otherwise real numbers. The unit stays the
    same where the new weights are exact in it, or rounded as the others are and not much smaller. Otherwise it is
    chosen anew or, if only some of the weights change and the others are rounded, doubled until they fit.

    Raises
    ------
    GraphError
        If an arc id or a weight is invalid, or if the number of weights is not the number of arcs.
    QueryError
        If an arc has two weights.
    """
    checked_graph(graph)
    given = given_weights(weights, graph.scale, "weights")
    values = given.values
    if arcs is None:
        if len(values) != graph.num_arcs:
            raise GraphError(f"weights has {len(values)} entries and the graph {graph.num_arcs} arcs; give one per arc")
        return graph.reweighted(_all_changed(graph, given)), None
    ids = ids_among(arcs, "arcs", "arc", graph.num_arcs).astype(np.int64)
    if len(ids) != len(values):
        raise GraphError(f"weights has {len(values)} entries and arcs {len(ids)}; give one weight per arc")
    order = np.argsort(ids, kind="stable")
    ordered, given_last = ids[order], values[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ids) else order
    last = np.repeat(given_last[ends], np.diff(ends, prepend=-1))
    torn = np.flatnonzero(given_last != last)
    if len(torn):
        first = int(torn[np.argmin(order[torn])])
        told = f"arc {ordered[first]} is to weigh {given_last[first]} and {last[first]}"
        raise QueryError(f"{told}; give one weight for each arc")
    arrays = graph.__dict__.pop("weight_arrays", None) or WeightArrays()  # the last graph has them
    changed = graph.reweighted(_some_changed(graph, given, ids, arrays), ids)
    changed.__dict__["weight_arrays"] = arrays
    return changed, ids if changed.scale == graph.scale else None


def _all_changed(graph: Graph, given: GivenWeights) -> Scaled:
    """Return weights of all arcs, if possible in the unit that the graph has."""
    if graph.scale is None or given.eps is None:
        return Scaled(given.values, None, 0.0)
    if _fit(given, graph.scale):
        kept = in_units(given.values, graph.scale, given.eps)
        is_fine = graph.weight_error > 0 and _MUCH_SMALLER * int(kept.weight.sum()) >= int(graph.weight.sum())
        if kept.error == 0 or (is_fine and kept.error <= graph.max_weight_error):
            return kept
    return scaled(given, AUTO, graph.first_out, graph.head, graph.max_weight_error)


def _some_changed(
    graph: Graph, given: GivenWeights, ids: npt.NDArray[np.int64], arrays: WeightArrays | None = None
) -> Scaled:
    """Return weights of all arcs, of which some are given, if possible in the unit that the graph has."""
    part = Scaled(given.values, None, 0.0)
    if graph.scale is not None and given.eps is not None:
        fit = _fit(given, graph.scale)
        known, most = graph.weight_error, graph.max_weight_error
        if not fit and known and math.isinf(most):
            return _some_changed(_coarse_enough(graph, given), given, ids)
        if fit:
            part = in_units(given.values, graph.scale, given.eps)
        if not fit or part.error > (most if known else 0.0):  # exact weights are exact in other units, too
            whole = graph.units.sums(graph.weight)
            whole[ids] = given.values
            found = scaled(GivenWeights(own(whole), given.eps), AUTO, graph.first_out, graph.head, most - known)
            return found._replace(error=found.error + known)
    weight = (arrays or WeightArrays()).changed(graph.weight, ids, part.weight)
    return Scaled(weight, graph.scale, max(graph.weight_error, part.error))


def _coarse_enough(graph: Graph, given: GivenWeights) -> Graph:
    """Return the graph in units, doubled as often as it takes, in which weights fit into 32 bits."""
    while graph.scale is not None and not _fit(given, graph.scale):
        graph = graph.coarsened()
    return graph


def _fit(given: GivenWeights, scale: float) -> bool:
    """Return whether weights fit into 32 bits in a unit."""
    return float(given.values.max(initial=0.0)) <= MOST_UNITS * scale


def speed_weights(graph: Graph, speeds: Mapping[int, float]) -> SpeedWeights:
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
        Their weights, shape (k,), uint32, or float64 if the graph's weights are real numbers.
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


def _speed_weights(graph: Graph, ways: npt.NDArray[np.int64], speed: npt.NDArray[np.float64]) -> SpeedWeights:
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
    if streets.turn_weight is not None:
        weights = np.maximum(weights + streets.turn_weight[arcs], 1.0)
    if len(weights) and not weights.max() < UNREACHABLE:
        at = int(which[np.argmax(weights)])
        raise QueryError(f"at {speed[at]:g} km/h way {ways[at]} takes longer than 32 bits hold; give a higher speed")
    return arcs, graph.units.sums(weights.astype(np.uint32)), Change(len(arcs), len(ways), unknown)


def with_traffic(graph: Graph, path: str | Path) -> tuple[Graph, Change]:
    """Return a graph with weights changed by a file, and a summary of the change.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : str or Path
        A table of comma-separated values whose first line names the columns: ``way`` and ``speed_kmh`` (see
        `speed_weights`), or ``arc`` and ``weight``, a whole number if those of the graph are. Other columns are
        ignored.

    Raises
    ------
    FormatError
        If the file is missing or is not such a table; the message names the line.
    GraphError, QueryError
        If the contents do not fit the graph; see `changed_weights` and `speed_weights`.
    """
    checked_graph(graph)
    names, first, second = _read(path, is_whole=graph.scale is None)
    if names == _ARCS:
        return changed_weights(graph, second, first)[0], Change(len(first), 0, 0)
    arcs, weights, change = _speed_weights(graph, first, second)
    return changed_weights(graph, weights, arcs)[0], change


def _read(
    path: str | Path, *, is_whole: bool
) -> tuple[tuple[str, str], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
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
                if names == _ARCS and not (math.isfinite(value) and (not is_whole or value == int(value))):
                    raise ValueError
                values.append(value)
            except (ValueError, IndexError):
                what = "a way and a speed" if names == _WAYS else f"an arc and a {'whole ' * is_whole}weight"
                raise FormatError(f"{path}, line {lines.line_num}: {','.join(line)[:60]!r} is not {what}") from None
    try:
        return names, np.array(numbers, np.int64), np.array(values, np.float64)
    except OverflowError:
        raise FormatError(f"{path} has an id that does not fit into 64 bits; correct it") from None
