"""Writing of new weights into arrays of arcs on a device: some arcs by their places, or all in their order."""

from __future__ import annotations

import numpy as np

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.resource import Resource

#: Weights of one upload. Larger arrays take several uploads, so this memory suffices for graphs of any size.
MOST_AT_ONCE = 1 << 20


class Reweigher(Resource):
    """Writer of weights into arrays of arcs.

    Parameters
    ----------
    device : Device
        Device that holds the arrays.
    owner : Resource
        Resource that closes the writer.
    """

    def __init__(self, device: Device, owner: Resource) -> None:
        super().__init__(owner)
        self._device = device
        try:
            self._changes = Buffer(device, 8 * MOST_AT_ONCE, name="the changed weights", owner=self)
            size = min(256, device.limits.workgroup_size)
            self._kernel = Kernel(device, "reweigh", bindings=2, push_constants=5, workgroup_size=size, owner=self)
            self._recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise

    def put(
        self, arcs: Buffer, weights: Uint32s, places: np.ndarray | None = None, *, stride: int = 2, offset: int = 1
    ) -> None:
        """Write weights, and wait until the device has them.

        Parameters
        ----------
        arcs : Buffer
            The array.
        weights : numpy.ndarray
            The weights, shape (k,), uint32.
        places : numpy.ndarray, optional
            Arc of the array for each weight, shape (k,), no arc twice; by default the first k arcs.
        stride, offset : int
            Words of an arc in the array, and the word that is the weight; by default an arc is a node and a weight.
        """
        with self._kernel.on(self._changes, arcs) as bound:
            for first in range(0, len(weights), MOST_AT_ONCE):
                piece = weights[first : first + MOST_AT_ONCE]
                changes = [piece] if places is None else [piece, places[first : first + MOST_AT_ONCE].astype(np.uint32)]
                self._changes.write(np.concatenate(changes))
                recording, count = self._recording, len(piece)
                with recording.record():
                    recording.bind(bound)
                    recording.push(bound, count, first, int(places is None), stride, offset)
                    groups = -(-count // self._kernel.workgroup_size)
                    recording.dispatch(min(groups, self._device.limits.workgroups))
                    recording.barrier("all", "all")
                try:
                    recording.submit()
                    recording.wait()
                except BaseException:
                    self.close()  # waits for the device before its buffers are freed
                    raise
