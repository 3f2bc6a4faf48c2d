"""The CPU in place of a Vulkan device, and a graph on it."""

from __future__ import annotations

import platform
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import require_numba
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.resource import Resource


@dataclass(frozen=True)
class CpuInfo:
    """The CPU, described as devices are.

    Attributes
    ----------
    name : str
        Model of the CPU, as far as the system tells.
    kind : str
        ``"cpu"``.
    driver : str
        What compiles for it, with its version.
    api_version : str
        Empty; there is no Vulkan in it.
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
    """CPU, on which compiled algorithms run.

    Attributes
    ----------
    info : CpuInfo
        What it is.
    upload_s : float
        Seconds that uploads have taken: none.

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
        """None; a CPU needs no handle, and works after a fork too."""
        return None


class CpuGraph(Resource):
    """A graph's arrays as the compiled algorithms take them, shared by all searches there.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    device : CpuDevice, optional
        The CPU; one is made where none is given.
    owner : Resource, optional
        What closes it.

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
        self._lock = threading.Lock()
        self._incoming: tuple[Uint32s, Uint32s, npt.NDArray[np.int64]] | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes, of which cycles of zero weight count as one."""
        return self.renumbered.num_nodes

    def _own_bytes(self) -> int:
        return array_bytes(self)

    @cached_property
    def lightest(self) -> int:
        """Weight of the lightest arc; 2**32 - 1 where there is none."""
        return int(self.arcs[:, 1].min()) if len(self.arcs) else UNREACHABLE

    def incoming(self) -> tuple[Uint32s, Uint32s, npt.NDArray[np.int64]]:
        """Return rows and (tail, weight) of the arcs by head, and their ids; made when first asked for."""
        with self._lock:
            if self._incoming is None:
                first_in, arcs_in, arc_in = self.renumbered.reverse()
                self._incoming = read_only(first_in), read_only(arcs_in), arc_in
            return self._incoming


def array_bytes(holder: object) -> int:
    """Return the bytes of the arrays that an object has, alone or in tuples."""
    values = [value if isinstance(value, tuple) else (value,) for value in vars(holder).values()]
    return sum(item.nbytes for items in values for item in items if isinstance(item, np.ndarray))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to; numba compiles once more for arrays that can be."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
