"""Graph on a device, shared by a solver and its clones; timings of a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO, CPU, VULKAN, Algorithm
from vkssp.algorithms.choice import checked_type
from vkssp.algorithms.phast import Phast
from vkssp.cch.customized import unfit
from vkssp.checks import choice
from vkssp.cpu.device import CpuDevice, CpuGraph
from vkssp.engine.arrays import can_split
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.reduced import ReducedGraph, ReducedSearch
from vkssp.engine.shaders import require
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.instance import choose, list_devices, require_no_fork
from vkssp.graph import Graph, checked_graph
from vkssp.graph.bulk import few_differences
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.locks import ReadersWriterLock, ReentrantLock
from vkssp.prepared.elimination import MOST_NODES
from vkssp.prepared.reduction import REDUCTIONS, reduction_for
from vkssp.prepared.renumbered import ORDERS, RenumberedGraph
from vkssp.resource import Resource

#: Function that takes the current graph and returns a graph with other weights, and the ids of the arcs whose weights
#: differ, or None for all arcs.
WeightsChange = Callable[[Graph], tuple[Graph, npt.NDArray[np.int64] | None]]


@dataclass(frozen=True)
class Timings:
    """Times that a solver has spent, in milliseconds.

    Attributes
    ----------
    setup_ms : float
        Numbering the graph, opening the device, making buffers and pipelines.
    upload_ms : float
        Copying the graph to the device.
    device_ms : float or None
        The last search, by the device's clock; None before the first search.
    download_ms : float or None
        Copying the last distances back; None before the first copy.
    """

    setup_ms: float
    upload_ms: float
    device_ms: float | None
    download_ms: float | None


class SharedWeights:
    """Current weights of all copies of a graph, and the lock between searches and changes.

    Attributes
    ----------
    renumbered : RenumberedGraph
        The graph with the current weights. Assigning this attribute changes the weights. Before the assignment, or
        after an interrupt, a copy on a device may have other weights; it is updated before the next search.
    lock : ReadersWriterLock
        Searches read, changes write.
    """

    def __init__(self, renumbered: RenumberedGraph) -> None:
        self.renumbered, self.lock = renumbered, ReadersWriterLock()

    def changed(self, change: WeightsChange) -> tuple[RenumberedGraph, npt.NDArray[np.int64] | None]:
        """Apply a change, and return the changed graph and the ids of the arcs whose weights differ, None for many."""
        before = self.renumbered.graph
        graph, arcs = change(before)
        if arcs is None and before.num_arcs == graph.num_arcs:
            arcs = few_differences(before.weight, graph.weight)
        return self.renumbered.reweighted(graph, arcs), arcs


class SharedGraph:
    """Graph on a device, closed when the last solver releases it, together with the device if it owns the device.

    Weights may change while no search runs. A search holds `SharedWeights.lock`, and calls `rebuild` first.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph on the host.
    device : Device or CpuDevice
        The device that the graph is uploaded to.
    is_owner : bool
        Whether the device is closed after the graph.
    make : callable
        Returns a prepared graph on the device, perhaps reduced, owned by a resource.
    sweeps : bool
        Whether the graph is meant for sweeps over its hierarchy.
    has_companion : bool
        Whether the CPU may answer queries, too.
    distance_type : DistanceType
        Type of the distances of all searches.

    Attributes
    ----------
    graph : DeviceGraph or CpuGraph
        The graph; replaced if a change of weights cannot be made in place.
    sweeps, has_companion, distance_type
        The parameters.
    weights : SharedWeights
        The current weights. Copies that change together share one object, assigned before their first use.
    """

    def __init__(
        self,
        renumbered: RenumberedGraph,
        device: Device | CpuDevice,
        is_owner: bool,
        make: Callable[[RenumberedGraph, Resource], DeviceGraph | CpuGraph],
        sweeps: bool = False,
        has_companion: bool = False,
        distance_type: DistanceType = BITS_32,
    ) -> None:
        self.distance_type = distance_type
        self.sweeps, self.has_companion = sweeps, has_companion
        self._companion: SharedGraph | None = None
        self.weights, self.device, self._is_owner, self._make = SharedWeights(renumbered), device, is_owner, make
        # Owns the graph; during a change, or after an interrupted one, also the graph before or after the change.
        self._copies = Resource(device)
        try:
            self.graph = make(renumbered, self._copies)
        except BaseException:
            self._copies.close()
            raise
        # Reentrant: garbage collection inside `rebuild` may release a forgotten clone, which takes the lock again.
        self._lock = ReentrantLock()
        self._holders: set[object] = set()

    @property
    def renumbered(self) -> RenumberedGraph:
        """The graph on the host, with the current weights."""
        return self.weights.renumbered

    def set_weights(self, change: WeightsChange) -> None:
        """Change weights as soon as no search runs, all at once or, after an error, not at all.

        Parameters
        ----------
        change : callable
            Takes the current graph and returns a graph with other weights, and the ids of the arcs whose weights
            differ, or None for all arcs.

        Raises
        ------
        QueryError
            If this thread holds the weights.
        """
        with self.weights.lock.writing():
            renumbered, changed = self.weights.changed(change)
            copies = [self] if self._companion is None else [self, self._companion]
            for copy in copies:
                copy.put(renumbered, changed)
            self.weights.renumbered = renumbered
            for copy in copies:
                copy.close_others()

    def put(self, renumbered: RenumberedGraph, changed: npt.NDArray[np.int64] | None) -> None:
        """Update this copy to other weights, in place if possible; they are current once `weights` has them."""
        graph = self.graph
        if graph.has_weights_of is not self.weights.renumbered:
            changed = None  # the changes since then are not known
        if isinstance(graph, DeviceGraph) and graph.reweight(renumbered, changed):
            return
        if graph.has_weights_of is None:
            graph.close()  # it cannot be searched any more
        # Made beside the old graph, which is searched again if the change fails here.
        made = self._make(renumbered, self._copies)
        if isinstance(made, CpuGraph) and isinstance(graph, CpuGraph):
            made.take_over(graph, changed)
        self.graph = made

    def rebuild(self) -> None:
        """Update this copy to the current weights if an interrupted change left others; called before each search."""
        if self.graph.has_weights_of is self.weights.renumbered and len(self._copies.owned) == 1:
            return
        with self._lock.held():
            if self.graph.has_weights_of is not self.weights.renumbered:
                self.put(self.weights.renumbered, None)
            self.close_others()

    def close_others(self) -> None:
        """Close the copies that are not searched any more, and all algorithms on them."""
        for other in self._copies.owned:
            if other is not self.graph:
                other.close()

    def companion(self) -> SharedGraph:
        """Return the same graph on the CPU, with the same weights."""
        with self._lock.held():
            if self._companion is None:
                companion = on_cpu(self.renumbered, CpuDevice(), True, self.sweeps, self.distance_type)
                companion.weights = self.weights
                companion.hold(self)
                self._companion = companion  # last, so that an interrupt leaves none with weights of its own
            return self._companion

    @property
    def core_nodes(self) -> int | None:
        """Number of nodes of the core if the graph is reduced, else None."""
        return self.graph.core.num_nodes if isinstance(self.graph, ReducedGraph) else None

    @property
    def place(self) -> str:
        """Place where searches run, `vkssp.algorithm.VULKAN` or `vkssp.algorithm.CPU`."""
        return VULKAN if isinstance(self.device, Device) else CPU

    @property
    def largest_buffer(self) -> int:
        """Limit of the device on the size of a buffer in bytes; 2**63 on the CPU, which has no limit."""
        return self.device.limits.buffer if isinstance(self.device, Device) else 2**63

    @property
    def free_bytes(self) -> int:
        """Bytes of the device's memory that are free; 2**63 on the CPU, where each search checks what it needs."""
        return self.device.free_bytes() if isinstance(self.device, Device) else 2**63

    @property
    def most_bindings(self) -> int:
        """Limit of the device on the storage buffers of a kernel; 2**63 on the CPU, which has no limit."""
        return self.device.limits.storage_buffers if isinstance(self.device, Device) else 2**63

    @property
    def splits(self) -> bool:
        """Whether searches on the device can read arcs that are in several buffers."""
        return isinstance(self.device, Device) and can_split(self.device)

    def algorithm(self, kind: Any, counting: int, parameters: dict[str, int | None]) -> Algorithm:
        """Return an algorithm with its buffers, on the core if the graph is reduced."""
        if isinstance(self.graph, ReducedGraph):
            return ReducedSearch(self.graph, kind, counting=counting, **parameters)
        # Algorithms for 32 bits only do not take the type.
        of_type = {} if self.distance_type is BITS_32 else {"distance_type": self.distance_type}
        made: Algorithm = kind(self.graph, counting=counting, **of_type, **parameters)
        return made

    def hold(self, holder: object) -> None:
        """Keep the graph open until this holder releases it."""
        self._holders.add(holder)

    def release(self, holder: object) -> None:
        """Remove a holder, and close the graph if it was the last; ignore a holder that is already removed."""
        self._holders.discard(holder)
        if not self._holders:
            try:
                if self._companion is not None:
                    self._companion.release(self)
                self._copies.close()
            finally:
                if self._is_owner:
                    self.device.close()


def on_cpu(
    renumbered: RenumberedGraph, cpu: CpuDevice, is_owner: bool, sweeps: bool, distance_type: DistanceType
) -> SharedGraph:
    """Return a graph on the CPU."""

    def make(graph: RenumberedGraph, owner: Resource) -> CpuGraph:
        return CpuGraph(graph, cpu, owner)

    return SharedGraph(renumbered, cpu, is_owner, make, sweeps, distance_type=distance_type)


def type_for(graph: Graph | RenumberedGraph | SharedGraph, distance_bits: int | None) -> DistanceType:
    """Return the type of distances of so many bits or, of None, the one that a graph needs.

    Raises
    ------
    QueryError
        If there is none of so many bits.
    """
    if distance_bits is None:
        given = graph.graph if isinstance(graph, RenumberedGraph) else graph
        distance_bits = given.distance_bits if isinstance(given, Graph) else BITS_32.bits
    return checked_type(distance_bits)


def checked_reduction(reduction: str | None, algorithm: str, distance_type: DistanceType) -> str:
    """Return the reduction of a graph that a caller asks for, or the default one.

    Raises
    ------
    QueryError
        If there is no such reduction, or no search of a reduced graph for distances of the type.
    """
    if reduction is None:
        reduction = "auto" if algorithm == AUTO else "none"
    choice(reduction, "reduction", REDUCTIONS)
    if distance_type is BITS_32:
        return reduction
    if reduction == "full":
        raise QueryError(
            f"reduction is 'full', but distances of {distance_type.bits} bits are found in whole graphs; leave it out"
        )
    return "none"


def share(
    graph: Graph | RenumberedGraph,
    algorithm: str,
    order: str,
    place: str,
    device: Device | CpuDevice | int | str | None,
    reduction: str,
    is_traced: bool,
    has_companion: bool = False,
    distance_type: DistanceType = BITS_32,
) -> SharedGraph:
    """Return a graph, renumbered and perhaps reduced, on the device where the algorithm runs.

    `has_companion` says whether the CPU may answer queries, too, if the place is a device.
    """
    choice(reduction, "reduction", REDUCTIONS)
    # Before time is spent on the graph.
    if place == VULKAN and not isinstance(device, Device):
        require_no_fork()
    if place == VULKAN and distance_type is not BITS_32:
        _require_able(device, distance_type)
    renumbered, sweeps = renumbered_for(graph, algorithm, order, reduction, is_traced, distance_type=distance_type)
    if place == CPU:
        if reduction == "full":
            raise QueryError("reduction is 'full', but algorithms for the CPU search whole graphs; leave it out")
        cpu = device if isinstance(device, CpuDevice) else CpuDevice()
        _ = cpu.handle  # an error if it has been closed
        return on_cpu(renumbered, cpu, cpu is not device, sweeps, distance_type)
    assert not isinstance(device, CpuDevice)
    opened = device if isinstance(device, Device) else Device(device)
    _ = opened.handle  # an error if it has been closed
    hierarchy = renumbered.hierarchy
    if sweeps and algorithm == AUTO and hierarchy is not None and unfit(opened, hierarchy, renumbered.graph):
        sweeps = False
        if isinstance(graph, Graph):
            renumbered = RenumberedGraph(graph, order)

    has_begun = False

    def make(graph: RenumberedGraph, owner: Resource) -> DeviceGraph:
        nonlocal has_begun
        is_first, has_begun = not has_begun, True
        if sweeps:
            return DeviceGraph(opened, graph, owner)
        # Traces name nodes, and the nodes of a core are not the caller's: a traced search is reduced only on request.
        reduced = reduction_for(graph, "none" if is_traced and reduction == "auto" else reduction)
        # A reduction chosen by "auto" does not pay if its records do not fit on the device.
        if reduced is not None and reduction == "auto" and reduced.records.nbytes > opened.limits.buffer:
            reduced = None
        if reduced is None:
            return DeviceGraph(opened, graph, owner)
        # An elimination takes longer than many searches, and would be repeated for each change of weights.
        eliminates = reduction == "full" or (is_first and reduced.core.num_nodes <= MOST_NODES)
        return ReducedGraph(opened, graph, reduced, owner, eliminates=eliminates)

    try:
        return SharedGraph(renumbered, opened, opened is not device, make, sweeps, has_companion, distance_type)
    except BaseException:
        if opened is not device:
            opened.close()
        raise


def _require_able(device: Any, distance_type: DistanceType) -> None:
    """Raise `DeviceError` if a device that is perhaps not yet open cannot find distances of a type."""
    if isinstance(device, Device):
        require(device.info, distance_type)
        return
    listed = list_devices()
    require(Device.default(listed) if device is None else choose(listed, device), distance_type)


def renumbered_for(
    graph: Graph | RenumberedGraph,
    algorithm: str,
    order: str,
    reduction: str,
    is_traced: bool,
    keep: bool = False,
    distance_type: DistanceType = BITS_32,
) -> tuple[RenumberedGraph, bool]:
    """Return a graph prepared in an order, and whether it is for sweeps, which need the order of the hierarchy."""
    choice(order, "order", ORDERS)
    if not isinstance(graph, RenumberedGraph):
        checked_graph(graph, QueryError)
    # The graph has a hierarchy, and the caller asks for nothing that sweeps lack.
    whole, orders = (graph, (order,)) if isinstance(graph, Graph) else (graph.graph, (order, graph.order))
    is_fit = whole.hierarchy is not None and reduction != "full" and not is_traced and distance_type is BITS_32
    sweeps = algorithm == Phast.NAME or (algorithm == AUTO and is_fit and {*orders} <= {"auto", "hierarchy"})
    if sweeps and reduction == "full":
        raise QueryError("reduction is 'full', but phast sweeps over the hierarchy of the whole graph; leave it out")
    if isinstance(graph, Graph):
        return RenumberedGraph(graph, "hierarchy" if sweeps else order, keep=keep), sweeps
    if not sweeps and order not in ("auto", graph.order):
        raise QueryError(f"order is {order!r}, but the graph was prepared with {graph.order!r}; leave it out")
    if sweeps and graph.hierarchy is None:
        keeps = graph.keeps
        other: RenumberedGraph = graph.derived("for sweeps", lambda: RenumberedGraph(whole, "hierarchy", keep=keeps))
        return other, sweeps
    return graph, sweeps
