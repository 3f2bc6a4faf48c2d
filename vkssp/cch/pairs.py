"""Distances of pairs of nodes by a hierarchy: upward searches from both nodes, to the ancestors that they share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import PAIR_BYTES, PAIR_FIXED_BYTES, STATUS_WORDS, CustomizedHierarchy, check_loops, height_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import Uint32s
from vkssp.resource import Resource

# Smallest and largest number of pairs that a submission has room for.
_LEAST, _MOST = 64, 1 << 16
# Largest number of pairs that the device processes all at once, faster with more invocations each. Invocations of a
# workgroup for few pairs, for many pairs, and on a software device.
_FEW, _SIZE_FOR_FEW, _SIZE_FOR_MANY, _SOFTWARE_SIZE = 1024, 256, 128, 64
#: Largest number of pairs whose upward labels are kept for unpacking; words of a label.
KEPT, LABEL_WORDS = 16, 4


class Pairs(Resource):
    """Finder of distances of pairs of nodes.

    Parameters
    ----------
    device : Device
        The device of the hierarchy.
    customized : CustomizedHierarchy
        The hierarchy.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    labels : Buffer
        The upward labels of the last pairs, if there were at most `KEPT`: for each pair and both of its nodes the nodes
        on the path to the root, by depth.
    """

    def __init__(self, device: Device, customized: CustomizedHierarchy, owner: Resource) -> None:
        super().__init__(owner)
        self._device, self._customized, self._room = device, customized, 0
        self._parts: list[Resource] = []
        self._kernels: dict[int, Kernel] = {}
        self._ready: dict[int, tuple[Bindings, Recording]] = {}
        try:
            self._status = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the status of pairs", owner=self)
            self._timestamps = Timestamps(device, 2, owner=self)
            words = LABEL_WORDS * 2 * KEPT * height_of(customized.hierarchy)
            self.labels = Buffer(device, 4 * words, name="the upward labels of pairs", owner=self)
        except BaseException:
            self.close()
            raise

    def _make_room(self, count: int) -> None:
        for part in reversed(self._parts):
            part.close()
        self._parts, self._room = [], 0
        device, self._ready = self._device, {}
        room = 1 << (count - 1).bit_length()
        self._pairs = Buffer(device, 16 * room, mapped=True, name="the pairs", owner=self)
        self._answers = Buffer(device, 8 * room, mapped=True, name="the distances of pairs", owner=self)
        self._parts, self._room = [self._pairs, self._answers], room

    def _ready_for(self, count: int) -> tuple[Bindings, Recording]:
        """Return the kernel for a number of pairs, bound to its buffers, and its command buffer."""
        device, customized = self._device, self._customized
        size = _SIZE_FOR_FEW if count <= _FEW else _SIZE_FOR_MANY
        size = min(_SOFTWARE_SIZE if device.info.kind == "cpu" else size, device.limits.workgroup_size)
        if size not in self._kernels:
            height = height_of(customized.hierarchy)
            self._kernels[size] = Kernel(
                device,
                "phast_pairs",
                bindings=8,
                push_constants=2,
                workgroup_size=size,
                constants={1: height},
                shared_bytes=PAIR_BYTES * height + PAIR_FIXED_BYTES,
                owner=self,
            )
        if size not in self._ready:
            bound = self._kernels[size].on(
                *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
                *(customized.ancestor_depth, self._pairs, self._answers, self.labels),
            )
            # Younger than the buffers, so that it is closed, and waited for, before them.
            self._ready[size] = bound, Recording(device, owner=self)
            self._parts += self._ready[size]
        return self._ready[size]

    def find(self, pairs: npt.NDArray[np.uint32]) -> tuple[Uint32s, npt.NDArray[np.bool_], float]:
        """Return the distances of pairs, whether a sum did not fit into 32 bits, and milliseconds on the device.

        Parameters
        ----------
        pairs : numpy.ndarray
            Rank of the source, its offset, rank of the target, its offset, shape (k, 4), uint32.
        """
        found, overflow = np.empty(len(pairs), np.uint32), np.empty(len(pairs), np.bool_)
        milliseconds = 0.0
        for first in range(0, len(pairs), _MOST):
            part = pairs[first : first + _MOST]
            if len(part) > self._room:
                self._make_room(max(_LEAST, len(part)))
            self._pairs.view()[: part.size] = part.reshape(-1)
            self._status.view()[:] = 0
            bound, recording = self._ready_for(len(part))
            with recording.record():
                recording.barrier("all", "all")
                recording.timestamp(self._timestamps, 0)
                recording.bind(bound)
                recording.push(bound, len(part), len(part) if len(pairs) <= KEPT else 0)
                recording.dispatch(min(len(part), self._device.limits.workgroups))
                recording.timestamp(self._timestamps, 1)
                recording.barrier("all", "all")
            recording.submit()
            recording.wait()
            check_loops(self._device, self._status.view()[0])
            answers = self._answers.view().reshape(-1, 2)[: len(part)]
            found[first : first + len(part)] = answers[:, 0]
            overflow[first : first + len(part)] = answers[:, 1] != 0
            milliseconds += self._timestamps.read(1) - self._timestamps.read(0)
        return found, overflow, milliseconds
