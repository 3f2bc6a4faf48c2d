"""Writing of the distances of a batch of sweeps into rows, one for each search, by the caller's ids.

Half of the nodes of a road network are leaves of its hierarchy: no sweep reads their distances. If the rows are to all
nodes, sweeps leave them out. They are computed when rows are written, from distances that are read for the rows anyway,
so that nothing of them is written and read in between. Their arcs are first put side by side, in the order of columns,
while the device waits for upward searches; so no weights are kept that may have changed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.engine.arrays import Array
from vkssp.gpu.buffer import Buffer, uploaded
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: Specialization constant of the shaders: searches of a tile.
SEARCHES_CONSTANT = 2
#: Bytes of the first arcs of a column, see shaders/include/column_arcs.glsl.
RECORD_BYTES = 32
_DOWN_CONSTANT, _ACROSS_CONSTANT = 4, 5
# Searches and columns of a workgroup that computes leaves.
_DOWN, _ACROSS = 32, 64
# Mark of a leaf, see shaders/include/leaves.glsl; side of the squares that rows are transposed by; invocations for the
# labels of a supernode.
_LEAF, _SIDE, _LANES = 0x80000000, 32, 4


def leaves_of(hierarchy: Hierarchy) -> npt.NDArray[np.bool_]:
    """Return whether each rank is a leaf, an ancestor of no other supernode."""
    are_leaves = np.ones(hierarchy.num_nodes, np.bool_)
    are_leaves[hierarchy.ancestor] = False
    return are_leaves


def has_room(device: Device, num_columns: int) -> bool:
    """Return whether the records of the arcs of so many columns fit into a buffer."""
    return RECORD_BYTES * num_columns <= device.limits.buffer


def are_all(wanted: Uint32s, num_nodes: int) -> bool:
    """Return whether some ranks are all ranks, each once, and marks of leaves fit to them."""
    if len(wanted) != num_nodes or num_nodes >= _LEAF:
        return False
    there = np.zeros(num_nodes, np.bool_)
    there[wanted] = True
    return bool(there.all())


class RowWriter(Resource):
    """Kernels that write rows.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    tiles, overflow : Buffer
        The distances in tiles, and of each search whether a sum did not fit.
    columns : numpy.ndarray
        The row in a tile of each column, uint32.
    leaves : numpy.ndarray, optional
        Whether each rank is a leaf that has not been swept. Rows in tiles are ranks then, and each has one column.
    num_rows, tile : int
        Number of rows of a tile, and of searches.
    limit : int
        Distances beyond it count as unreachable.
    size : int
        Invocations of a workgroup.
    owner : Resource
        Resource that closes this one.
    """

    def __init__(
        self,
        customized: CustomizedHierarchy,
        tiles: Buffer,
        overflow: Buffer,
        columns: Uint32s,
        leaves: npt.NDArray[np.bool_] | None,
        *,
        num_rows: int,
        tile: int,
        limit: int,
        size: int,
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        device = self.device = customized.device
        self.num_rows, self.limit, self._size, self.num_wanted = num_rows, limit, size, len(columns)
        self.num_levels, self.labels = customized.hierarchy.num_levels, None
        self._given: list[Array] = [tiles]
        # Searches and columns of a workgroup.
        self.down = self.across = _SIDE
        shader, constants, more = "phast_rows", {SEARCHES_CONSTANT: tile}, dict[int, int]()
        row_size, piece = size, 4 * _SIDE * (_SIDE + 1)
        self._column_arcs: Bindings | None = None
        if leaves is not None:
            column_of = np.empty_like(columns)
            column_of[columns] = np.arange(len(columns), dtype=np.uint32)
            column_of[leaves] |= np.uint32(_LEAF)
            columns = np.where(leaves[columns], columns | np.uint32(_LEAF), columns)
            self._column_of = uploaded(device, "the columns of nodes", column_of, self)
            self.labels = Kernel(
                device,
                "phast_leaf_labels",
                bindings=4,
                push_constants=7,
                workgroup_size=size,
                constants=constants,
                owner=self,
            )
        self._given.append(uploaded(device, "what is wanted", columns, self))
        if leaves is not None:
            down = min(tile, _DOWN)
            self.down, self.across = tile, _ACROSS
            shader, more = customized.shader("phast_leaf_rows")
            self._given = self._with_records(customized, overflow, more | constants)
            more = more | {_DOWN_CONSTANT: down, _ACROSS_CONSTANT: _ACROSS}
            most = min(device.tuned["rows.workgroup_size"], device.limits.workgroup_size)
            row_size = min(1 << most.bit_length() - 1, _ACROSS * down // 4)
            piece = _ACROSS * (4 * (down + 4) + RECORD_BYTES)
        self.rows = Kernel(
            device,
            shader,
            bindings=len(self._given) + 1,
            push_constants=5,
            workgroup_size=row_size,
            constants={**constants, **more},
            shared_bytes=piece,
            owner=self,
        )

    def _with_records(
        self, customized: CustomizedHierarchy, overflow: Buffer, constants: dict[int, int]
    ) -> list[Array]:
        """Return what the kernel of leaves and columns works on; make the records of columns, and their kernel."""
        tiles, columns = self._given
        ranges, arcs = customized.arc_ranges, customized.arcs
        records = Buffer(self.device, RECORD_BYTES * self.num_wanted, name="the arcs of columns", owner=self)
        kernel = Kernel(
            self.device,
            customized.shader("phast_column_arcs")[0],
            bindings=4,
            push_constants=1,
            workgroup_size=self._size,
            constants=constants,
            owner=self,
        )
        self._column_arcs = kernel.on(ranges, arcs, columns, records, owner=self)
        return [ranges, arcs, tiles, overflow, columns, records]

    def record_column_arcs(self, recording: Recording) -> None:
        """Record the kernel that makes the records of columns for the present weights, if there are any."""
        if self._column_arcs is not None:
            recording.bind(self._column_arcs)
            recording.push(self._column_arcs, self.num_wanted)
            recording.dispatch_for(self._column_arcs, self.num_wanted)

    def on(self, rows: Buffer, labels: Buffer, distances: Buffer, seeds_each: int, searches: int) -> WrittenRows:
        """Return the kernels bound to a buffer of rows.

        Parameters
        ----------
        rows : Buffer
            The buffer.
        labels, distances : Buffer
            The upward labels, and their distances.
        seeds_each, searches : int
            Number of seeds of a search that there are labels for, and of searches.
        """
        return WrittenRows(self, rows, labels, distances, (seeds_each, searches))

    def bound_to(self, rows: Buffer, labels: Buffer, distances: Buffer, owner: Resource) -> list[Bindings]:
        """Return the kernel that writes rows, bound to a buffer, and the one of labels, if there is one."""
        found = [self.rows.on(*self._given, rows, owner=owner)]
        if self.labels is not None:
            found.append(self.labels.on(labels, distances, self._column_of, rows, owner=owner))
        return found


class WrittenRows(Resource):
    """Buffer of rows with the kernels that write to it; see `RowWriter.on`."""

    def __init__(
        self, writer: RowWriter, rows: Buffer, labels: Buffer, distances: Buffer, sizes: tuple[int, int]
    ) -> None:
        super().__init__(writer)
        self._writer, self._sizes = writer, sizes
        self._rows, *self._labels = writer.bound_to(rows, labels, distances, self)

    def record(self, recording: Recording, searches: int, first_row: int) -> None:
        """Record the commands that write the rows of some searches, from a row on."""
        writer = self._writer
        where = writer.num_wanted, writer.limit, first_row
        recording.bind(self._rows)
        recording.push(self._rows, writer.num_rows, searches, *where)
        pieces = -(-writer.num_wanted // writer.across) * -(-searches // writer.down)
        recording.dispatch(min(max(1, pieces), writer.device.limits.workgroups))
        for labels in self._labels:
            recording.barrier()
            recording.bind(labels)
            recording.push(labels, writer.num_levels, *self._sizes, searches, *where)
            recording.dispatch_for(labels, writer.num_levels * self._sizes[0] * searches * _LANES)
