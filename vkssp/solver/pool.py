"""Pool of solvers on several devices over one graph, which share the rows of tables."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from vkssp import memory
from vkssp.algorithm import AUTO, CPU, Terminal
from vkssp.algorithms.choice import DEFAULT_ALGORITHM, checked, current, place_of
from vkssp.checks import flag, number_of, shown
from vkssp.cpu.device import CpuDevice, CpuInfo
from vkssp.errors import DeviceError, QueryError
from vkssp.former import FormerName
from vkssp.gpu.device import DEVICE_VARIABLE, Device
from vkssp.graph import Graph, Uint32s
from vkssp.graph.distance_type import Distances
from vkssp.graph.traffic import changed_weights
from vkssp.locks import Claim
from vkssp.log import logger
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups, checked_groups
from vkssp.prepared.terminals import checked_columns
from vkssp.resource import Resource
from vkssp.route import Route
from vkssp.solver.accessibility import accessibility, backward
from vkssp.solver.centrality import Centrality, SampledCentrality, centrality, sampled_centrality
from vkssp.solver.decay import Decay
from vkssp.solver.loads import Betweenness, Flows, betweenness, flows, flows_of
from vkssp.solver.nearest import NearestSources
from vkssp.solver.rescaling import rescaled
from vkssp.solver.row_maker import RowBlock
from vkssp.solver.several import Devices, are_several, chosen
from vkssp.solver.shared_graph import SharedWeights, WeightsChange, checked_reduction, renumbered_for, type_for
from vkssp.solver.solver import Solver
from vkssp.solver.straightness import straightness
from vkssp.solver.table_maker import write_weights
from vkssp.solver.tables import distances, pairs, require_32_bits, table
from vkssp.solver.trees import Trees, trees
from vkssp.solver.work_sharing import RowScheduler, Worker
from vkssp.terminal import printable

# Fewest rows that a device takes at a time if it makes them one by one, unless fewer are left.
_FEW_ROWS = 16
# Finished rows may take free memory divided by the first number, or the second number of bytes if that is unknown.
_WAITING_PART, _WAITING_BYTES = 8, 1 << 30

_log = logger(__name__)
_Answer = TypeVar("_Answer")


@dataclass(eq=False)
class _Member:
    solver: Solver
    device: Device | CpuDevice
    users: set[object] = field(default_factory=set)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Count as a user of the device."""
        user = object()
        try:
            self.users.add(user)
            yield
        finally:
            self.users.discard(user)

    def __str__(self) -> str:
        info = self.device.info
        return f"{info.name} ({'CPU' if isinstance(info, CpuInfo) else f'device {info.index}'})"


class _Own(threading.local):
    """What each thread has of its own."""

    #: Solver that answered the last query; None if all did, or before the first one.
    answering: Solver | None = None


class SolverPool(Resource):
    """Shortest paths on one graph and several devices of one machine, the CPU among them.

    The graph is prepared once, and uploaded to each device. The devices share the rows of a table according to their
    speeds. They start when the caller asks for the first rows, and work a bounded number of rows ahead of the caller
    until the iterator is closed or forgotten. Other queries go to the device with the fewest queries under way, so that
    several threads may ask at the same time. Answers are the same as those of `Solver`, bit for bit.

    A device that is lost, or does not answer for ten minutes, leaves the pool. The pool logs a warning of the logger
    ``vkssp``, and gives the work of that device to the others. It raises an error only if no device is left.

    Parameters
    ----------
    graph : Graph or RenumberedGraph
        The graph; see `Solver`. A prepared graph that does not keep its derived data takes longer.
    algorithm : str
        Name of an algorithm, see `Solver`; with ``"auto"`` each device has the algorithm that should be fastest on it.
    devices : Device, CpuDevice, int, str, or sequence of them, optional
        Open devices, indices or parts of names, or ``"cpu"``; ``"all"``, or ``"0,2,cpu"``. The default is the
        environment variable VKSSP_DEVICE, or else all: every Vulkan device except software devices, or the CPU if there
        is none.
    order, reduction : str, optional
        See `Solver`.
    waiting_bytes : int, optional
        Memory that rows may take that are finished before their turn; by default an eighth of the free memory.
    distance_bits : int, optional
        32, or 64 for distances beyond 2**32 - 2; see `Solver`. By default all devices that can find such distances.
    **parameters : int
        Parameters of the algorithm.

    Raises
    ------
    QueryError
        If the algorithm, a parameter or the order is not known or out of range, or a device does not run the
        algorithm.
    DeviceError
        If there is no such device, or the graph does not fit on it. With all devices, the pool leaves out unusable
        devices with a warning.

    Examples
    --------
    >>> from vkssp import Graph, SolverPool
    >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> with SolverPool(graph) as pool:
    ...     pool.table([0, 1], [1, 2]).tolist()
    [[4, 7], [0, 3]]
    """

    def __init__(
        self,
        graph: Graph | RenumberedGraph,
        algorithm: str = DEFAULT_ALGORITHM,
        devices: Devices | None = None,
        *,
        order: str = "auto",
        reduction: str | None = None,
        waiting_bytes: int | None = None,
        distance_bits: int | None = None,
        **parameters: Any,
    ) -> None:
        algorithm, devices = current(algorithm, devices)
        self.distance_type = kind = type_for(graph, distance_bits)
        if waiting_bytes is not None:
            most = number_of(waiting_bytes)
            if most is None or not 1 <= most < math.inf:
                raise QueryError(f"waiting_bytes is {shown(waiting_bytes)}; give a number of bytes, more than 0")
            waiting_bytes = int(most)
        wanted = checked_reduction(reduction, algorithm, kind)
        selected, are_meant = chosen(devices, algorithm, reduction == "full", kind)
        try:
            places = {place_of(algorithm, device, distance_type=kind) for device in selected}
        except QueryError as error:
            if devices is not None or not Device.selected():
                raise
            raise QueryError(f"{DEVICE_VARIABLE} is {shown(Device.selected())}: {error}") from None
        if reduction == "full" and CPU in places:
            raise QueryError("reduction is 'full', but algorithms for the CPU search whole graphs; leave it out")
        for place in places:
            checked(algorithm, parameters, place, kind)
        self._waiting_bytes, self._own = waiting_bytes, _Own()
        self._members: list[_Member] = []
        self._lost: dict[_Member, object] = {}  # values are claims: the thread with the first one logs the loss
        self._schedulers: weakref.WeakSet[RowScheduler] = weakref.WeakSet()
        super().__init__()
        try:
            # Derived data such as a reduction is kept: it is made for one device and serves all.
            renumbered, _ = renumbered_for(graph, algorithm, order, wanted, False, keep=True, distance_type=kind)
            self._weights = SharedWeights(renumbered)
            trouble: DeviceError | None = None
            for device in selected:
                try:
                    options: dict[str, Any] = {"reduction": reduction, "distance_bits": kind.bits, **parameters}
                    solver = Solver(renumbered, algorithm, device, order=order, **options)
                except DeviceError as error:
                    if are_meant:
                        raise
                    trouble = error
                    _log.warning("device %s is left out: %s", printable(device), printable(error))
                    continue
                solver.session.share_weights(self._weights)
                self._members.append(_Member(solver, solver.device))
            if trouble is not None and not self._members:
                raise trouble
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        """Return graph, algorithm and devices in one line."""
        return f"SolverPool({self.graph!r}, {self.algorithm!r}, {self.devices!r}{', closed' * self.closed})"

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self._weights.renumbered.graph

    @property
    def devices(self) -> list[Device | CpuDevice]:
        """Devices that are not lost."""
        return [member.device for member in self._left()]

    @property
    def device(self) -> Device | CpuDevice:
        """First device that is not lost."""
        return self._left()[0].device

    @property
    def solvers(self) -> list[Solver]:
        """Solvers of the devices that are not lost; the pool closes them."""
        return [member.solver for member in self._left()]

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, also if it was chosen; several, joined by commas, if devices differ."""
        return ", ".join(dict.fromkeys(member.solver.algorithm for member in self._left()))

    @property
    def unreachable(self) -> Any:
        """Distance of nodes that no path reaches: the largest number that distances hold."""
        return self.graph.units.typed(self.distance_type).value(self.distance_type.unreachable)

    @property
    def core_nodes(self) -> int | None:
        """Number of nodes of the core if a device has a reduced graph, else None; the CPU searches the whole graph."""
        return next((nodes for member in self._left() if (nodes := member.solver.core_nodes) is not None), None)

    @property
    def answered_by(self) -> tuple[Device | CpuDevice, str]:
        """The device that answered this thread's last query, and the name of the algorithm.

        After a table, which all devices share, these are the first device and the names of all algorithms.
        """
        solver = self._own.answering
        return (self.device, self.algorithm) if solver is None else solver.answered_by

    def holding(self) -> Claim:
        """Keep the weights unchanged for several queries; may be nested."""
        self._check_open()  # of what a fork has inherited, locks may be held for ever
        self._left()
        return self._weights.lock.reading()

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int | None = None,
        aggregates: Aggregates | None = None,
        trees: bool = False,
        into: Distances | None = None,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, by all devices; see `RowSource.row_blocks`."""
        nodes, most = checked_columns(graph, nodes, limit, self.distance_type)
        whole, self._own.answering = flag(whole, "whole"), None
        with self.holding():
            groups = checked_groups(self._weights.renumbered, seeds, self.distance_type)
        return self._blocks(graph, groups, nodes, whole or trees, most, aggregates, trees, into)

    def _blocks(
        self,
        graph: Graph,
        seeds: Groups,
        nodes: Uint32s,
        whole: bool,
        limit: int,
        aggregates: Aggregates | None,
        trees: bool,
        into: Distances | None,
    ) -> Generator[RowBlock, None, None]:
        wanted = graph.num_nodes if whole else len(nodes)

        def worker(member: _Member) -> Worker:
            with member.solver.holding():
                at_once = member.solver.session.rows_at_once(len(seeds), wanted)
                maker = member.solver.session.row_maker(
                    graph, nodes, len(seeds), whole=whole, limit=limit, aggregates=aggregates, trees=trees
                )

            def make(first: int, end: int) -> Generator[RowBlock, None, None]:
                with member.used():
                    yield from maker.rows(seeds.between(first, end), None if into is None else into[first:end])

            batch = at_once if at_once > 1 else _FEW_ROWS
            return Worker(batch, make, lambda error: self._is_lost(member, error), maker.close)

        free = memory.free_bytes()
        waiting = self._waiting_bytes or (_WAITING_BYTES if free is None else free // _WAITING_PART)
        row_bytes, helped = (self.distance_type.nbytes + 4 * trees) * max(1, wanted), self._weights.lock.helped
        most = waiting // row_bytes
        scheduler = RowScheduler(list(map(worker, self._left())), len(seeds), most, helped)
        self._schedulers.add(scheduler)
        yield from scheduler.blocks(self._waiting)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self._check_open()
        with self._weights.lock.helped():
            yield

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Distances:
        """Return a new array for results, to which the device writes fast; its values are arbitrary."""
        return self._left()[0].solver.session.empty(shape, dtype)

    def from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> Distances:
        """Return the distance from the best of some seeds to every node; see `Solver.from_seeds`."""
        return self._ask(lambda solver: solver.from_seeds(seeds, limit))

    def tree_from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> tuple[Distances, Uint32s]:
        """Return the distance from the best of some seeds to every node, and the arc into each node of the tree."""
        return self._ask(lambda solver: solver.tree_from_seeds(seeds, limit))

    def distance(self, source: Any, target: Any) -> Any:
        """Return the distance from one node to another; see `Solver.distance`."""
        return self._ask(lambda solver: solver.distance(source, target))

    @overload
    def distances(
        self, source: npt.ArrayLike | Sequence[Terminal], *, limit: float | None = None, chunked: Literal[False] = False
    ) -> Distances: ...

    @overload
    def distances(
        self, source: npt.ArrayLike, *, limit: float | None = None, chunked: Literal[True]
    ) -> Iterator[Distances]: ...

    @rescaled
    def distances(
        self, source: Any, *, limit: float | None = None, chunked: bool = False
    ) -> Distances | Iterator[Distances]:
        """Return the distances to every node, from many nodes by all devices; see `Solver.distances`."""
        return distances(self, source, limit, chunked)

    @overload
    def trees(
        self,
        sources: npt.ArrayLike | Sequence[Terminal],
        *,
        limit: float | None = None,
        chunked: Literal[False] = False,
    ) -> Trees: ...

    @overload
    def trees(
        self, sources: npt.ArrayLike, *, limit: float | None = None, chunked: Literal[True]
    ) -> Iterator[Trees]: ...

    @rescaled
    def trees(self, sources: Any, *, limit: float | None = None, chunked: bool = False) -> Trees | Iterator[Trees]:
        """Return shortest-path trees, of many nodes by all devices; see `Solver.trees`."""
        return trees(self, sources, limit, chunked)

    @overload
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: Literal[False] = False,
    ) -> Distances: ...

    @overload
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: Literal[True],
    ) -> Iterator[Distances]: ...

    @rescaled
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: bool = False,
    ) -> Distances | Iterator[Distances]:
        """Return the distances from each source to each target, by all devices; see `Solver.table`."""
        return table(self, sources, targets, limit, chunked)

    @rescaled
    def pairs(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Distances:
        """Return the distances of many pairs of nodes, from one device; see `Solver.pairs`."""
        return pairs(self, sources, targets)

    @rescaled
    def write_table(
        self,
        path: str | Path,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        progress: bool = False,
    ) -> int:
        """Write what `table` returns to a file, row by row; see `Solver.write_table`."""
        return write_weights(self, path, sources, targets, limit, progress)

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return distances of pairs of nodes, or None if the algorithm has no faster method than rows."""
        return self._ask(lambda solver: solver.fast_pairs(sources, targets))

    def path(self, source: Any, target: Any) -> Route:
        """Return a shortest path from one node to another; see `Solver.path`."""
        return self._ask(lambda solver: solver.path(source, target))

    def search_path(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> tuple[int, int, int, Any] | None:
        """Find the shortest path from any seed to any target; see `Solver.search_path`."""
        return self._ask(lambda solver: solver.search_path(seeds, targets))

    def search_paths(self, seeds: Groups, targets: Groups) -> FoundPaths:
        """Find the shortest path of each of many searches, by one device; see `Solver.search_paths`."""
        return self._ask(lambda solver: solver.search_paths(seeds, targets))

    def nearest(
        self,
        sources: npt.ArrayLike,
        offsets: npt.ArrayLike | None = None,
        limit: float | None = None,
        *,
        count: int | None = None,
        reverse: bool = False,
    ) -> NearestSources:
        """Return the nearest of many sources to every node, from one device; see `Solver.nearest`."""
        return self._ask(lambda solver: solver.nearest(sources, offsets, limit, count=count, reverse=reverse))

    def search_nearest(self, nodes: Uint32s, offsets: Distances, limit: int | None = None) -> NearestSources:
        """Find the nearest of some seeds; see `Solver.search_nearest`."""
        return self._ask(lambda solver: solver.search_nearest(nodes, offsets, limit))

    def warm_up(self) -> None:
        """Upload the arcs that paths need to all devices; otherwise the first path on each device does it."""
        for member in self._left():
            try:
                member.solver.warm_up()
            except DeviceError as error:
                if not self._is_lost(member, error):
                    raise
        self._left()

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all arcs, or of some, on all devices or, after an error, on none.

        They change as soon as no device searches; see `Solver.set_weights`.
        """
        self.change_weights(lambda graph: changed_weights(graph, weights, arcs))

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs; see `Session.change_weights`."""
        self._check_open()
        weights = self._weights
        with weights.lock.writing():
            renumbered, changed = weights.changed(change)
            for member in self._left():
                try:
                    member.solver.session.copy_weights(renumbered, changed)
                except DeviceError as error:
                    if not self._is_lost(member, error):
                        raise
            self._left()
            weights.renumbered = renumbered

    @rescaled
    def accessibility(
        self,
        values: npt.ArrayLike,
        limits: npt.ArrayLike | None = None,
        *,
        decays: Decay | Sequence[Decay] | None = None,
        sources: npt.ArrayLike | None = None,
        reverse: bool = False,
    ) -> npt.NDArray[Any]:
        """Return the sums of values that can be reached from nodes, by all devices; see `Solver.accessibility`."""
        require_32_bits(self, "accessibility")
        with self._facing(reverse) as source:
            return accessibility(source, values, limits, decays, sources)

    @overload
    def centrality(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        reverse: bool = False,
        sample: None = None,
        seed: int = 0,
    ) -> Centrality: ...

    @overload
    def centrality(
        self, *, limit: float | None = None, reverse: bool = False, sample: int, seed: int = 0
    ) -> SampledCentrality: ...

    @rescaled
    def centrality(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        reverse: bool = False,
        sample: int | None = None,
        seed: int = 0,
    ) -> Centrality | SampledCentrality:
        """Return the centrality of nodes, by all devices; see `Solver.centrality`."""
        require_32_bits(self, "centrality")
        if sample is None:
            with self._facing(reverse) as source:
                return centrality(source, sources, limit)
        if sources is not None:
            raise QueryError("both sources and sample are given; give one of them")
        with self._facing(not flag(reverse, "reverse")) as source:
            return sampled_centrality(source, sample, seed, limit)

    @rescaled
    def straightness(
        self, sources: npt.ArrayLike | None = None, *, limit: float | None = None, reverse: bool = False
    ) -> npt.NDArray[np.float64]:
        """Return how straight the shortest paths from nodes are, by all devices; see `Solver.straightness`."""
        require_32_bits(self, "straightness")
        with self._facing(reverse) as source:
            return straightness(source, sources, limit)

    @rescaled
    def betweenness(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> Betweenness:
        """Return on how many shortest paths each arc and each node lies, by all devices; see `Solver.betweenness`."""
        require_32_bits(self, "betweenness")
        return betweenness(self, sources, limit, sample, seed)

    @rescaled
    def flows(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        demand: Any,
        *,
        skims: Mapping[str, npt.ArrayLike] | None = None,
        select: Sequence[int | Sequence[int]] | None = None,
        turns: bool = False,
    ) -> Flows:
        """Return the loads of all arcs if a demand takes its shortest paths, by all devices; see `Solver.flows`."""
        require_32_bits(self, "flows")
        return flows(self, sources, targets, demand, skims, select, turns)

    @rescaled
    def flows_of(
        self,
        parts: Iterable[tuple[npt.ArrayLike, npt.ArrayLike, Any]],
        *,
        select: Sequence[int | Sequence[int]] | None = None,
        turns: bool = False,
    ) -> Flows:
        """Return the loads of all arcs by a demand that comes in parts, by all devices; see `Solver.flows_of`."""
        require_32_bits(self, "flows_of")
        return flows_of(self, parts, select, turns)

    def for_graph(self, graph: Graph) -> SolverPool:
        """Return a pool for another graph on the same devices."""
        names = {member.solver.algorithm for member in self._left()}
        algorithm = names.pop() if len(names) == 1 else AUTO
        pool = SolverPool(graph, algorithm, self.devices, distance_bits=self.distance_type.bits)
        for made, own in zip(pool.solvers, self.solvers, strict=False):  # a device may be lost meanwhile
            made.session.micro_batches.batching = own.batching
        return pool

    @contextmanager
    def _facing(self, reverse: bool) -> Iterator[SolverPool]:
        """Hand over this pool or, if `reverse`, one on the same devices that searches the graph backward."""
        if not flag(reverse, "reverse"):
            yield self
            return
        with self.for_graph(backward(self.graph)) as pool:
            yield pool

    distances_from = FormerName("distances", seeds="source")
    distances_between = FormerName("pairs")
    route = FormerName("path")
    nearest_sources = FormerName("nearest")
    prepare_routes = FormerName("warm_up")

    def _ask(self, question: Callable[[Solver], _Answer]) -> _Answer:
        """Ask the device with the fewest queries under way, and another device if that one is lost."""
        while True:
            member = min(self._left(), key=lambda one: len(one.users))
            try:
                with member.used():
                    answer = question(member.solver)
                    self._own.answering = member.solver
                    return answer
            except DeviceError as error:
                if not self._is_lost(member, error):
                    raise

    def _is_lost(self, member: _Member, error: DeviceError) -> bool:
        """Remove a device from the pool if an error means that it is lost; return whether it is lost."""
        if member in self._lost:
            return True  # every later error of a lost device follows from the loss
        if not error.is_lost:
            return False
        # Closed only with the pool: other threads may be using the device, and would get errors of a closed device.
        claim = object()
        if self._lost.setdefault(member, claim) is claim:
            left, told = len(self._members) - len(self._lost), (printable(member), printable(error))
            _log.warning("%s is lost, and left out from now on: %s; devices left: %d", *told, left)
        return True

    def _left(self) -> list[_Member]:
        self._check_open()
        left = [member for member in self._members if member not in self._lost]
        if not left:
            error = DeviceError(f"all devices of this pool are lost: {', '.join(map(str, self._lost))}; make another")
            error.is_lost = True
            raise error
        return left

    def _check_open(self) -> None:
        if self.closed:
            raise QueryError("this pool has been closed; make another")
        for member in self._members:
            if member not in self._lost:
                _ = member.device.handle  # an error if it has been closed, or belongs to another process

    def _release(self) -> None:
        with ExitStack() as stack:  # close everything, even if a part fails
            for member in self._members:
                stack.callback(self._close, member)
            for scheduler in self._schedulers:
                stack.callback(scheduler.stop)

    def _close(self, member: _Member) -> None:
        with suppress(*[DeviceError] * (member in self._lost)):
            member.solver.close()


def solver_on(
    graph: Graph | RenumberedGraph, algorithm: str, device: Devices | None, **parameters: Any
) -> Solver | SolverPool:
    """Return a solver, or a pool of solvers if several devices are named."""
    if are_several(Device.selected() if device is None else device):
        return SolverPool(graph, algorithm, device, **parameters)
    one: Any = device
    return Solver(graph, algorithm, one, **parameters)
