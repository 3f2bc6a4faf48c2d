"""Solvers that the process of a worker keeps between its tasks: one for each device."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from vkssp.algorithms.choice import is_cpu
from vkssp.cores import limit_cores
from vkssp.cpu.device import CpuDevice
from vkssp.dask.question import Facts, Opened, Question, check_version
from vkssp.dask.step_times import SEARCH, WAIT, timed
from vkssp.errors import DeviceError, DistanceOverflowError, MemoryShortageError
from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.log import logger
from vkssp.resource import Resource
from vkssp.routing.router import Router
from vkssp.solver.several import Devices, chosen
from vkssp.solver.solver import Solver
from vkssp.solver.table_file import Block

_Result = TypeVar("_Result")
_log: logging.Logger = logger(__name__)
# Solvers that a device keeps at most, and questions that each of them keeps what it has prepared for.
_MOST_SOLVERS, _MOST_QUESTIONS = 4, 8
# Seconds of work that the time of a row is measured by, and most rows and bytes of a block meanwhile.
_MEASURED_S, _MOST_MEASURED, _MEASURED_BYTES = 0.2, 1 << 16, 64 << 20
# Times as many rows tell what a block takes besides its rows, unless they take too long.
_MORE, _MOST_MEASURED_S = 4, 2.0


class _Kept:
    """Solver, and what it has prepared for its last questions."""

    def __init__(self, opened: Opened) -> None:
        self.opened, self.scale = opened, opened.solver.graph.scale
        self.prepared: OrderedDict[str, Any] = OrderedDict()

    def prepared_for(self, question: Question) -> Any:
        if question.token not in self.prepared:
            while len(self.prepared) >= _MOST_QUESTIONS:
                _release(self.prepared.popitem(last=False)[1])
            self.prepared[question.token] = question.prepare(self.opened)
        self.prepared.move_to_end(question.token)
        return self.prepared[question.token]

    def close(self) -> None:
        """Close the solver, and those of what it has prepared."""
        while self.prepared:
            _release(self.prepared.popitem()[1])
        self.opened.close()


def _release(prepared: Any) -> None:
    """Close what a solver has prepared, if it holds memory of the device."""
    if isinstance(prepared, Resource):
        prepared.close()


class _Place:
    """Device, with the solvers that it has now; one thread at a time uses it."""

    def __init__(self, selector: Any) -> None:
        self._selector = selector
        self._device: Device | CpuDevice | None = None
        self._solvers: OrderedDict[str, _Kept] = OrderedDict()

    @property
    def kept(self) -> list[_Kept]:
        """The solvers of the device."""
        return list(self._solvers.values())

    def has(self, question: Question) -> bool:
        """Return whether there is a solver for a question."""
        return question.solver_token in self._solvers

    def solver_for(self, question: Question, graphs: _Graphs) -> _Kept:
        """Return the solver for a question, which may have to be made."""
        token = question.solver_token
        if token not in self._solvers:
            graph = graphs.graph_of(question)
            while len(self._solvers) >= _MOST_SOLVERS:
                self._solvers.popitem(last=False)[1].close()
            try:
                opened = question.means.open(graph, self._opened_device())
            except (DeviceError, MemoryShortageError):
                if not self._solvers:
                    raise
                self.close()  # others may have taken the memory
                opened = question.means.open(graph, self._opened_device())
            self._solvers[token] = _Kept(opened)
        self._solvers.move_to_end(token)
        return self._solvers[token]

    def _opened_device(self) -> Device | CpuDevice:
        if isinstance(self._selector, Device | CpuDevice):
            return self._selector
        if self._device is None:
            self._device = CpuDevice() if is_cpu(self._selector) else Device(self._selector)
        return self._device

    def close(self) -> None:
        """Close all solvers, and the device."""
        device, self._device = self._device, None
        while self._solvers:
            self._solvers.popitem()[1].close()
        if isinstance(device, Device):
            device.close()


class _Graphs:
    """Graphs of the solvers of this process, each loaded once."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[str, Graph] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def graph_of(self, question: Question) -> Graph:
        """Return the graph of a question."""
        digest = question.graph.digest
        with self._lock:
            graph = self._known.get(digest)
            if graph is None:
                began = time.perf_counter()
                graph = question.graph.load()
                self._known[digest] = graph
                _log.info("loaded %s in %.1f s", question.graph.path, time.perf_counter() - began)
            return graph


class WorkerSolvers:
    """Solvers of this process by device, for any number of threads: each device works for one of them at a time."""

    def __init__(self) -> None:
        self._devices: Devices | None = None
        self._places: dict[str, _Place] = {}
        self._used: set[_Place] = set()
        self._change = threading.Condition()
        self._graphs = _Graphs()

    def configure(self, devices: Devices | None = None, cores: int | None = None) -> None:
        """Choose the devices, by default those that `vkssp.SolverPool` chooses, and the number of cores."""
        self._devices = devices
        if cores is not None:
            limit_cores(cores)

    def block(self, question: Question, first: int, end: int) -> Block:
        """Return some rows of the answer to a question.

        Raises
        ------
        QueryError
            If another version of vkssp asks, or an argument is invalid.
        FormatError
            If the file of the graph has changed.
        DeviceError
            If the device is lost, and another attempt fails, too.
        DistanceOverflowError
            If a distance does not fit.
        """
        with self._free(question) as place, timed(SEARCH):
            try:
                return self._block(place, question, first, end)
            except DeviceError as error:
                place.close()
                if not error.is_lost:
                    raise
                _log.warning("a device was lost, and is opened again: %s", error)
                return self._block(place, question, first, end)

    def _block(self, place: _Place, question: Question, first: int, end: int) -> Block:
        kept = place.solver_for(question, self._graphs)
        block = question.block(kept.opened, kept.prepared_for(question), first, end)
        if kept.opened.solver.graph.scale != kept.scale:
            place.close()  # the next question begins with the weights of the graph
            raise DistanceOverflowError(
                f"a distance does not fit in units of {kept.scale:g}, and blocks of one result cannot have several "
                "units; give the graph a larger scale, or distance_bits=64"
            )
        return block

    def work(self, question: Question, work: Callable[[Opened], _Result]) -> _Result:
        """Return what a function makes of the solver for a question; errors as `block`."""
        with self._free(question) as place:
            try:
                return work(place.solver_for(question, self._graphs).opened)
            except DeviceError:
                place.close()
                raise

    def facts(self, question: Question) -> Facts:
        """Check a question, and return what is known of its answer, and how long a row takes on a device."""
        with self._free(question) as place:
            kept = place.solver_for(question, self._graphs)
            prepared = kept.prepared_for(question)
            facts = question.facts(kept.opened, prepared)
            block_s, row_s = self._seconds(place, question, facts)
            return replace(facts, block_seconds=block_s, row_seconds=row_s)

    def _seconds(self, place: _Place, question: Question, facts: Facts) -> tuple[float, float]:
        """Return the time of a block, and that of each of its rows."""
        most = min(facts.shape[0], _MOST_MEASURED, max(1, _MEASURED_BYTES // facts.row_bytes))
        if not most:
            return 0.0, 0.0
        rows = 1
        while True:
            seconds = self._timed(place, question, rows)
            if seconds >= _MEASURED_S or rows == most:
                seconds = min(seconds, self._timed(place, question, rows))  # the first time has compiled something
            if seconds >= _MEASURED_S or rows == most:
                break
            wanted = int(rows * _MEASURED_S / max(seconds, 1e-6)) + 1
            rows = min(most, max(2 * rows, min(8 * rows, wanted)))
        more = min(most, _MORE * rows)
        if more == rows or seconds > _MOST_MEASURED_S:
            return 0.0, seconds / rows
        longer = self._timed(place, question, more)
        each = max(longer - seconds, seconds / more) / (more - rows)
        return max(0.0, longer - each * more), each

    def _timed(self, place: _Place, question: Question, rows: int) -> float:
        began = time.perf_counter()
        self._block(place, question, 0, rows)
        return time.perf_counter() - began

    @contextmanager
    def _free(self, question: Question) -> Iterator[_Place]:
        """Wait for a free device, preferably one that has a solver for the question."""
        check_version(question.version)
        with timed(WAIT), self._change:
            places = self._places_for(question)
            while not (free := [place for place in places if place not in self._used]):
                self._change.wait()
            place = next((one for one in free if one.has(question)), free[0])
            self._used.add(place)
        try:
            yield place
        finally:
            with self._change:
                self._used.discard(place)
                self._change.notify_all()

    def _places_for(self, question: Question) -> Sequence[_Place]:
        means = question.means
        reduces = means.parameters.get("reduction") == "full"
        selected, _ = chosen(self._devices, means.algorithm, reduces, means.distance_type)
        for device in selected:
            self._places.setdefault(repr(device), _Place(device))
        return [self._places[repr(device)] for device in selected]

    @property
    def solvers(self) -> list[Solver | Router]:
        """Open solvers of all devices, the last used one of each device at the end."""
        return [one.opened.solver for place in self._places.values() for one in place.kept]

    def close(self) -> None:
        """Close all solvers that no thread uses; those in use are left to the end of the process."""
        with self._change:
            for place in [one for one in self._places.values() if one not in self._used]:
                place.close()


#: Solvers of this process.
SOLVERS = WorkerSolvers()
atexit.register(SOLVERS.close)
