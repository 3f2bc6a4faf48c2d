"""Labels of the nodes of a query alone: rows of their distances to all ancestors, or from them, made for each query.

Labels of all nodes do not fit into memory for graphs of many millions of nodes. A query with hundreds of nodes needs
few of them. The nodes are sorted in preorder (`vkssp.hierarchy.preorder`): neighbours share the upper parts of their
paths to the root, where nearly all arcs are. A workgroup takes some neighbours and reads the arcs that their paths
share once for all of them (shaders/cch/query_rows.comp). Since weights are perfect, the step of these rows from a
supernode to its ancestors is a product of two matrices, of distances and of weights, with the minimum in place of the
sum and the sum in place of the product.

How many ancestors two nodes of a query share is the least number that neighbours between them share, as in
`vkssp.hierarchy.labels`, but over the nodes of the query only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy, check_loops
from vkssp.cch.fronts import MOST_ROUNDS
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.hierarchy.labels import UNIT
from vkssp.resource import Resource

# Specialization constants of shaders/cch/query_rows.comp: rows of a tile, quadruples of distances in shared memory.
_ROWS_CONSTANT, _ROOM_CONSTANT = 1, 2
#: Quadruples of distances of a tile in shared memory.
ROOM = 512
# Bytes of one there, of a row, and of a workgroup.
_QUADRUPLE_BYTES, _ROW_BYTES, _FIXED_BYTES = 16, 68, 64
_BINDINGS, _FLAT_SIZE = 8, 64
#: Largest number of rows of a direction.
MOST_ROWS = 1 << 16
# Upper bound of the bytes of a buffer of `QueryPlaces` for two rows, one of each direction.
_PLACE_BYTES = 80


class Tile(NamedTuple):
    """Rows of a tile, a power of two, invocations of its workgroup, and quadruples of distances in shared memory."""

    rows: int
    size: int
    room: int


def tile_for(device: Device, count: int) -> Tile:
    """Return the tile for a number of rows."""
    tuned = device.tuned
    many = "many" if count >= tuned["query_labels.many_from"] else "few"
    rows = tuned[f"query_labels.{many}_rows"]
    size = min(tuned[f"query_labels.{many}_size"], device.limits.workgroup_size)
    rows = 1 << min(rows, size).bit_length() - 1
    left = (device.limits.shared_memory - _FIXED_BYTES - _ROW_BYTES * rows) // _QUADRUPLE_BYTES
    return Tile(rows, size, max(rows, min(ROOM, left)))


def stride_of(hierarchy: Hierarchy) -> int:
    """Return the number of words of a row."""
    return UNIT * max(1, -(-hierarchy.tree_height // UNIT))


def rounds_of(hierarchy: Hierarchy, tile: Tile) -> int:
    """Return an upper bound of the rounds of all loops of an invocation that makes rows of labels."""
    first = hierarchy.first_of_level[:-1].astype(np.int64)
    if not len(first):
        return 0
    size = np.maximum.reduceat(hierarchy.size, first)
    columns = np.maximum.reduceat(hierarchy.size + hierarchy.num_ancestors, first)
    items = -(-(tile.rows * (columns // 4 + 1)) // tile.size)
    parts = -(-size * tile.rows // tile.room)
    loads = -(-size * tile.rows // tile.size) + parts
    return int((2 * tile.rows + 1 + loads + items * (size + 8 * parts)).sum())


def most_rows(customized: CustomizedHierarchy, budget: int) -> int:
    """Return the largest number of rows of a direction on a device in so many bytes; 0 if its limits allow none."""
    device, hierarchy = customized.device, customized.hierarchy
    tiles = [tile_for(device, count) for count in (0, MOST_ROWS)]
    shared = max(_FIXED_BYTES + _ROW_BYTES * tile.rows + _QUADRUPLE_BYTES * tile.room for tile in tiles)
    if not hierarchy.num_nodes or device.limits.storage_buffers < _BINDINGS or shared > device.limits.shared_memory:
        return 0
    if device.info.kind == "cpu" and max(rounds_of(hierarchy, tile) for tile in tiles) > MOST_ROUNDS:
        return 0
    row_bytes = 4 * stride_of(hierarchy)
    fitting = (
        min(budget, device.limits.buffer) // row_bytes,
        min(tile.rows for tile in tiles) * device.limits.workgroups,
    )
    return min(MOST_ROWS, *fitting, device.limits.buffer // _PLACE_BYTES)


def may_overflow(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return whether sums of labels, or on the way to them, may be too large, shape (k,), bool.

    Parameters
    ----------
    one, other : numpy.ndarray
        Largest labels of both directions and heaviest arcs, see `QueryRows.extremes`, shape (k, 2) or (2,), int64.
    """
    both = np.maximum(one, other)
    farthest = both[..., 0]
    too_large: npt.NDArray[np.bool_] = farthest + np.maximum(farthest, both[..., 1]) >= UNREACHABLE
    return too_large


class Sent(Resource):
    """Words that the host writes for a recording, and a copy of them in the device's own memory."""

    def __init__(self, device: Device, words: int, name: str, owner: Resource) -> None:
        super().__init__(owner)
        try:
            self._mapped = Buffer(device, 4 * words, mapped=True, name=f"{name}, mapped", owner=self)
            self.buffer = Buffer(device, 4 * words, name=name, owner=self)
        except BaseException:
            self.close()
            raise

    @property
    def words(self) -> Uint32s:
        """What the next recording copies."""
        return self._mapped.view()

    def record(self, recording: Recording, words: int) -> None:
        """Record the copy of the first words."""
        recording.copy(self._mapped, self.buffer, 4 * words)


class QueryRows(Resource):
    """Labels of some nodes in one direction.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    room : int
        Largest number of rows, see `most_rows`.
    is_forward : bool
        Whether distances lead from the nodes to their ancestors, and not back.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    room : int
        As given.
    labels : Buffer
        The rows, each of `stride_of` words.
    """

    def __init__(self, customized: CustomizedHierarchy, room: int, owner: Resource, *, is_forward: bool) -> None:
        super().__init__(owner)
        self.room, self._customized, self._is_forward = room, customized, is_forward
        self._stride, self._kernels = stride_of(customized.hierarchy), dict[Tile, Bindings]()
        device, self._count = customized.device, 0
        self._tile = tile_for(device, 0)
        try:
            self._seeds = Sent(device, 2 * room, "the nodes of a query", self)
            self.labels = Buffer(device, 4 * self._stride * room, name="the labels of a query", owner=self)
            self._status = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the status of labels", owner=self)
            self._extremes = Buffer(device, 8 * room, mapped=True, name="the extremes of labels", owner=self)
        except BaseException:
            self.close()
            raise

    def _bound(self, tile: Tile) -> Bindings:
        if tile not in self._kernels:
            customized = self._customized
            shader, constants = customized.shader("query_rows")
            kernel = Kernel(
                customized.device,
                shader,
                bindings=_BINDINGS,
                push_constants=3,
                workgroup_size=tile.size,
                constants={**constants, _ROWS_CONSTANT: tile.rows, _ROOM_CONSTANT: tile.room},
                shared_bytes=_FIXED_BYTES + _ROW_BYTES * tile.rows + _QUADRUPLE_BYTES * tile.room,
                owner=self,
            )
            self._kernels[tile] = kernel.on(
                *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
                *(customized.ancestor_depth, self._seeds.buffer, self.labels, self._extremes),
            )
        return self._kernels[tile]

    def put(self, ranks: Uint32s, offsets: Uint32s | int) -> None:
        """Take nodes, sorted in preorder, whose rows the next recording makes, and the distances at the nodes."""
        self._count = len(ranks)
        words = self._seeds.words.reshape(-1, 2)[: self._count]
        words[:, 0], words[:, 1] = ranks, offsets
        self._status.view()[:] = 0

    def record_fill(self, recording: Recording) -> None:
        """Record what comes before a barrier between transfers and kernels."""
        self._seeds.record(recording, 2 * self._count)
        recording.fill(self.labels, UNREACHABLE, 4 * self._stride * self._count)

    def record(self, recording: Recording) -> None:
        """Record the kernel that makes the rows, after that barrier."""
        self._tile = tile_for(self._customized.device, self._count)
        bound = self._bound(self._tile)
        recording.bind(bound)
        recording.push(bound, self._count, self._stride, self._is_forward)
        recording.dispatch(-(-self._count // self._tile.rows))

    def extremes(self) -> npt.NDArray[np.int64]:
        """Return the largest finite label of each tile, and the heaviest arc above it, shape (tiles, 2), int64.

        Call this when the device has made the rows.

        Raises
        ------
        DeviceError
            If the device ends long loops early.
        """
        check_loops(self._customized.device, self._status.view()[0])
        tiles: npt.NDArray[np.uint32] = self._extremes.view().reshape(-1, 2)
        return tiles[: -(-self._count // self._tile.rows)].astype(np.int64)

    def extremes_of_rows(self) -> npt.NDArray[np.int64]:
        """Return what `extremes` does for each row, shape (rows, 2), int64."""
        return np.repeat(self.extremes(), self._tile.rows, axis=0)[: self._count]


class Placed(NamedTuple):
    """Rows in preorder: places of their nodes in the hierarchy, ranks, and the fourth words of their records."""

    keys: Uint32s
    ranks: Uint32s
    given: Uint32s


class QueryPlaces(Resource):
    """Records of the rows of a query in preorder, and the numbers of ancestors that neighbours share.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    room : int
        Largest number of rows in both directions.
    owner : Resource
        The resource that closes this one.

    Attributes
    ----------
    records : Buffer
        Of each row its record; see shaders/include/label_record.glsl.
    shared_nodes : Buffer
        See shaders/include/shared_ancestors.glsl.
    row_length : int
        Number of places in a row of it.
    """

    def __init__(self, customized: CustomizedHierarchy, room: int, owner: Resource) -> None:
        super().__init__(owner)
        device, self._count = customized.device, 0
        self._device, self._units = device, stride_of(customized.hierarchy) // UNIT
        self.row_length = room + room % 2
        try:
            self._places = Sent(device, 4 * room, "the places of rows", self)
            self.records = Buffer(device, 16 * room, name="the records of rows", owner=self)
            rows = max(1, room.bit_length())
            self.shared_nodes = Buffer(device, 2 * rows * self.row_length, name="the shared nodes of rows", owner=self)
            status = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the status of places", owner=self)
            self._status = status
            size = min(_FLAT_SIZE, device.limits.workgroup_size)
            shader, constants = customized.shader("query_places")
            of_places = Kernel(
                device, shader, bindings=6, push_constants=1, workgroup_size=size, constants=constants, owner=self
            )
            self._bound = of_places.on(
                *(customized.supernodes, customized.supernode_of, status),
                *(self._places.buffer, self.records, self.shared_nodes),
            )
            minima = Kernel(device, "query_minima", bindings=1, push_constants=3, workgroup_size=size, owner=self)
            self._minima = minima.on(self.shared_nodes)
        except BaseException:
            self.close()
            raise

    def put(self, upward: Placed, downward: Placed) -> None:
        """Take the rows of both directions; the records of the second one follow those of the first."""
        first = len(upward.keys)
        self._count = first + len(downward.keys)
        words = self._places.words.reshape(-1, 4)[: self._count]
        # Both are sorted, and this sort merges them. Of equal keys those of the first direction come first.
        order = np.argsort(np.concatenate([upward.keys, downward.keys]), kind="stable")
        words[:, 0] = np.concatenate([upward.ranks, downward.ranks])[order]
        words[:, 1] = order
        words[:, 2] = self._units * np.where(order < first, order, order - first)
        words[:, 3] = np.concatenate([upward.given, downward.given])[order]
        self._status.view()[:] = 0

    def record_copy(self, recording: Recording) -> None:
        """Record what comes before a barrier between transfers and kernels."""
        self._places.record(recording, 4 * self._count)

    def record(self, recording: Recording) -> None:
        """Record the kernels that make the records; a barrier must follow."""
        recording.bind(self._bound)
        recording.push(self._bound, self._count)
        recording.dispatch_for(self._bound, self._count, 2)
        recording.bind(self._minima)
        for row in range(1, max(1, self._count - 1).bit_length()):
            recording.barrier()
            recording.push(self._minima, self._count, self.row_length, row)
            recording.dispatch_for(self._minima, self._count, 2)

    def check(self) -> None:
        """Raise `DeviceError` if the device has ended long loops early."""
        check_loops(self._device, self._status.view()[0])
