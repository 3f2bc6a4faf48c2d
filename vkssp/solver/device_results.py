"""Results that stay on the device: distances, tables and pairs as arrays that other libraries read in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from vkssp.algorithm import CPU
from vkssp.batch.device_rows import DeviceRows
from vkssp.gpu.device import Device
from vkssp.gpu.device_array import DeviceArray
from vkssp.gpu.exporting import shared_blocks
from vkssp.graph import Uint32s
from vkssp.memory import require
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import ends_by_position, nodes_of
from vkssp.solver.row_maker import fitting
from vkssp.solver.tables import found_pairs, gathered, many_or_one, rows

if TYPE_CHECKING:
    from vkssp.solver.session import Session
    from vkssp.solver.solver import Solver

_CURE = "ask for fewer rows at a time"


def distances_on_device(solver: Solver, source: Any, limit: Any) -> DeviceArray:
    """Return the distances to every node on the device; see `vkssp.Solver.distances_on_device`."""
    graph = solver.graph
    source, are_nodes = many_or_one(graph, source)
    if are_nodes:
        return _rows(solver, nodes_of(graph, source, "sources"), None, limit)
    session = solver.session
    with session.holding():
        graph = solver.graph
        units = graph.units.typed(session.distance_type)
        seeds = ends_by_position(graph, source, "source", session.distance_type)
        within = units.limit(limit)
        most = None if within == session.distance_type.unreachable else within
        target = _target(session, (graph.num_nodes,), "the distances")
        if target is None:
            return DeviceArray(session.from_seeds(seeds, most), scale=graph.scale)
        with target:
            session.put_from_seeds(seeds, most, target)
            return target.finish(graph.scale)


def table_on_device(solver: Solver, sources: npt.ArrayLike, targets: npt.ArrayLike | None, limit: Any) -> DeviceArray:
    """Return the distances from sources to targets on the device; see `vkssp.Solver.table_on_device`."""
    graph = solver.graph
    tails = nodes_of(graph, sources, "sources")
    return _rows(solver, tails, tails if targets is None else nodes_of(graph, targets, "targets"), limit)


def pairs_on_device(solver: Solver, sources: npt.ArrayLike, targets: npt.ArrayLike) -> DeviceArray:
    """Return the distances of pairs on the device; see `vkssp.Solver.pairs_on_device`."""
    with solver.holding():
        graph, found = solver.graph, found_pairs(solver, sources, targets)
        target = _target(solver.session, found.shape, "the distances of pairs")
        if target is None:
            return DeviceArray(found, scale=graph.scale)
        with target:
            target.put_values(found)
            return target.finish(graph.scale)


def _rows(solver: Solver, tails: Uint32s, targets: Uint32s | None, limit: Any) -> DeviceArray:
    """Return the distances from each of some nodes, given by position, to each of others, or to all nodes."""
    session, graph, kind = solver.session, solver.graph, solver.distance_type
    heads = graph.positions if targets is None else targets
    most, shape = graph.units.typed(kind).limit(limit), (len(tails), len(heads))
    what = f"an array of {shape[0]:,} by {shape[1]:,} distances"
    groups = Groups.of_nodes(tails)
    session.check_open()
    target = _target(session, shape, what)
    if target is None:
        require(kind.nbytes * shape[0] * shape[1], what, _CURE)
        whole = session.empty(shape, kind.dtype)
        found = gathered(rows(solver, graph, groups, heads, limit=most, into=whole), whole)
        return DeviceArray(found, scale=graph.scale)
    with target:
        blocks = session.row_blocks(graph, groups, heads, whole=targets is None, limit=most, into=target)
        for _ in fitting(blocks, kind):
            pass
        return target.finish(graph.scale)


def _target(session: Session, shape: tuple[int, ...], what: str) -> DeviceRows | None:
    """Return a new array on the device of a session; None if that computes in the memory of the host."""
    device = session.device
    if session.shared.place == CPU or not isinstance(device, Device):
        return None
    blocks = shared_blocks(device)
    return None if blocks is None else DeviceRows(device, shape, session.distance_type.dtype, blocks, what)
