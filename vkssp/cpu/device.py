"""CPU in place of a Vulkan device, and the arrays of a renumbered graph on it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp import memory
from vkssp.arrays import in_huge_pages
from vkssp.errors import DeviceError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import places_in_rows
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
#: Name of the customized hierarchy there; see `vkssp.cpu.customized`.
HIERARCHY = "hierarchy"
#: Name of its labels there; see `vkssp.cpu.labels`.
LABELS = "labels"
#: Name of room for searches in it; see `vkssp.cpu.phast.SpareLabels`.
SPARE = "spare labels"


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
    """

    has_weights_of: RenumberedGraph | None

    def __init__(
        self, renumbered: RenumberedGraph, device: CpuDevice | None = None, owner: Resource | None = None
    ) -> None:
        super().__init__(owner)
        self.device = CpuDevice() if device is None else device
        self.renumbered = self.has_weights_of = renumbered
        self.first_out = read_only(renumbered.first_out)
        self._lock = ReentrantLock()
        self._things: dict[str, Any] = {}
        self._written: Uint32s | None = None  # the arcs by head

    @cached_property
    def arcs(self) -> Uint32s:
        """Head and weight of each arc, shape (num_arcs, 2), uint32."""
        return read_only(self.renumbered.arcs)

    @property
    def num_nodes(self) -> int:
        """Number of nodes; a cycle of weight zero counts as one node."""
        return self.renumbered.num_nodes

    @property
    def is_customized(self) -> bool:
        """Whether the hierarchy has been customized for the weights."""
        return HIERARCHY in self._things

    def _own_bytes(self) -> int:
        things = list(self._things.values())
        return array_bytes(self) + sum(getattr(thing, "nbytes", None) or array_bytes(thing) for thing in things)

    @cached_property
    def lightest(self) -> int:
        """Weight of the lightest arc; 2**32 - 1 if there are no arcs."""
        return int(self.arcs[:, 1].min()) if len(self.arcs) else UNREACHABLE

    def incoming(self) -> tuple[Uint32s, Uint32s, npt.NDArray[np.int64]]:
        """Return rows of the arcs by head, their tails and weights, and their ids; see `RenumberedGraph.reverse`."""

        def make() -> tuple[Uint32s, Uint32s, npt.NDArray[np.int64]]:
            first_in, arcs_in, arc_in = self.renumbered.reverse()
            self._written = self._copy(arcs_in)
            return read_only(in_huge_pages(first_in)), read_only(self._written), in_huge_pages(arc_in)

        first_in, arcs_in, arc_in = self.shared("incoming", make)
        return first_in, arcs_in, arc_in

    @staticmethod
    def _copy(arcs: Uint32s) -> Uint32s:
        """Return a copy of arcs whose weights may be replaced."""
        copy = in_huge_pages(arcs)
        return arcs.copy() if copy is arcs else copy

    def take_over(self, other: CpuGraph, changed: npt.NDArray[np.int64] | None) -> None:
        """Take the data of a graph that differs in weights, which is not searched any more, instead of making them.

        Parameters
        ----------
        other : CpuGraph
            The graph; its `has_weights_of` becomes None.
        changed : numpy.ndarray, optional
            The caller's ids of the arcs whose weights may differ, shape (k,), int64; by default all.
        """
        known, other.has_weights_of = other.has_weights_of, None
        if known is None or other.renumbered.arc is not self.renumbered.arc:
            return
        with other._lock.held():
            things, other._things = other._things, {}
        for name in (NUMBERING, SPARE):
            if name in things:
                self.shared(name, partial(things.__getitem__, name))
        if "incoming" in things and other._written is not None:
            first_in, _, arc_in = things["incoming"]
            weight, written = self.renumbered.graph.weight, other._written
            if changed is None:
                written[:, 1] = weight[arc_in]
            else:
                arcs = self.renumbered.kept(changed)
                heads = self.renumbered.node[self.renumbered.graph.head[arcs]]
                written[places_in_rows(first_in, arc_in, heads, arcs), 1] = weight[arcs]
            self._written = written
            self.shared("incoming", lambda: (first_in, read_only(written), arc_in))
        if HIERARCHY in things and changed is not None:
            self.shared(HIERARCHY, lambda: things[HIERARCHY].changed(self.renumbered.graph, changed))
        if LABELS in things:
            self.shared(LABELS, lambda: things[LABELS].moved(self))

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
