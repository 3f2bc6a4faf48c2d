"""A graph's arrays on a device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.solvers.prepare import PreparedGraph

#: Arcs of a piece, and most arcs of a node that is not cut into pieces.
PIECE = 4096


class DeviceGraph(Resource):
    """A graph's arrays on a device, uploaded once and shared by all searches there.

    Attributes
    ----------
    prepared : PreparedGraph
        The same on the host.
    first_out, arcs : Buffer
        Rows, and (head, weight) of each arc; after those of the graph come arcs to the pieces of large nodes.
    num_pieces : int
        How many pieces there are, see `rows`.
    """

    def __init__(self, device: Device, prepared: PreparedGraph) -> None:
        super().__init__(device)
        self.device, self.prepared = device, prepared
        self._lock = threading.Lock()
        self._things: dict[str, Any] = {}
        try:
            to_pieces = prepared.arcs_to_pieces(PIECE)
            self.num_pieces = len(to_pieces)
            # Sizes are checked before the first of them is allocated and the first byte is copied.
            self.arcs = self._buffer("the arcs", 8 * (prepared.num_arcs + self.num_pieces))
            (self.first_out,) = self.upload({"first_out": prepared.first_out})
            for arcs, offset in ((prepared.arcs, 0), (to_pieces, prepared.arcs.nbytes)):
                if len(arcs):
                    self.arcs.write(arcs, offset)
        except BaseException:
            self.close()
            raise

    @property
    def num_nodes(self) -> int:
        """Number of nodes on the device."""
        return self.prepared.num_nodes

    def rows(self) -> Buffer:
        """Return rows in which nodes of more than `PIECE` arcs are cut into pieces, see `PreparedGraph.split_rows`."""

        def make() -> Buffer:
            (rows,) = self.upload({"the rows": self.prepared.split_rows(PIECE)[0]})
            return rows

        rows: Buffer = self.shared("rows", make)
        return rows

    def incoming(self) -> tuple[Buffer, Buffer, Any]:
        """Return rows and (tail, weight) of the arcs by head, and their ids; uploaded when first asked for."""

        def make() -> Any:
            first_in, arcs_in, arc_in = self.prepared.reverse()
            return *self.upload({"first_in": first_in, "the incoming arcs": arcs_in}), arc_in

        first_in, arcs_in, arc_in = self.shared("incoming", make)
        return first_in, arcs_in, arc_in

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, made when first asked for under this name and kept for all who ask later."""
        with self._lock:
            if name not in self._things:
                self._things[name] = make()
            return self._things[name]

    def upload(self, arrays: Mapping[str, npt.NDArray[Any]]) -> list[Buffer]:
        """Return buffers that hold some arrays, all of them or none; the names are for error messages."""
        buffers: list[Buffer] = []
        try:
            for name, values in arrays.items():
                buffers.append(self._buffer(name, values.nbytes))
            for buffer, values in zip(buffers, arrays.values(), strict=True):
                if values.nbytes:
                    buffer.write(values)
        except BaseException:
            for buffer in buffers:
                buffer.close()
            raise
        return buffers

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)
