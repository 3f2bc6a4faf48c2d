"""A graph's arrays on a device."""

from __future__ import annotations

import threading
from typing import Any

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.solvers.prepare import PreparedGraph


class DeviceGraph(Resource):
    """A graph's arrays on a device, uploaded once and shared by all searches there.

    Attributes
    ----------
    prepared : PreparedGraph
        The same on the host.
    first_out, arcs : Buffer
        Rows, and (head, weight) of each arc.
    """

    def __init__(self, device: Device, prepared: PreparedGraph) -> None:
        super().__init__(device)
        self.device, self.prepared = device, prepared
        self._lock = threading.Lock()
        self._incoming: tuple[Buffer, Buffer, Any] | None = None
        try:
            # Both sizes are checked before the first of them is allocated and the first byte is copied.
            self.first_out = self._buffer("first_out", 4 * (prepared.num_nodes + 1))
            self.arcs = self._buffer("the arcs", 8 * prepared.num_arcs)
            self.first_out.write(prepared.first_out)
            if prepared.num_arcs:
                self.arcs.write(prepared.arcs)
        except BaseException:
            self.close()
            raise

    @property
    def num_nodes(self) -> int:
        """Number of nodes on the device."""
        return self.prepared.num_nodes

    def incoming(self) -> tuple[Buffer, Buffer, Any]:
        """Return rows and (tail, weight) of the arcs by head, and their ids; uploaded when first asked for."""
        with self._lock:
            if self._incoming is None:
                first_in, arcs_in, arc_in = self.prepared.reverse()
                rows = self._buffer("first_in", first_in.nbytes)
                rows.write(first_in)
                arcs = self._buffer("the incoming arcs", arcs_in.nbytes)
                if len(arcs_in):
                    arcs.write(arcs_in)
                self._incoming = rows, arcs, arc_in
            return self._incoming

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)
