"""Gathering of the distances of some nodes on the device, for tables."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkssp.engine.shaders import shader_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import read_values
from vkssp.gpu.host_memory import LEAST_BYTES
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.resource import Resource


class Gather(Resource):
    """Reader of the distances of some nodes after an algorithm's last search.

    Parameters
    ----------
    device : Device
        Device that holds the distances.
    distances : Buffer
        Distances of all nodes, found by an algorithm.
    nodes : numpy.ndarray
        Indices of the nodes in `distances`, shape (k,), uint32.
    owner : Resource
        Resource that closes the reader.
    distance_type : DistanceType
        Type of the distances.

    Attributes
    ----------
    count : int
        Number of nodes.
    gathered : Buffer
        The distances that were read last, in the order of the nodes.
    """

    def __init__(
        self, device: Device, distances: Buffer, nodes: Uint32s, owner: Resource, distance_type: DistanceType = BITS_32
    ) -> None:
        super().__init__(owner)
        self.count, self._dtype, self._unreachable = len(nodes), distance_type.dtype, distance_type.unreachable
        nbytes = distance_type.nbytes * len(nodes)
        try:
            wanted = Buffer(device, nodes.nbytes, name="the nodes to gather", owner=self)
            self.gathered = Buffer(device, nbytes, name="the gathered distances", owner=self)
            self._mapped: Buffer | None = None  # many are copied by several threads
            if nbytes < LEAST_BYTES:
                self._mapped = Buffer(device, nbytes, mapped=True, name="the mapped distances", owner=self)
            size = min(256, device.limits.workgroup_size)
            name = shader_of("gather", distance_type)
            kernel = Kernel(device, name, bindings=3, push_constants=3, workgroup_size=size, owner=self)
            self._bound = kernel.on(distances, wanted, self.gathered)
            self._recording = Recording(device, owner=self)
            wanted.write(nodes)
        except BaseException:
            self.close()
            raise

    def recorded(self, limit: int | None = None) -> Recording:
        """Return the commands that write the distances to `gathered`, alone or in the submission of a search.

        Parameters
        ----------
        limit : int, optional
            Distances beyond it become those of unreachable nodes.
        """
        most = self._unreachable if limit is None else limit
        if self._recording.key != most:
            with self._recording.record(most) as recording:
                recording.barrier("all", "all")
                recording.bind(self._bound)
                recording.push(self._bound, self.count, most & 0xFFFFFFFF, most >> 32)
                recording.dispatch_for(self._bound, self.count)
                recording.barrier("compute", "all")
                if self._mapped is not None:
                    recording.copy(self.gathered, self._mapped, self.gathered.nbytes)
                    recording.barrier("transfer", "host")
        return self._recording

    def read(self) -> npt.NDArray[Any]:
        """Return the distances, in the order of the nodes, shape (k,), uint32 or uint64."""
        recording = self.recorded()
        recording.submit()
        recording.wait()
        return self.taken()

    def taken(self) -> npt.NDArray[Any]:
        """Return the distances that the commands of `recorded` have gathered, as `read` does."""
        if self._mapped is None:
            return read_values(self.gathered, self._dtype, self.count)
        found: npt.NDArray[Any] = self._mapped.view(self._dtype)[: self.count].copy()
        return found
