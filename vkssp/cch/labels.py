"""Labels on a device: for each node the distances to and from all of its ancestors, made anew for new weights.

One dispatch for each level of supernodes makes them, from the first one down. Each distance is a sum of a weight of the
hierarchy, which is a distance itself, and of a label of an ancestor. Where no finite sum can pass 32 bits, neither of
two labels nor on the way to them, kernels need not look for that; elsewhere there are no labels.
"""

from __future__ import annotations

import contextlib
from itertools import pairwise

import numpy as np

from vkssp.cch.customized import CustomizedHierarchy, check_loops
from vkssp.cch.fronts import MOST_ROUNDS
from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.hierarchy.labels import MOST_MEMORY, UNIT, LabelLayout, Wanted, label_layout_of
from vkssp.locks import ReentrantLock
from vkssp.resource import Resource

#: Largest number of buffers of a direction; see shaders/include/label_rows.glsl.
MOST_PARTS = 8
#: Specialization constant of the shaders: the number of parts.
PARTS_CONSTANT = 6
_IS_SYMMETRIC_CONSTANT = 3
# Storage buffers of the kernel that makes labels, and words of its status.
_BINDINGS, _STATUS_WORDS = 6 + 2 * MOST_PARTS, 3
_UNIT_BYTES = 4 * UNIT
#: Pairs for each node after which labels pay, for the first time and for new weights: guesses for a large GPU.
PAIRS_A_NODE = 4.0, 0.25
# Bytes of a record, and of a row of the table by rank.
_RECORD_BYTES, _ROW_BYTES = 16, 8


def _size_on(device: Device) -> int:
    """Return the number of invocations of a workgroup."""
    return 1 << min(device.tuned["labels.workgroup_size"], device.limits.workgroup_size).bit_length() - 1


def bytes_of(layout: LabelLayout, *, is_symmetric: bool) -> int:
    """Return the bytes of labels on a device; one direction is enough if arcs weigh the same in both."""
    of_nodes = (_RECORD_BYTES + _ROW_BYTES) * len(layout.count)
    return (1 if is_symmetric else 2) * _UNIT_BYTES * layout.units + of_nodes + layout.shared.nbytes


def unfit(customized: CustomizedHierarchy, layout: LabelLayout) -> bool:
    """Return whether the limits of a device do not allow labels, whatever memory is free."""
    device, hierarchy = customized.device, customized.hierarchy
    limits = device.limits
    longest = _UNIT_BYTES * (1 + hierarchy.tree_height // UNIT)
    if not hierarchy.num_nodes or limits.storage_buffers < _BINDINGS or longest > limits.buffer:
        return True
    tables = max(_RECORD_BYTES * hierarchy.num_nodes, layout.shared.nbytes + 4)
    if tables > limits.buffer or len(layout.ends_of_parts(limits.buffer // _UNIT_BYTES)) > MOST_PARTS:
        return True
    if device.info.kind != "cpu":
        return False
    # Rounds of the loops of an invocation, which software devices may end early: for a node, and nodes of a workgroup.
    rounds = int(hierarchy.num_ancestors.max(initial=0)) * (1 + hierarchy.tree_height // _size_on(device))
    levels = np.diff(hierarchy.first_node[hierarchy.first_of_level].astype(np.int64))
    return rounds * -(-int(levels.max(initial=0)) // limits.workgroups) > MOST_ROUNDS


class LabelRows(Resource):
    """Rows of labels in buffers, and the kernels that make them.

    Attributes
    ----------
    records : Buffer
        Of each node the record of its row, see `LabelLayout.records`.
    shared_nodes : Buffer
        See `LabelLayout.shared`; two numbers in a word.
    upward, downward : list of Buffer
        Distances to ancestors and from them, in `MOST_PARTS` buffers, some of which may be the same.
    num_parts : int
        Number of different buffers of a direction.
    """

    def __init__(
        self, customized: CustomizedHierarchy, layout: LabelLayout, owner: Resource, *, is_symmetric: bool
    ) -> None:
        self.device = customized.device
        super().__init__(owner)
        try:
            self._make_buffers(customized, layout, is_symmetric)
            self._record(customized, is_symmetric)
        except BaseException:
            self.close()
            raise

    def _make_buffers(self, customized: CustomizedHierarchy, layout: LabelLayout, is_symmetric: bool) -> None:
        ends = layout.ends_of_parts(self.device.limits.buffer // _UNIT_BYTES)
        self.num_parts, bounds = len(ends), [layout.units_before(rank) for rank in [0, *ends]]
        self.upward = [self._labels("the upward labels", end - begin) for begin, end in pairwise(bounds)]
        self.downward = self.upward
        if not is_symmetric:
            self.downward = [self._labels("the downward labels", end - begin) for begin, end in pairwise(bounds)]
        spare = MOST_PARTS - self.num_parts
        self.upward, self.downward = ([*parts, *parts[:1] * spare] for parts in (self.upward, self.downward))
        records = layout.records(ends)
        shared = layout.shared.reshape(-1)
        self.records = self._upload("the records of labels", records)
        self.shared_nodes = self._upload(
            "the shared nodes", np.append(shared, np.zeros(len(shared) % 2, np.uint16)).view(np.uint32)
        )
        self._rows = self._upload("the rows of labels", np.ascontiguousarray(records[customized.hierarchy.node, :2]))

    def _labels(self, name: str, units: int) -> Buffer:
        return Buffer(self.device, _UNIT_BYTES * units, name=name, owner=self)

    def _upload(self, name: str, values: Uint32s) -> Buffer:
        buffer = Buffer(self.device, values.nbytes, name=name, owner=self)
        buffer.write(values)
        return buffer

    def _record(self, customized: CustomizedHierarchy, is_symmetric: bool) -> None:
        device, hierarchy = self.device, customized.hierarchy
        assert customized.topology is not None
        status = Buffer(device, 4 * _STATUS_WORDS, name="the status of labels", owner=self)
        self._status = Buffer(device, 4 * _STATUS_WORDS, mapped=True, name="the mapped status", owner=self)
        self._timestamps = Timestamps(device, 2, owner=self)
        shader, constants = customized.shader("label_rows")
        kernel = Kernel(
            device,
            shader,
            bindings=_BINDINGS,
            push_constants=2,
            workgroup_size=_size_on(device),
            constants={**constants, _IS_SYMMETRIC_CONSTANT: int(is_symmetric), PARTS_CONSTANT: self.num_parts},
            shared_bytes=4,
            owner=self,
        )
        bound = kernel.on(
            *(customized.supernodes, customized.supernode_of, status, customized.weights),
            *(customized.topology.ancestors, self._rows, *self.upward, *self.downward),
        )
        self._recording = Recording(device, owner=self)
        bounds = hierarchy.first_node[hierarchy.first_of_level].astype(np.int64).tolist()
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(status, 0)
            recording.barrier("transfer", "compute")
            recording.bind(bound)
            for begin, end in pairwise(bounds):
                recording.push(bound, begin, end)
                recording.dispatch(min(end - begin, device.limits.workgroups))
                recording.barrier()
            recording.timestamp(self._timestamps, 1)
            recording.barrier("compute", "transfer")
            recording.copy(status, self._status, 4 * _STATUS_WORDS)
            recording.barrier("all", "all")

    def make(self) -> bool:
        """Make the labels for the weights of the hierarchy, and return whether all sums of two of them fit."""
        self._recording.submit()
        self._recording.wait()
        cut_short, overflow, most = self._status.view().tolist()
        check_loops(self.device, cut_short)
        return not overflow and 2 * most < UNREACHABLE

    @property
    def make_ms(self) -> float:
        """Milliseconds on the device of the last call of `make`."""
        return self._timestamps.between()


class Labels(Resource):
    """Labels of a hierarchy for its present weights, made when they are asked for.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    rows : LabelRows or None
        The labels. Other weights may need other buffers.
    """

    def __init__(self, customized: CustomizedHierarchy, owner: Resource) -> None:
        super().__init__(owner)
        self._customized, self._device, self._lock = customized, customized.device, ReentrantLock()
        self._version, self._are_sound, self._is_symmetric = -1, False, False
        self._wanted = Wanted(customized.hierarchy.num_nodes, *PAIRS_A_NODE)
        self._refused: tuple[int, int | None] | None = None
        self.rows: LabelRows | None = None

    @property
    def layout(self) -> LabelLayout:
        """Places of the rows."""
        return label_layout_of(self._customized.hierarchy)

    @property
    def are_current(self) -> bool:
        """Whether there are labels for the present weights."""
        return self._version == self._customized.version and self._are_sound

    @property
    def are_allocated(self) -> bool:
        """Whether there are buffers of labels, perhaps for other weights."""
        return self.rows is not None and not self.rows.closed

    def pay(self, pairs: int) -> bool:
        """Return whether so many more pairs are found sooner by labels, even if these have to be made."""
        if self.are_current and self.are_allocated:
            return True
        return self._wanted.pays(self._customized.version, pairs, are_allocated=self.are_allocated)

    def ready(self, budget: int | None) -> LabelRows | None:
        """Return the labels for the present weights, which the caller keeps unchanged; None if there can be none.

        Parameters
        ----------
        budget : int, optional
            Bytes that new buffers may take; by default a part of the memory that is free.

        Raises
        ------
        DeviceError
            If the device is lost, or ends long loops early.
        """
        with self._lock.held():
            version, asked = self._customized.version, (self._customized.version, budget)
            if self._version == version and self.are_allocated:
                return self.rows if self._are_sound else None
            if self._refused == asked:
                return None
            self._version = -1
            if self._customized.saturated or unfit(self._customized, self.layout) or not self._make_room(budget):
                self._refused = asked
                return None
            assert self.rows is not None
            self._are_sound = self.rows.make()
            self._version = version
            return self.rows if self._are_sound else None

    def _make_room(self, budget: int | None) -> bool:
        """Make buffers, unless there are some that suit the weights, and return whether there is memory for them."""
        is_symmetric = self._arcs_are_symmetric()
        if self.rows is not None and not self.rows.closed and is_symmetric == self._is_symmetric:
            return True
        if self.rows is not None:
            self.rows.close()
        self._is_symmetric, needed = is_symmetric, bytes_of(self.layout, is_symmetric=is_symmetric)
        free = self._device.free_bytes()
        if needed > min(free, MOST_MEMORY * free if budget is None else budget):
            return False
        # Free memory may be in pieces, or less than the driver says. A lost device raises an error elsewhere, too.
        with contextlib.suppress(DeviceError):
            self.rows = LabelRows(self._customized, self.layout, self, is_symmetric=is_symmetric)
            return True
        return False

    def _arcs_are_symmetric(self) -> bool:
        """Return whether all arcs of the hierarchy weigh as much up as down."""
        device, num_arcs, size = self._device, self._customized.hierarchy.num_arcs, _size_on(self._device)
        with contextlib.ExitStack() as stack:
            found = Buffer(device, 4, mapped=True, name="whether arcs are symmetric", owner=self)
            stack.callback(found.close)
            shader, constants = self._customized.shader("label_symmetry")
            kernel = Kernel(
                device, shader, bindings=2, push_constants=1, workgroup_size=size, constants=constants, owner=self
            )
            stack.callback(kernel.close)
            bound = kernel.on(self._customized.weights, found)
            found.view()[:] = 0
            recording = Recording(device, owner=self)
            stack.callback(recording.close)
            with recording.record():
                recording.barrier("all", "all")
                recording.bind(bound)
                recording.push(bound, num_arcs)
                recording.dispatch_for(bound, num_arcs)
                recording.barrier("all", "all")
            recording.submit()
            recording.wait()
            return not found.view()[0]
