"""CPU in place of a Vulkan device, and the arrays of a renumbered graph on it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp import memory
from vkssp.arrays import in_huge_pages
from vkssp.errors import DeviceError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import require_numba
from vkssp.locks import ReentrantLock
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.resource import Resource


@dataclass(frozen=True)
class CpuInfo:
    """Description of the CPU, with some of the attributes of `DeviceInfo`.

    Attributes
    ----------
    name : str
        Model of the CPU, as far as the system reports it.
    kind : str
        ``"cpu"``.
    driver : str
        Name and version of the compiler.
    api_version : str
        Empty, since no Vulkan is used.
    """

    name: str
    kind: str
    driver: str
    api_version: str


def cpu_model() -> str:
    """Return the name of the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine() or "CPU"


class CpuDevice(Resource):
    """CPU as the device that compiled algorithms run on.

    Attributes
    ----------
    info : CpuInfo
        Description of the CPU.
    upload_s : float
        Seconds that uploads have taken: always 0.

    Raises
    ------
    QueryError
        If numba is not installed.
    """

    upload_s: float = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.info = CpuInfo(cpu_model(), "cpu", f"numba {require_numba().__version__}", "")

    @property
    def handle(self) -> None:
        """None, since a CPU needs no handle; an error if the device has been closed."""
        if self.closed:
            raise DeviceError("this device has been closed; open another")

    def __repr__(self) -> str:
        """Return the CPU's name and the compiler."""
        return f"CpuDevice({self.info.name!r}, {self.info.driver!r})"

    def free_bytes(self) -> int:
        """Return the bytes of memory that are free; 2**63 if unknown."""
        free = memory.free_bytes()
        return 2**63 if free is None else free


#: Name of numbers among what a graph shares that do not depend on weights; see `vkssp.cpu.tree_sweeps`.
NUMBERING = "numbering of trees"


class CpuGraph(Resource):
    """Arrays of a renumbered graph in the form that compiled algorithms take, shared by all searches.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    device : CpuDevice, optional
        The CPU; by default a new `CpuDevice`.
    owner : Resource, optional
        Resource that closes this object.

    Attributes
    ----------
    device : CpuDevice
        The CPU.
    renumbered, has_weights_of : RenumberedGraph
        The graph.
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc, shape (num_arcs, 2), uint32.
    """

    def __init__(
        self, renumbered: RenumberedGraph, device: CpuDevice | None = None, owner: Resource | None = None
    ) -> None:
        super().__init__(owner)
        self.device = CpuDevice() if device is None else device
        self.renumbered = self.has_weights_of = renumbered
        self.first_out, self.arcs = read_only(renumbered.first_out), read_only(renumbered.arcs)
        self._lock = ReentrantLock()
        self._things: dict[str, Any] = {}

    @property
    def num_nodes(self) -> int:
        """Number of nodes; a cycle of weight zero counts as one node."""
        return self.renumbered.num_nodes

    def _own_bytes(self) -> int:
        return array_bytes(self) + sum(map(array_bytes, self._things.values()))

    @cached_property
    def lightest(self) -> int:
        """Weight of the lightest arc; 2**32 - 1 if there are no arcs."""
        return int(self.arcs[:, 1].min()) if len(self.arcs) else UNREACHABLE

    def incoming(self) -> tuple[Uint32s, Uint32s, npt.NDArray[np.int64]]:
        """Return rows of the arcs by head, their tails and weights, and their ids; see `RenumberedGraph.reverse`."""

        def make() -> tuple[Uint32s, Uint32s, npt.NDArray[np.int64]]:
            first_in, arcs_in, arc_in = self.renumbered.reverse()
            return read_only(in_huge_pages(first_in)), read_only(in_huge_pages(arcs_in)), in_huge_pages(arc_in)

        first_in, arcs_in, arc_in = self.shared("incoming", make)
        return first_in, arcs_in, arc_in

    def take_order(self, other: CpuGraph) -> None:
        """Take the order of the arcs by head from a graph that differs in weights, instead of sorting them again."""
        with other._lock.held():
            incoming, numbering = other._things.get("incoming"), other._things.get(NUMBERING)
        if incoming is not None and other.renumbered.arc is self.renumbered.arc:
            if numbering is not None:
                self.shared(NUMBERING, lambda: numbering)
            first_in, arcs_in, arc_in = incoming
            arcs_in = np.stack([arcs_in[:, 0], self.renumbered.graph.weight[arc_in]], axis=1)
            self.shared("incoming", lambda: (first_in, read_only(in_huge_pages(arcs_in)), arc_in))

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, or the earlier result under this name if there is one."""
        with self._lock.held():
            if name not in self._things:
                self._things[name] = make()
            return self._things[name]


def array_bytes(holder: object) -> int:
    """Return the bytes of the arrays in a tuple, or among an object's attributes, also of those in tuples."""
    parts = holder if isinstance(holder, tuple) else vars(holder).values()
    values = [value if isinstance(value, tuple) else (value,) for value in parts]
    return sum(item.nbytes for items in values for item in items if isinstance(item, np.ndarray))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; numba would compile kernels again for writable arrays."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def all_read_only(*arrays: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return read-only views; see `read_only`."""
    return [read_only(array) for array in arrays]
