"""The course of a leg, arc by arc: how much of each is travelled, what that takes, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.routing.legs import Way
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """The arcs of a leg in their order, one entry for each unless said otherwise.

    Attributes
    ----------
    arcs : numpy.ndarray
        Their ids, int64.
    parts : numpy.ndarray
        How much of each is travelled, by length, float64.
    metres : numpy.ndarray
        Metres travelled on each, float64.
    weights : numpy.ndarray
        What each takes, with the turn into it, in weights of the graph as it was given, int64.
    nodes : numpy.ndarray
        The nodes passed, of any number, uint32.
    points : numpy.ndarray
        The points passed, latitude and longitude in degrees, shape (p, 2); two that follow each other differ.
    first : numpy.ndarray
        Where in the points each arc begins, and where the last one ends, shape (len(arcs) + 1,), int64.
    """

    arcs: npt.NDArray[np.int64]
    parts: Floats
    metres: Floats
    weights: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.uint32]
    points: Floats
    first: npt.NDArray[np.int64]


def course_of(index: StreetIndex, graph: Graph, way: Way, start: Snap, end: Snap) -> Course:
    """Return the course of a way between two snapped points.

    Parameters
    ----------
    index : StreetIndex
        The streets that the way was found in.
    graph : Graph
        The same graph with the weights that it was given with, where others were made least.
    way : Way
        The way.
    start, end : Snap
        The two points.
    """
    ends = [np.array([[snap.lat, snap.lon]]) for snap in (start, end)]
    first, last = way.first, way.last
    # An arc that is travelled whole is not cut: of a loop, the point may be at either end.
    cut = start if first.at > 0.0 else None, end if last.at < 1.0 else None
    if way.direct:
        arcs = [first.arc] if first.arc >= 0 else []
        parts = np.full(len(arcs), last.at - first.at)
        pieces = [index.piece(arc, *cut) for arc in arcs]
        nodes = np.array([] if arcs else [first.node], np.uint32)
    else:
        before, after = ([end.arc] if end.arc >= 0 else [] for end in (first, last))
        arcs = [*before, *way.inner.tolist(), *after]
        parts = np.ones(len(arcs))
        if before:
            parts[0] = 1.0 - first.at
        if after:
            parts[-1] = last.at
        pieces = [index.piece(arc, cut[0]) for arc in before]
        pieces += [index.piece(arc) for arc in arcs[len(before) : len(arcs) - len(after)]]
        pieces += [index.piece(arc, None, cut[1]) for arc in after]
        nodes = np.concatenate([np.array([first.node], np.uint32), index.graph.head[way.inner]])
    points = np.concatenate([ends[0], *pieces, ends[1]])
    beyond = np.abs(points[:, 1]) > 180.0
    points[beyond, 1] = (points[beyond, 1] + 180.0) % 360.0 - 180.0
    # Pieces meet in points that both have.
    keep = np.ones(len(points), np.bool_)
    keep[1:] = (points[1:] != points[:-1]).any(axis=1)
    offsets = np.cumsum([1, *map(len, pieces)])
    travelled = np.array(arcs, np.int64)
    return Course(
        arcs=travelled,
        parts=parts,
        metres=parts * np.array([index.length(arc) for arc in arcs], np.float64),
        weights=_weights(graph, travelled, parts, first.arc >= 0),
        nodes=nodes,
        points=points[keep],
        first=np.cumsum(keep)[offsets] - 1,
    )


def _weights(graph: Graph, arcs: npt.NDArray[np.int64], parts: Floats, begun: bool) -> npt.NDArray[np.int64]:
    """Return what parts of arcs take; of the first not the turn into it, where the way begins on it."""
    weight, turn = graph.weight[arcs].astype(np.int64), np.zeros(len(arcs), np.int64)
    if graph.streets is not None and graph.streets.turn is not None:
        turn = graph.streets.turn[arcs].astype(np.int64)
    travel = np.rint(parts * (weight - turn)).astype(np.int64)  # as `vkssp.routing.phantoms.part_weight` has it
    if begun:
        turn[0] = 0
    return travel + turn
