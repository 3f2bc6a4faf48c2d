"""A graph where an algorithm takes it, shared by a solver and its clones, and where the time of a solver goes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.prepare import PreparedGraph

if TYPE_CHECKING:
    from vkssp.cpu import Host, HostGraph


@dataclass(frozen=True)
class Timings:
    """Where the time of a solver went, in milliseconds.

    Attributes
    ----------
    setup_ms : float
        Numbering the graph, opening the device, making buffers and pipelines.
    upload_ms : float
        Copying the graph to the device.
    device_ms : float or None
        The last search, by the device's clock; None before the first.
    download_ms : float or None
        Copying the last distances back; None before the first were asked for.
    """

    setup_ms: float
    upload_ms: float
    device_ms: float | None
    download_ms: float | None


class SharedGraph:
    """A graph on a device, and the device if it was opened for it, closed when the last solver lets go."""

    def __init__(self, graph: DeviceGraph | HostGraph, device: Device | Host, is_owner: bool) -> None:
        self.graph, self.device, self._is_owner = graph, device, is_owner
        self._lock, self._holders = threading.Lock(), 0

    def hold(self) -> SharedGraph:
        """Count one more holder, and return the graph itself."""
        with self._lock:
            self._holders += 1
        return self

    def release(self) -> None:
        """Count one holder less; the last one closes it."""
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last:
            self.graph.close()
            if self._is_owner:
                self.device.close()


def share(graph: Graph | PreparedGraph, order: str, runs_on: str, device: Device | int | str | None) -> SharedGraph:
    """Return a graph, prepared, where an algorithm takes it."""
    prepared = PreparedGraph(graph, order) if isinstance(graph, Graph) else graph
    if runs_on == "host":
        # Only those who use it pay for the import of its compiler.
        from vkssp.cpu import Host, HostGraph

        host = Host()
        return SharedGraph(HostGraph(prepared, host), host, True)
    opened = device if isinstance(device, Device) else Device(device)
    _ = opened.handle  # an error if it has been closed
    try:
        return SharedGraph(DeviceGraph(opened, prepared), opened, opened is not device)
    except BaseException:
        if opened is not device:
            opened.close()
        raise
