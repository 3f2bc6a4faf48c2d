"""Shortest-path trees: distances, and the arc and the node before each node on its shortest path."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from vkssp.arrays import brief
from vkssp.checks import flag, is_many
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import Distances
from vkssp.graph.units import Units
from vkssp.memory import require
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import ends_by_position, is_name, nodes_of
from vkssp.solver.rescaling import restarting
from vkssp.solver.tables import RowSource


@dataclass(frozen=True, eq=False)
class Trees:
    """Shortest-path trees: of one source or, with a row for each, of many.

    Attributes
    ----------
    distance : numpy.ndarray
        Distance of each node, shape (num_nodes,) or (s, num_nodes), uint32; 2**32 - 1 for nodes that no path reaches
        (uint64 and 2**64 - 1 with 64 bits); or, of real weights, float64, infinite there.
    arc : numpy.ndarray
        Arc by which the tree enters each node, of the same shape, uint32; `vkssp.UNREACHABLE`, 2**32 - 1, for sources
        and for nodes that no path reaches.
    predecessor : numpy.ndarray
        Position of the node before each node, the tail of `arc`, of the same shape, uint32; `vkssp.UNREACHABLE` where
        there is no arc. Computed on first access.
    """

    __repr__ = brief

    distance: Distances
    arc: Uint32s
    _graph: Graph = field(repr=False)

    @cached_property
    def predecessor(self) -> Uint32s:
        """Node before each node; `vkssp.UNREACHABLE` for sources and for nodes that no path reaches."""
        found = np.empty_like(self.arc)
        # An item more, to which `UNREACHABLE` is clipped.
        tail = np.append(self._graph.tail, np.uint32(UNREACHABLE))
        for arcs, nodes in zip(np.atleast_2d(self.arc), np.atleast_2d(found), strict=True):
            nodes[:] = tail.take(arcs, mode="clip")
        return found


def trees(source: RowSource, sources: Any, limit: Any, chunked: bool) -> Trees | Iterator[Trees]:
    """Return the trees of one node, of many nodes or of seeds; see `vkssp.Solver.trees`."""
    graph, kind, chunked = source.graph, source.distance_type, flag(chunked, "chunked")
    if isinstance(sources, Iterator):
        sources = list(sources)
    elif not is_many(sources) and hasattr(sources, "__array__"):
        sources = np.asarray(sources)[()]
    first = next(iter(sources), None) if is_many(sources) and not is_name(graph, sources) else ()
    if is_many(first) and not is_name(graph, first):
        if chunked:
            raise QueryError("chunked is for many sources; leave it out, or give a list of node ids")
        with source.holding():
            graph = source.graph
            units, seeds = graph.units.typed(kind), ends_by_position(graph, sources, "source", kind)
            most = units.limit(limit)
            distance, arc = source.tree_from_seeds(seeds, None if most == kind.unreachable else most)
            return Trees(units.values(distance), arc, graph)
    nodes, units = nodes_of(graph, sources, "sources"), graph.units.typed(kind)
    units.limit(limit)  # wrong ones are refused before the first block is asked for
    shape = len(nodes), graph.num_nodes

    def blocks(graph: Graph) -> Generator[Trees, None, None]:
        units = graph.units.typed(kind)
        return _blocks(source, graph, nodes, units.limit(limit), units)

    if chunked:
        return blocks(graph) if units.scale is None else restarting(source, graph, blocks)
    # Predecessors may follow.
    size, cure = (units.dtype.itemsize + 8) * shape[0] * shape[1], "ask for blocks of trees by chunked=True"
    require(size, f"{shape[0]:,} trees of {shape[1]:,} nodes", cure)
    distance, arc, at = np.empty((0, shape[1]), units.dtype), np.empty((0, shape[1]), np.uint32), 0
    # To the end: the maker of the rows keeps its buffers only if it is not stopped before.
    for block in blocks(graph):
        rows = len(block.distance)
        if rows == shape[0]:
            distance, arc = block.distance, block.arc  # not copied
        else:
            if at == 0:
                distance, arc = np.empty(shape, units.dtype), np.empty(shape, np.uint32)
            distance[at : at + rows], arc[at : at + rows] = block.distance, block.arc
        at += rows
    return Trees(distance, arc, graph)


def _blocks(source: RowSource, graph: Graph, nodes: Uint32s, limit: int, units: Units) -> Generator[Trees, None, None]:
    """Yield the trees of some nodes, some at a time."""
    everywhere = np.arange(graph.num_nodes, dtype=np.uint32)
    with closing(source.row_blocks(graph, Groups.of_nodes(nodes), everywhere, limit=limit, trees=True)) as blocks:
        for block in blocks:
            if block.overflowed is not None and block.overflowed.any():
                raise DistanceOverflowError(source.distance_type.overflow)
            assert block.arcs is not None
            yield Trees(units.values(block.distances), block.arcs, graph)
