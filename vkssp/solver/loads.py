"""Loads of arcs: betweenness, and flows of a demand, along the shortest paths that the project's walkers find."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.checks import flag, ids_among, is_many, listed, shown, values_of_arcs
from vkssp.cores import num_cores
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import rows_of
from vkssp.memory import require
from vkssp.prepared.aggregates import MISSED, SENT, ArcLoads, Int64s, Watch
from vkssp.prepared.seed_groups import Demand, Groups
from vkssp.prepared.terminals import nodes_of
from vkssp.solver.accessibility import blocks_of_sums
from vkssp.solver.demand import SUM_BITS, entries_of
from vkssp.solver.sampling import drawn, probability
from vkssp.solver.tables import RowSource

# Most selections, each a bit.
_MOST_SETS = 64


@dataclass(frozen=True, eq=False)
class Betweenness:
    """Number of shortest paths over each arc and through each node, one path for each pair of nodes.

    Attributes
    ----------
    arcs : numpy.ndarray
        Number of pairs whose path takes each arc, shape (num_arcs,), int64.
    nodes : numpy.ndarray
        Number of pairs whose path leads through each node and neither begins nor ends there, shape (num_nodes,), int64.
    num_pairs : int
        Number of pairs that a path joins.
    num_sources : int
        Number of nodes at which paths begin.
    """

    __repr__ = brief

    arcs: Int64s
    nodes: Int64s
    num_pairs: int
    num_sources: int

    @property
    def scale(self) -> float:
        """Number of all nodes for each source: with a sample of sources, numbers times this estimate those of all."""
        return len(self.nodes) / max(1, self.num_sources)

    def error(self, confidence: float = 0.95) -> float:
        """Return by how much numbers times `scale` are wrong at most, if sources are drawn at random.

        The bound holds for all arcs and nodes at once, with a probability. A source adds at most one to a number for
        each other node (U. Brandes, C. Pich, Centrality estimation in large networks, 2007; W. Hoeffding, Probability
        inequalities for sums of bounded random variables, 1963). Most errors are much smaller.

        Parameters
        ----------
        confidence : float
            The probability, between 0 and 1.

        Returns
        -------
        float
            The bound; 0 if all nodes are sources.
        """
        share, most, count = probability(confidence), len(self.nodes), self.num_sources
        if count == 0 or count == most:
            return 0.0 if count else math.inf
        tries = 2 * (len(self.arcs) + most) / (1 - share)
        return most * (most - 1) * math.sqrt(math.log(tries) / (2 * count))


@dataclass(frozen=True, eq=False)
class Turns:
    """Loads of turns: of an arc and the next arc on a path. Only turns with a load are listed.

    Attributes
    ----------
    before, after : numpy.ndarray
        Ids of both arcs, shape (k,), int64, sorted by `after`, then by `before`.
    load : numpy.ndarray
        Load of each turn, shape (k,), of the type of `Flows.arcs`.
    """

    __repr__ = brief

    before: Int64s
    after: Int64s
    load: npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Flows:
    """Loads of arcs, and what else was asked for.

    Attributes
    ----------
    arcs : numpy.ndarray
        Load of each arc, shape (num_arcs,); int64 if the demand is of integers, or else float64.
    unreached : int or float
        Demand between nodes that no path joins.
    skims : dict of str to array
        For each name the sums of the arcs' values along the path of each pair, in the shape of the demand, float64; NaN
        where no path leads. They are added in the order of the path.
    selected : numpy.ndarray or None
        For each selection the load of each arc by the demand whose path has a selected arc, shape (k, num_arcs).
    is_selected : list of array or None
        For each selection whether the path of each pair with a demand has a selected arc, in the shape of the demand,
        bool.
    turns : Turns or None
        Loads of turns.
    """

    __repr__ = brief

    arcs: npt.NDArray[Any]
    unreached: Any
    skims: dict[str, Any] = field(default_factory=dict)
    selected: npt.NDArray[Any] | None = None
    is_selected: list[Any] | None = None
    turns: Turns | None = None


def arc_loads(
    source: RowSource, groups: Groups, aggregate: ArcLoads, limit: int = UNREACHABLE
) -> tuple[Int64s, Int64s]:
    """Return what `ArcLoads` has of each group of seeds, shape (groups, 2), and all sums, loads of arcs first.

    Distances beyond `limit` do not count; without one, a distance that does not fit into 32 bits is an error.
    """
    if aggregate.watch is not None:
        # Those of each core, and of all together.
        size = 8 * (num_cores() + 2) * _num_sums(source.graph, aggregate.watch)
        require(size, "loads of arcs and turns", "leave turns out, since nodes with many arcs have many of them")
    rows, sums, at = np.zeros((len(groups), aggregate.width), np.int64), np.zeros(0, np.int64), 0
    for block in blocks_of_sums(source, groups, (aggregate,), limit):
        rows[at : at + len(block)] = block.distances
        at += len(block)
        if block.sums is not None:
            sums = sums + block.sums if len(sums) else block.sums
    return rows, sums if len(sums) else np.zeros(_num_sums(source.graph, aggregate.watch), np.int64)


def _num_sums(graph: Graph, watch: Watch | None) -> int:
    if watch is None:
        return graph.num_arcs
    num_turns = int(_arcs_before(graph).sum()) if watch.has_turns else 0
    return (1 + watch.num_sets) * graph.num_arcs + num_turns


def _arcs_before(graph: Graph) -> Int64s:
    """Return the number of arcs into the tail of each arc, shape (num_arcs,), int64."""
    return np.bincount(graph.head, minlength=graph.num_nodes)[graph.tail]


def betweenness(
    source: RowSource, sources: npt.ArrayLike | None, limit: float | None, sample: int | None, seed: int
) -> Betweenness:
    """Return the betweenness of arcs and nodes; see `vkssp.Solver.betweenness`."""
    graph = source.graph
    most = graph.units.limit(limit)
    nodes = np.arange(graph.num_nodes, dtype=np.uint32) if sources is None else nodes_of(graph, sources, "sources")
    if sample is not None:
        if sources is not None:
            raise QueryError("both sources and sample are given; give one of them")
        nodes = drawn(nodes, sample, seed)
    nodes = np.sort(nodes)  # trees of near sources, which often have similar ids, are alike
    require(16 * len(nodes), f"the betweenness from {len(nodes):,} nodes", "ask for fewer")
    rows, loads = arc_loads(source, Groups.of_nodes(nodes), ArcLoads(min(most, UNREACHABLE - 1)), most)
    # What leaves a node either begins there or comes through it.
    through = np.zeros(graph.num_nodes, np.int64)
    np.add.at(through, graph.tail, loads)
    np.subtract.at(through, nodes, rows[:, SENT])
    return Betweenness(loads, through, int(rows[:, SENT].sum()), len(nodes))


def flows(
    source: RowSource,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    demand: Any,
    skims: Mapping[str, npt.ArrayLike] | None,
    select: Any,
    turns: bool,
) -> Flows:
    """Return the loads of a demand; see `vkssp.Solver.flows`."""
    graph = source.graph
    begin, end = nodes_of(graph, sources, "sources"), nodes_of(graph, targets, "targets")
    values, sets, has_turns = _values(graph, skims), _sets(graph, select), flag(turns, "turns")
    entries = entries_of(demand, begin, end, graph.num_nodes, whole=bool(values))
    watch = None
    if values or select is not None or has_turns:
        watch = _watch(graph, values, sets, has_turns, len(entries.nodes))
    fixed, exponent = entries.fixed()
    wanted = Demand(entries.first, entries.nodes, fixed)
    total = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(fixed)])[entries.first])
    most = int(total.max(initial=0)), int(np.diff(entries.first).max(initial=0))
    groups = Groups.of_nodes(entries.sources).wanting(wanted)
    rows, sums = arc_loads(source, groups, ArcLoads(UNREACHABLE - 1, False, *most, watch))
    missed, found = int(rows[:, MISSED].sum()), sums
    is_real = entries.amount.dtype.kind == "f"
    if is_real:
        found = np.ldexp(sums.astype(np.float64), -exponent)
    unreached = float(np.ldexp(float(missed), -exponent)) if is_real else missed
    loads, rest = found[: graph.num_arcs], found[graph.num_arcs :]
    if watch is None:
        return Flows(loads, unreached)
    num_chosen = watch.num_sets * graph.num_arcs
    bits = [(watch.met >> np.uint64(bit)).astype(np.uint8) & 1 == 1 for bit in range(watch.num_sets)]
    return Flows(
        loads,
        unreached,
        {name: entries.shaped(np.ascontiguousarray(watch.sums[:, at])) for at, name in enumerate(values)},
        rest[:num_chosen].reshape(watch.num_sets, graph.num_arcs) if select is not None else None,
        [entries.shaped(is_met) for is_met in bits] if select is not None else None,
        _turns(graph, rest[num_chosen:]) if has_turns else None,
    )


def flows_of(source: RowSource, parts: Iterable[Any], select: Any, turns: bool) -> Flows:
    """Return the loads of a demand that comes in parts; see `vkssp.Solver.flows_of`."""
    graph = source.graph
    sets, has_turns = _sets(graph, select), flag(turns, "turns")
    try:
        each = enumerate(parts)
    except TypeError:
        what = "give sources, targets and demand of each part, as from read_demand"
        raise QueryError(f"parts is {shown(parts)}; {what}") from None
    none = np.zeros(0, np.int64)
    found = Flows(
        np.zeros(graph.num_arcs, np.int64),
        0,
        selected=None if select is None else np.zeros((len(sets), graph.num_arcs), np.int64),
        turns=Turns(none, none, none) if has_turns else None,
    )
    with source.holding():
        for number, part in each:
            given = listed(part, f"parts[{number}]", "arrays")
            if len(given) != 3:
                raise QueryError(f"parts[{number}] has {len(given)} items; give sources, targets and demand")
            begin, end, demand = given
            one = flows(source, begin, end, demand, None, None if select is None else sets, has_turns)
            found = sum_of_flows(found, one)
    return found


def sum_of_flows(one: Flows, other: Flows) -> Flows:
    """Return the sums of the loads of two parts of a demand, without values of pairs."""
    if isinstance(one.unreached, int) and isinstance(other.unreached, int):
        most = max(int(one.arcs.max(initial=0)) + int(other.arcs.max(initial=0)), one.unreached + other.unreached)
        if most >= 2**SUM_BITS:
            raise QueryError("demand has a sum beyond 2**62; divide it by a factor")
    selected, turns = None, None
    if one.selected is not None and other.selected is not None:
        selected = one.selected + other.selected
    if one.turns is not None and other.turns is not None:
        pairs = [np.stack([turns.after, turns.before]) for turns in (one.turns, other.turns)]
        (after, before), which = np.unique(np.concatenate(pairs, axis=1), axis=1, return_inverse=True)
        load = np.zeros(len(after), np.result_type(one.turns.load, other.turns.load))
        np.add.at(load, which.reshape(-1), np.concatenate([one.turns.load, other.turns.load]))
        turns = Turns(before, after, load)
    return Flows(one.arcs + other.arcs, one.unreached + other.unreached, {}, selected, None, turns)


def _watch(
    graph: Graph, values: dict[str, npt.NDArray[np.float64]], sets: list[Uint32s], has_turns: bool, num_entries: int
) -> Watch:
    cure = "give the demand in parts, or ask for less"
    require(num_entries * (8 * len(values) + 8), f"values along the paths of {num_entries:,} pairs", cure)
    marks = np.zeros(graph.num_arcs, np.uint64)
    for bit, arcs in enumerate(sets):
        marks[arcs] |= np.uint64(1 << bit)
    table = np.stack(list(values.values()), axis=1) if values else np.zeros((graph.num_arcs, 0))
    sums, met = np.full((num_entries, len(values)), np.nan), np.zeros(num_entries, np.uint64)
    return Watch(table, marks, len(sets), has_turns, sums, met)


def _values(graph: Graph, skims: Mapping[str, npt.ArrayLike] | None) -> dict[str, npt.NDArray[np.float64]]:
    """Return checked values of arcs by name."""
    if skims is None:
        return {}
    found = values_of_arcs(skims, "skims", graph.num_arcs)
    for name, values in found.items():
        if not np.isfinite(values).all():
            raise QueryError(f"skims[{name!r}] has values that are not finite; give numbers")
    return found


def _sets(graph: Graph, select: Any) -> list[Uint32s]:
    """Return checked sets of arcs, each given as the id of an arc or as a list of them."""
    if select is None:
        return []
    sets = listed(select, "select", "arcs, or lists of arcs")
    if len(sets) > _MOST_SETS:
        raise QueryError(f"select has {len(sets)} selections; give at most {_MOST_SETS} at once")
    return [
        ids_among(arcs if is_many(arcs) else [arcs], f"select[{at}]", "arcs", graph.num_arcs, QueryError)
        for at, arcs in enumerate(sets)
    ]


def _turns(graph: Graph, loads: npt.NDArray[Any]) -> Turns:
    """Return the turns that have a load, given the loads of all of them; see `Watch.has_turns`."""
    count = _arcs_before(graph)
    first, by_head = rows_of(graph.head, graph.num_nodes)
    at = np.flatnonzero(loads)
    end = np.cumsum(count)
    after = np.searchsorted(end, at, side="right")
    before = by_head[first[graph.tail[after]].astype(np.int64) + at - (end - count)[after]]
    return Turns(before.astype(np.int64), after.astype(np.int64), loads[at])
