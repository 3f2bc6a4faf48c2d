"""A graph's arrays on a device."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.solvers.prepare import PreparedGraph, places_of
from vkssp.solvers.reweigh import Reweigher

#: Arcs of a piece, and most arcs of a node that is not cut into pieces.
PIECE = 4096
# What algorithms have here that knows nothing of weights, or the weight of each arc, which can be replaced.
_REWEIGHTED = {"first_out", "rows", "arcs", "incoming"}


class DeviceGraph(Resource):
    """A graph's arrays on a device, shared by all searches there; each is uploaded when first asked for.

    Attributes
    ----------
    prepared : PreparedGraph
        The same on the host.
    num_pieces : int
        How many pieces there are, see `rows`.
    """

    def __init__(self, device: Device, prepared: PreparedGraph, owner: Resource | None = None) -> None:
        super().__init__(owner or device)
        self.device, self.prepared = device, prepared
        # Older than any algorithm on the graph, and so closed after them, though its buffers are made when asked for.
        self._arrays = Resource(self)
        self._lock = threading.RLock()
        self._things: dict[str, Any] = {}
        self._reweigher: Reweigher | None = None
        self._place_in: npt.NDArray[np.int64] | None = None
        self._to_pieces = prepared.arcs_to_pieces(PIECE)
        self.num_pieces = len(self._to_pieces)

    @property
    def num_nodes(self) -> int:
        """Number of nodes on the device."""
        return self.prepared.num_nodes

    @property
    def first_out(self) -> Buffer:
        """Offset of each node's first arc."""

        def make() -> Buffer:
            (first_out,) = self.upload({"first_out": self.prepared.first_out})
            return first_out

        first_out: Buffer = self.shared("first_out", make)
        return first_out

    @property
    def arcs(self) -> Buffer:
        """(head, weight) of each arc; after those of the graph come arcs to the pieces of large nodes."""

        def make() -> Buffer:
            buffer = self._buffer("the arcs", 8 * (self.prepared.num_arcs + self.num_pieces))
            for arcs, offset in ((self.prepared.arcs, 0), (self._to_pieces, self.prepared.arcs.nbytes)):
                if len(arcs):
                    buffer.write(arcs, offset)
            return buffer

        arcs: Buffer = self.shared("arcs", make)
        return arcs

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

    def reweight(self, prepared: PreparedGraph, changed: npt.NDArray[np.int64] | None) -> bool:
        """Put other weights in the place of those on the device, where that is all that there is to do.

        Nothing may be searched meanwhile. Algorithms that are there look at their `is_current` afterwards.

        Parameters
        ----------
        prepared : PreparedGraph
            What `PreparedGraph.reweighted` made of this one's.
        changed : numpy.ndarray, optional
            The caller's ids of the arcs whose weights are others, shape (k,), int64; by default all.

        Returns
        -------
        bool
            Whether it was done. It is not where nodes or arcs are others, nor where algorithms keep things here that
            may follow from weights in ways that only they know: then another graph has to be made.
        """
        with self._lock:
            if prepared.arc is not self.prepared.arc or not self._things.keys() <= _REWEIGHTED:
                return False
            if self._reweigher is None:
                self._reweigher = Reweigher(self.device, self._arrays)
            weight = prepared.graph.weight
            if changed is not None:
                changed = changed[prepared.places(changed) >= 0]
            if "arcs" in self._things:
                if changed is None:
                    self._reweigher.put(self._things["arcs"], prepared.arcs[:, 1])
                else:
                    self._reweigher.put(self._things["arcs"], weight[changed], prepared.places(changed))
            if "incoming" in self._things:
                _, arcs_in, arc_in = self._things["incoming"]
                if changed is None:
                    self._reweigher.put(arcs_in, weight[arc_in])
                else:
                    if self._place_in is None:
                        self._place_in = places_of(arc_in, prepared.graph.num_arcs)
                    self._reweigher.put(arcs_in, weight[changed], self._place_in[changed])
            self.prepared = prepared
            return True

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
        return Buffer(self.device, nbytes, name=name, owner=self._arrays)
