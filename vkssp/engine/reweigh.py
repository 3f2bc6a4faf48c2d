"""Writing of new weights into arrays of arcs on a device: some arcs by their places, or all in their order."""

from __future__ import annotations

import numpy as np

from vkssp.engine.arrays import Array, of_arrays
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
            self._most = min(MOST_AT_ONCE, device.limits.buffer // 8)
            self._changes = Buffer(device, 8 * self._most, name="the changed weights", owner=self)
            self._kernels: dict[str, Kernel] = {}
            self._recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise

    def _kernel_for(self, arcs: Array) -> Kernel:
        """Return the kernel that writes into an array in one buffer, or in several."""
        device = self._device
        name, constants = of_arrays(device, "reweigh", [arcs])
        if name not in self._kernels:
            size = min(256, device.limits.workgroup_size)
            self._kernels[name] = Kernel(
                device, name, bindings=2, push_constants=5, workgroup_size=size, constants=constants, owner=self
            )
        return self._kernels[name]

    def put(
        self, arcs: Array, weights: Uint32s, places: np.ndarray | None = None, *, stride: int = 2, offset: int = 1
    ) -> None:
        """Write weights, and wait until the device has them.

        Parameters
        ----------
        arcs : Buffer or SplitBuffer
            The array.
        weights : numpy.ndarray
            The weights, shape (k,), uint32.
        places : numpy.ndarray, optional
            Arc of the array for each weight, shape (k,), no arc twice; by default the first k arcs.
        stride, offset : int
            Words of an arc in the array, and the word that is the weight; by default an arc is a node and a weight.
        """
        kernel, most = self._kernel_for(arcs), self._most
        with kernel.on(self._changes, arcs) as bound:
            for first in range(0, len(weights), most):
                piece = weights[first : first + most]
                changes = [piece] if places is None else [piece, places[first : first + most].astype(np.uint32)]
                self._changes.write(np.concatenate(changes))
                recording, count = self._recording, len(piece)
                with recording.record():
                    recording.bind(bound)
                    recording.push(bound, count, first, int(places is None), stride, offset)
                    recording.dispatch_for(bound, count)
                    recording.barrier("all", "all")
                try:
                    recording.submit()
                    recording.wait()
                except BaseException:
                    try:
                        recording.close()  # waits for the device before its buffers are freed
                    finally:
                        self.close()
                    raise
