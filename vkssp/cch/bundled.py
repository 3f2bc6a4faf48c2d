"""Downward arcs of a customized hierarchy in the order of bundles, as sweeps in shared memory read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vkssp.cch.bundles import Bundles, bundles_of, words_of_bundles
from vkssp.engine.arrays import Array, make_array, of_arrays
from vkssp.gpu.buffer import uploaded
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.gpu.split_buffer import SplitBuffer
from vkssp.graph.hierarchy import Hierarchy
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.cch.customized import CustomizedHierarchy

#: Specialization constant of the kernel: the largest number of nodes of a bundle.
MOST_NODES_CONSTANT = 3
# Bytes of shared memory of a node, and how many of them a bundle takes at most: the rest is for arcs.
_NODE_BYTES, _MOST_PART = 4, 0.5
# Most nodes of a hierarchy with bundles.
_MOST_RANKS = 1 << 20


def most_nodes(device: Device) -> int:
    """Return the largest number of nodes of a bundle; 0 if the device sweeps level by level."""
    return min(device.tuned["bundles.nodes"], int(_MOST_PART * device.limits.shared_memory) // _NODE_BYTES)


def may_bundle(device: Device, hierarchy: Hierarchy) -> bool:
    """Return whether a device sweeps bundles, and a hierarchy is small enough: large ones keep it busy by levels."""
    return most_nodes(device) > 0 and hierarchy.num_nodes <= _MOST_RANKS


class BundledArcs(Resource):
    """Downward arcs of a customized hierarchy by bundles, on its device.

    Another copy of the arcs, which many searches read more often than it costs to write.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy, which owns this object.

    Attributes
    ----------
    bundles : Bundles
        The bundles.
    most_nodes : int
        Largest number of their nodes.
    arcs : Buffer or SplitBuffer
        For each arc the place of the ancestor, and the weight; arcs that sweeps do not need have no finite one.
    tails : Buffer or SplitBuffer
        For each arc the number of its node in its bundle.
    plan : Buffer
        See `words_of_bundles`.
    rank_of : Buffer
        The rank of each place.

    Raises
    ------
    DeviceError
        If the device has no memory for them.
    """

    def __init__(self, customized: CustomizedHierarchy) -> None:
        device, hierarchy = customized.device, customized.hierarchy
        self._customized, self._lock, self._version = customized, ReentrantLock(), -1
        self.most_nodes = most_nodes(device)
        self.bundles: Bundles = bundles_of(hierarchy, self.most_nodes)
        super().__init__(customized)
        try:
            self._make(device)
        except BaseException:
            self.close()
            raise

    def _make(self, device: Device) -> None:
        customized, bundles = self._customized, self.bundles
        is_split = isinstance(customized.weights, SplitBuffer)
        lengths = np.repeat(customized.hierarchy.num_ancestors, customized.hierarchy.size)[bundles.rank]
        first_arc = np.append(0, np.cumsum(lengths))
        self.arcs: Array = make_array(device, 8 * int(lengths.sum()), "the arcs of bundles", self, split=is_split)
        self.plan = uploaded(customized.device, "the bundles", words_of_bundles(bundles, first_arc), self)
        place_of = uploaded(customized.device, "the places of ranks", bundles.place, self)
        self.rank_of = uploaded(customized.device, "the ranks of places", bundles.rank, self)
        bounds = bundles.bundles[:, :2].astype(np.int64)
        of_bundle = np.repeat(bounds[:, 0], bounds[:, 1] - bounds[:, 0])
        firsts = np.zeros((len(lengths) + 1, 2), np.uint32)
        firsts[:-1, 0], firsts[:, 1] = of_bundle, first_arc
        first_of: Array = make_array(device, firsts.nbytes, "the first arcs of places", self, split=is_split)
        first_of.write(firsts)
        tails = np.repeat((np.arange(len(lengths)) - of_bundle).astype(np.uint32), lengths)
        self.tails: Array = make_array(device, tails.nbytes, "the tails of arcs", self, split=is_split, item_bytes=4)
        if tails.nbytes:
            self.tails.write(tails)
        size = min(device.tuned["flat.workgroup_size"], device.limits.workgroup_size)
        shader, constants = of_arrays(device, "phast_bundle_arcs", [self.arcs])
        kernel = Kernel(
            device, shader, bindings=6, push_constants=1, workgroup_size=size, constants=constants, owner=self
        )
        bound = kernel.on(customized.arc_ranges, customized.arcs, self.rank_of, place_of, first_of, self.arcs)
        self._recording = Recording(device, owner=self)
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.bind(bound)
            recording.push(bound, len(lengths))
            recording.dispatch_for(bound, len(lengths))
            recording.barrier("all", "all")

    def update(self) -> None:
        """Let the device bring the arcs up to date before all that is submitted later, if weights have changed."""
        if self._version == self._customized.version:
            return
        with self._lock.held():
            if self._version != self._customized.version:
                version = self._customized.version
                self._recording.wait()
                self._recording.submit()
                self._version = version
