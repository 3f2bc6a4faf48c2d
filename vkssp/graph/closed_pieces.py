"""Streets of which pieces between two OSM nodes are closed: they are cut there, and what is left stays open."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.csr import rows_of
from vkssp.graph.graph import Graph
from vkssp.graph.streets import COORDINATE_SCALE, Streets

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class _Part(NamedTuple):
    """Part of an arc: the arc, its new polyline, the nodes that it joins, its share by length, and its own units."""

    arc: int
    line: int
    tail: int
    head: int
    share: float
    units: int
    begins: bool


def without_pieces(graph: Graph, closed: Bools) -> Graph:
    """Return a graph without pieces of streets.

    A street is cut at the ends of its closed pieces. There new nodes are, with the greatest numbers, from which trips
    may start and at which they may end. All other nodes keep their numbers.

    Parameters
    ----------
    graph : Graph
        A graph with streets.
    closed : numpy.ndarray
        Whether the piece of a polyline after each point is closed, along the polyline and against it, shape
        (num_points, 2), bool.
    """
    streets = graph.streets
    assert streets is not None
    bounds = streets.polyline_first.astype(np.int64)
    point_of = np.flatnonzero(closed.any(axis=1))
    lines = np.unique(np.searchsorted(bounds, point_of, "right") - 1)
    is_cut = np.isin(streets.polyline, lines.astype(np.uint32))
    new = _NewStreets(graph, streets, closed)
    by_line = np.argsort(streets.polyline[is_cut], kind="stable")
    arcs = np.flatnonzero(is_cut)[by_line]
    first = np.searchsorted(streets.polyline[arcs], lines)
    for line, some in zip(lines.tolist(), np.split(arcs, first[1:]), strict=True):
        new.cut(line, some.tolist())
    return new.joined(np.flatnonzero(~is_cut))


class _NewStreets:
    """Parts of streets that are cut, collected street by street."""

    def __init__(self, graph: Graph, streets: Streets, closed: Bools) -> None:
        self._graph, self._streets, self._closed = graph, streets, closed
        self._parts: list[_Part] = []
        self._lines: list[tuple[int, int]] = []  # the first and the last point of each new polyline
        self._nodes: dict[tuple[int, ...], int] = {}
        self._head_of: list[int] = []  # for each new node, the node whose memory and layer it has
        self._point_of: list[int] = []

    def cut(self, line: int, arcs: list[int]) -> None:
        """Cut one street, given its arcs."""
        streets, graph = self._streets, self._graph
        begin, end = (int(one) for one in streets.polyline_first[line : line + 2])
        state = self._closed[begin : end - 1]
        stops = [begin, *(begin + 1 + np.flatnonzero((state[1:] != state[:-1]).any(axis=1))).tolist(), end - 1]
        number = len(streets.polyline_first) - 1 + len(self._lines)
        self._lines += list(pairwise(stops))
        lat, lon = (streets.points[begin:end] * COORDINATE_SCALE).T
        passed = np.concatenate([np.zeros(1), np.cumsum(streets.measure(lat[:-1], lon[:-1], lat[1:], lon[1:]))])
        whole = float(passed[-1])
        for arc in arcs:
            turns = streets.turn_weight
            side, turn = int(streets.backward[arc]), 0 if turns is None else int(turns[arc])
            own_units = int(graph.weight[arc]) - turn
            units = None
            if streets.piece_weight is not None:
                pieces = streets.piece_weight[begin : end - 1, side]
                units = pieces if int(pieces.sum()) == own_units else None
            runs = list(range(len(stops) - 1))
            order = runs[::-1] if side else runs
            ends = int(graph.tail[arc]), int(graph.head[arc])
            nodes = [ends[0], *(self._node(line, stops[run + (not side)], arc, ends) for run in order[:-1]), ends[1]]
            for place, run in enumerate(order):
                low, high = stops[run] - begin, stops[run + 1] - begin
                if self._closed[stops[run], side]:
                    continue
                share = float(passed[high] - passed[low]) / whole if whole > 0 else 1.0 / len(runs)
                of_run = round(share * own_units) if units is None else int(units[low:high].sum())
                part = _Part(arc, number + run, nodes[place], nodes[place + 1], share, max(of_run, 1), place == 0)
                self._parts.append(part)

    def _node(self, line: int, point: int, arc: int, ends: tuple[int, int]) -> int:
        """Return the node at a point of a street; if nodes remember how they are reached, each arc has its own."""
        key = (line, point, arc) if self._streets.junction is not None else (line, point, min(ends), max(ends))
        if key not in self._nodes:
            self._nodes[key] = self._graph.num_nodes + len(self._nodes)
            self._head_of.append(ends[1])
            self._point_of.append(point)
        return self._nodes[key]

    def joined(self, kept: Ints) -> Graph:
        """Return the graph of the arcs that are kept and of all parts."""
        graph, streets, parts = self._graph, self._streets, self._parts
        arc = np.concatenate([kept, np.array([part.arc for part in parts], np.int64)])
        rows = slice(len(kept), None)
        share = np.ones(len(arc))
        share[rows] = [part.share for part in parts]
        begins = np.ones(len(arc), np.bool_)
        begins[rows] = [part.begins for part in parts]
        tail, head = graph.tail[arc].astype(np.int64), graph.head[arc].astype(np.int64)
        tail[rows], head[rows] = [part.tail for part in parts], [part.head for part in parts]
        values: dict[str, Any] = {one.name: getattr(streets, one.name) for one in fields(streets)}
        values |= {
            name: values[name][arc] for name in (*Streets.PER_ARC, *Streets.PER_ARC_OR_NONE) if values[name] is not None
        }
        values["polyline"][rows] = [part.line for part in parts]
        values["length"] = (values["length"] * share).astype(np.float32)
        turn = np.zeros(len(arc), np.int64)
        for name, sign in (("turn", 1), ("turn_bonus", -1)):
            if values[name] is not None:
                values[name] = np.where(begins, values[name], 0).astype(np.uint32)
                turn += sign * values[name].astype(np.int64)
        weight = graph.weight[arc].astype(np.uint32)
        weight[rows] = np.maximum([part.units for part in parts] + turn[rows], 1)
        if streets.seconds is not None:
            of_turn = np.zeros(len(arc), np.float32)
            if streets.turn_seconds is not None:
                driven = values["seconds"] - values["turn_seconds"]
                of_turn = values["turn_seconds"] = np.where(begins, values["turn_seconds"], 0).astype(np.float32)
            else:
                driven = values["seconds"]
            values["seconds"] = (driven * share + of_turn).astype(np.float32)
        values |= self._points()
        values |= self._of_nodes()
        first_out, by_tail = rows_of(tail.astype(np.uint32), graph.num_nodes + len(self._nodes))
        places = np.array(self._point_of, np.int64)
        lat, lon = (streets.points[places] * COORDINATE_SCALE).T
        assert graph.lat is not None and graph.lon is not None
        found = Graph.from_csr(
            own(first_out),
            head[by_tail].astype(np.uint32),
            weight[by_tail],
            lat=np.concatenate([graph.lat, lat]),
            lon=np.concatenate([graph.lon, lon]),
            streets=Streets(**values).take(by_tail),
        )
        return replace(found, scale=graph.scale)

    def _points(self) -> dict[str, Any]:
        """Return the arrays of `Streets` about polylines, with the new ones."""
        streets = self._streets
        at = [np.arange(first, last + 1) for first, last in self._lines]
        count = np.array([len(some) for some in at], np.int64)
        added = np.concatenate(at) if at else np.zeros(0, np.int64)
        bounds = streets.polyline_first.astype(np.int64)
        found: dict[str, Any] = {
            "polyline_first": np.concatenate([bounds, bounds[-1] + np.cumsum(count)]).astype(np.uint32),
            "points": np.concatenate([streets.points, streets.points[added]]),
        }
        is_last = np.zeros(len(added), np.bool_)
        is_last[np.cumsum(count) - 1] = True
        for name in ("point_node", "piece_weight", "piece_seconds", "source"):
            array = getattr(streets, name)
            if array is not None:
                more = array[added].copy()
                if name != "point_node":
                    more[is_last] = 0
                found[name] = np.concatenate([array, more])
        return found

    def _of_nodes(self) -> dict[str, Any]:
        """Return the arrays of `Streets` with an entry for each node, with the new ones."""
        streets, found = self._streets, {}
        point, alike = np.array(self._point_of, np.int64), np.array(self._head_of, np.int64)
        for name in Streets.PER_NODE_OR_NONE:
            array = getattr(streets, name)
            if array is None:
                continue
            if name == "memory":
                array = _with_short_ones_first(self._graph, array)
            more = array[alike]
            if name == "node" and streets.point_node is not None:
                more = streets.point_node[point]
            elif name == "junction":
                _, place = np.unique(point, return_inverse=True)
                more = (int(array.max(initial=0)) + 1 + place).astype(array.dtype)
            found[name] = np.concatenate([array, more])
        return found


def _with_short_ones_first(graph: Graph, memory: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return memories numbered anew, those of at most one street first.

    A memory to which an arc leads from a node without one is of no more than this arc. In graphs of older versions
    nothing else tells so, and the arc may be one that is cut.
    """
    values, number = np.unique(np.append(np.uint32(0), memory), return_inverse=True)
    number, is_longer = number[1:], np.ones(len(values), np.bool_)
    is_longer[0] = False
    is_longer[number[graph.head[number[graph.tail] == 0]]] = False
    rank = np.empty(len(values), np.uint32)
    rank[np.argsort(is_longer, kind="stable")] = np.arange(len(values))
    return own(rank[number])
