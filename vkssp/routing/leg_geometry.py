"""Geometry of a leg, arc by arc: the part of each arc that is travelled, its weight and its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LegGeometry:
    """LegGeometry of a leg: its arcs in order. Arrays have one entry for each arc unless said otherwise.

    Attributes
    ----------
    arcs : numpy.ndarray
        Ids of the arcs, int64.
    parts : numpy.ndarray
        Part of each arc that is travelled, by length, float64.
    metres : numpy.ndarray
        Metres travelled on each arc, float64.
    weights : numpy.ndarray
        Weight of each arc's part, with the turn into the arc, in weights of the graph as it was given, int64.
    nodes : numpy.ndarray
        The nodes passed, any number of them, uint32.
    points : numpy.ndarray
        The points passed, latitude and longitude in degrees, shape (p, 2). Successive points differ.
    first : numpy.ndarray
        Index of the point at which each arc begins, and of the last arc's end, shape (len(arcs) + 1,), int64.
    """

    arcs: npt.NDArray[np.int64]
    parts: Floats
    metres: Floats
    weights: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.uint32]
    points: Floats
    first: npt.NDArray[np.int64]


def leg_geometry_of(index: StreetIndex, graph: Graph, leg_path: LegPath, start: Snap, end: Snap) -> LegGeometry:
    """Return the geometry of a path between two snapped points.

    Parameters
    ----------
    index : StreetIndex
        The streets in which the path was found.
    graph : Graph
        The same graph with the weights as given, in case the search minimized other weights.
    leg_path : LegPath
        The path.
    start, end : Snap
        The two points.
    """
    ends = [np.array([[snap.lat, snap.lon]]) for snap in (start, end)]
    first, last = leg_path.first, leg_path.last
    # An arc that is travelled whole is not cut: on a loop, the snapped point may be at either end.
    cut = start if first.at > 0.0 else None, end if last.at < 1.0 else None
    if leg_path.direct:
        arcs = [first.arc] if first.arc >= 0 else []
        parts = np.full(len(arcs), last.at - first.at)
        pieces = [index.piece(arc, *cut) for arc in arcs]
        nodes = np.array([] if arcs else [first.node], np.uint32)
    else:
        before, after = ([end.arc] if end.arc >= 0 else [] for end in (first, last))
        arcs = [*before, *leg_path.inner.tolist(), *after]
        parts = np.ones(len(arcs))
        if before:
            parts[0] = 1.0 - first.at
        if after:
            parts[-1] = last.at
        pieces = [index.piece(arc, cut[0]) for arc in before]
        pieces += [index.piece(arc) for arc in arcs[len(before) : len(arcs) - len(after)]]
        pieces += [index.piece(arc, None, cut[1]) for arc in after]
        nodes = np.concatenate([np.array([first.node], np.uint32), index.graph.head[leg_path.inner]])
    points = np.concatenate([ends[0], *pieces, ends[1]])
    beyond = np.abs(points[:, 1]) > 180.0
    points[beyond, 1] = (points[beyond, 1] + 180.0) % 360.0 - 180.0
    # Adjacent pieces share the point in which they meet.
    keep = np.ones(len(points), np.bool_)
    keep[1:] = (points[1:] != points[:-1]).any(axis=1)
    offsets = np.cumsum([1, *map(len, pieces)])
    travelled = np.array(arcs, np.int64)
    return LegGeometry(
        arcs=travelled,
        parts=parts,
        metres=parts * np.array([index.length(arc) for arc in arcs], np.float64),
        weights=_weights(graph, travelled, parts, first.arc >= 0),
        nodes=nodes,
        points=points[keep],
        first=np.cumsum(keep)[offsets] - 1,
    )


def _weights(graph: Graph, arcs: npt.NDArray[np.int64], parts: Floats, begun: bool) -> npt.NDArray[np.int64]:
    """Return the weights of parts of arcs. If `begun`, the path begins on the first arc, whose turn does not count."""
    weight, turn = graph.weight[arcs].astype(np.int64), np.zeros(len(arcs), np.int64)
    if graph.streets is not None and graph.streets.turn is not None:
        turn = graph.streets.turn[arcs].astype(np.int64)
    travel = np.rint(parts * (weight - turn)).astype(np.int64)  # as in `vkssp.routing.phantoms.part_weight`
    if begun:
        turn[0] = 0
    return travel + turn
