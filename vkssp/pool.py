"""Several devices: a solver on each of them, over one graph, and tables whose rows are dealt out to all."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp import room
from vkssp.errors import DeviceError, QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.gpu.several import Devices, are_several, chosen
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.routing.route import Route
from vkssp.solver import Solver
from vkssp.solvers.base import AUTO, Terminal
from vkssp.solvers.choice import DEFAULT_ALGORITHM, checked, runs_on
from vkssp.solvers.dealing import Dealing, Hand
from vkssp.solvers.gate import Gate
from vkssp.solvers.groups import Groups, checked_groups
from vkssp.solvers.nearest import NearestSources
from vkssp.solvers.prepare import PreparedGraph
from vkssp.solvers.shared import prepared_for
from vkssp.solvers.tables import Tables
from vkssp.traffic import changed_weights

# Rows that a device takes at a time at least, where it makes one after the other, unless few are left.
_FEW_ROWS = 16
# Of the memory that is free the part that finished rows may take, and bytes where nobody knows what is free.
_WAITING_PART, _WAITING_BYTES = 8, 1 << 30

_log = logging.getLogger("vkssp")
_Answer = TypeVar("_Answer")


@dataclass(eq=False)
class _Member:
    solver: Solver
    device: Device
    busy: int = 0  # how many are using it

    def __str__(self) -> str:
        return f"{self.device.info.name} (device {self.device.info.index})"


class SolverPool(Resource, Tables):
    """Shortest paths on one graph and several devices of one machine.

    The graph is prepared once, and uploaded to each device. The rows of tables are dealt out to all devices, to each as
    many as it manages, once the first of them are asked for. They go on ahead of whoever takes the rows, by a bounded
    number of them, until the iterator is closed or forgotten. Other questions go to the device with the least to do, so
    that several threads may ask at the same time. Answers are those of `Solver`, bit for bit.

    A device that is lost, or does not answer for ten minutes, leaves the pool, which logs that as a warning of the
    logger ``vkssp``; what it was at goes to the others. Only when none is left there is an error.

    Parameters
    ----------
    graph : Graph or PreparedGraph
        The graph; see `Solver`. A prepared one that does not keep what is derived from it takes longer.
    algorithm : str
        Name of an algorithm, see `Solver`; with ``"auto"`` each device has the one that should be fastest there.
    devices : Device, int, str, or sequence of them, optional
        Open devices, indices or parts of names; ``"all"``, or ``"0,2"``. By default what the environment variable
        VKSSP_DEVICE says, or else all: every device but software ones, or those where there is nothing else.
    order, reduction : str, optional
        See `Solver`.
    waiting_bytes : int, optional
        How much memory rows may take that are finished before it is their turn. By default an eighth of what is free.
    **parameters : int
        Parameters of the algorithm.

    Raises
    ------
    QueryError
        If the algorithm, a parameter or the order is not known or out of range, or the algorithm runs on the CPU.
    DeviceError
        If there is no such device, or the graph does not fit on it. Where all are meant, those that cannot be used are
        left out, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from vkssp import Graph, SolverPool
    >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> with SolverPool(graph) as pool:
    ...     np.concatenate(list(pool.table([0, 1], [1, 2]))).tolist()
    [[4, 7], [0, 3]]
    """

    def __init__(
        self,
        graph: Graph | PreparedGraph,
        algorithm: str = DEFAULT_ALGORITHM,
        devices: Devices | None = None,
        *,
        order: str = "auto",
        reduction: str | None = None,
        waiting_bytes: int | None = None,
        **parameters: Any,
    ) -> None:
        checked(algorithm, parameters)
        if runs_on(algorithm) == "host":
            raise QueryError(
                f"{algorithm} runs on the CPU, and not on devices; choose another algorithm, or name no devices"
            )
        if waiting_bytes is not None and not waiting_bytes > 0:
            raise QueryError(f"waiting_bytes is {waiting_bytes!r}; give more than 0")
        selected, are_meant = chosen(devices)
        self._lock, self._gate = threading.Lock(), Gate()
        self._waiting_bytes = waiting_bytes
        self._members: list[_Member] = []
        self._lost: list[_Member] = []
        self._dealings: weakref.WeakSet[Dealing] = weakref.WeakSet()
        super().__init__()
        try:
            # Kept are a reduction and the like: what is made for one device serves all.
            wanted = reduction or ("auto" if algorithm == AUTO else "none")
            prepared, _ = prepared_for(graph, algorithm, order, wanted, False, keep=True)
            trouble: DeviceError | None = None
            for device in selected:
                try:
                    solver = Solver(prepared, algorithm, device, order=order, reduction=reduction, **parameters)
                except DeviceError as error:
                    if are_meant:
                        raise
                    trouble = error
                    _log.warning("device %s is left out: %s", device, error)
                    continue
                solver._shared.gate = self._gate
                assert isinstance(solver.device, Device)
                self._members.append(_Member(solver, solver.device))
            if trouble is not None and not self._members:
                raise trouble
        except BaseException:
            self.close()
            raise
        self._prepared = prepared

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self._prepared.graph

    @property
    def devices(self) -> list[Device]:
        """The devices that are left."""
        return [member.device for member in self._left()]

    @property
    def device(self) -> Device:
        """The first of them."""
        return self._left()[0].device

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, also where it was chosen; several, joined by commas, where devices have others."""
        return ", ".join(dict.fromkeys(member.solver.algorithm for member in self._left()))

    @property
    def core_nodes(self) -> int | None:
        """Number of nodes that are searched, where a reduction left fewer; None where there is no reduction."""
        return self._left()[0].solver.core_nodes

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep the weights as they are for several questions; may be nested."""
        with self._gate.searching():
            self._left()
            yield

    def rows(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int = UNREACHABLE,
    ) -> Iterator[Uint32s]:
        """Return distances from seeds to nodes, a row for each group of seeds, by all devices; see `Session.rows`."""
        with self.holding():
            groups = checked_groups(self._prepared, seeds)
        return self._blocks(graph, groups, nodes, whole, limit)

    def _blocks(self, graph: Graph, seeds: Groups, nodes: Uint32s, whole: bool, limit: int) -> Iterator[Uint32s]:
        wanted = graph.num_nodes if whole else len(nodes)

        def hand(member: _Member) -> Hand:
            with member.solver.holding():
                at_once = member.solver.rows_at_once(len(seeds), wanted)
                maker = member.solver.row_maker(graph, nodes, len(seeds), whole=whole, limit=limit)

            def make(first: int, end: int) -> Generator[Uint32s, None, None]:
                with self._using(member):
                    yield from maker.rows(seeds.between(first, end))

            batch = at_once if at_once > 1 else _FEW_ROWS
            return Hand(batch, make, lambda error: self._is_lost(member, error), maker.close)

        free = room.free_bytes()
        waiting = self._waiting_bytes or (_WAITING_BYTES if free is None else free // _WAITING_PART)
        dealing = Dealing(list(map(hand, self._left())), len(seeds), waiting // (4 * max(1, wanted)))
        self._dealings.add(dealing)
        yield from dealing.blocks(self._waiting)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self._check_open()
        with self._gate.helped():
            yield

    def distances_from(self, seeds: Sequence[Terminal]) -> Uint32s:
        """Return the distance from the best of some nodes to every node; see `Solver.distances_from`."""
        return self._ask(lambda solver: solver.distances_from(seeds))

    def distance(self, source: int, target: int) -> int:
        """Return the distance from one node to another, 2**32 - 1 where there is no path; see `Solver.distance`."""
        return self._ask(lambda solver: solver.distance(source, target))

    def _between(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        return self._ask(lambda solver: solver.pairs(sources, targets))

    def route(self, source: int, target: int) -> Route:
        """Return a shortest path from one node to another; see `Solver.route`."""
        return self._ask(lambda solver: solver.route(source, target))

    def search_path(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> tuple[int, int, int, Any] | None:
        """Find the shortest way from any of some seeds to any of some targets; see `Solver.search_path`."""
        return self._ask(lambda solver: solver.search_path(seeds, targets))

    def nearest_sources(
        self, sources: npt.ArrayLike, offsets: npt.ArrayLike | None = None, limit: int | None = None
    ) -> NearestSources:
        """Return the nearest of many sources to every node, from one device; see `Solver.nearest_sources`."""
        return self._ask(lambda solver: solver.nearest_sources(sources, offsets, limit))

    def prepare_routes(self) -> None:
        """Upload what routes need beside distances to all devices; otherwise the first route on each does it."""
        for member in self._left():
            try:
                member.solver.prepare_routes()
            except DeviceError as error:
                if not self._is_lost(member, error):
                    raise
        self._left()

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all arcs, or of some, on all devices or, after an error, on none.

        They change as soon as no device searches; see `Solver.set_weights`.
        """
        self.change_weights(lambda graph: changed_weights(graph, weights, arcs))

    def change_weights(self, change: Callable[[Graph], tuple[Graph, npt.NDArray[np.int64] | None]]) -> None:
        """Change weights by a function, as soon as nobody searches; see `Session.change_weights`."""
        with self._gate.changing(), ExitStack() as undo:
            members, old = self._left(), self._prepared
            undo.callback(setattr, self, "_prepared", old)
            graph, changed = change(old.graph)
            prepared = old.reweighted(graph, changed)
            for member in members:
                undo.callback(member.solver._shared.take_back, old)
                try:
                    member.solver._shared.put(prepared, changed)
                except DeviceError as error:
                    if not self._is_lost(member, error):
                        raise
            self._left()
            self._prepared = prepared
            undo.pop_all()

    def _ask(self, question: Callable[[Solver], _Answer]) -> _Answer:
        """Ask the device that has the least to do, and another one if that is lost."""
        while True:
            with self._lock:
                self._check_left()
                member = min(self._members, key=lambda one: one.busy)
                member.busy += 1
            try:
                return question(member.solver)
            except DeviceError as error:
                if not self._is_lost(member, error):
                    raise
            finally:
                with self._lock:
                    member.busy -= 1

    @contextmanager
    def _using(self, member: _Member) -> Iterator[None]:
        with self._lock:
            member.busy += 1
        try:
            yield
        finally:
            with self._lock:
                member.busy -= 1

    def _is_lost(self, member: _Member, error: DeviceError) -> bool:
        """Return whether an error means that a device has left the pool, which it has then."""
        with self._lock:
            if member in self._lost:
                return True  # whatever comes from it now
            if not error.is_lost:
                return False
            # It is closed with the pool: others may be using it, and would take that for an error of theirs.
            self._members.remove(member)
            self._lost.append(member)
            left = len(self._members)
        _log.warning("%s is lost, and left out from now on: %s; devices left: %d", member, error, left)
        return True

    def _left(self) -> list[_Member]:
        with self._lock:
            self._check_left()
            return list(self._members)

    def _check_left(self) -> None:
        self._check_open()
        if not self._members:
            error = DeviceError(f"all devices of this pool are lost: {', '.join(map(str, self._lost))}; make another")
            error.is_lost = True
            raise error

    def _check_open(self) -> None:
        if self.closed:
            raise QueryError("this pool has been closed; make another")
        for member in list(self._members):
            _ = member.device.handle  # an error if it has been closed, or belongs to another process

    def _release(self) -> None:
        for dealing in list(self._dealings):
            dealing.stop()
        for member in self._lost:
            with suppress(DeviceError):
                member.solver.close()
        for member in self._members:
            member.solver.close()


def solver_on(
    graph: Graph | PreparedGraph, algorithm: str, device: Devices | None, **parameters: Any
) -> Solver | SolverPool:
    """Return a solver, or a pool of them where several devices are meant."""
    if are_several(device):
        return SolverPool(graph, algorithm, device, **parameters)
    one: Any = device
    return Solver(graph, algorithm, one, **parameters)
