"""Writing of the distances of a batch of sweeps into rows, one for each search, by the caller's ids.

Half of the nodes of a road network are leaves of its hierarchy: no sweep reads their distances. If the rows are to all
nodes, sweeps leave them out. They are computed when rows are written, from distances that are read for the rows anyway,
so that nothing of them is written and read in between.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.engine.arrays import Array
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy
from vkssp.resource import Resource

#: Specialization constant of the shaders: searches of a tile.
SEARCHES_CONSTANT = 2
# Mark of a leaf, see shaders/include/leaves.glsl; side of the squares that rows are transposed by; invocations for the
# labels of a supernode.
_LEAF, _SIDE, _LANES = 0x80000000, 32, 4


def leaves_of(hierarchy: Hierarchy) -> npt.NDArray[np.bool_]:
    """Return whether each rank is a leaf, an ancestor of no other supernode."""
    are_leaves = np.ones(hierarchy.num_nodes, np.bool_)
    are_leaves[hierarchy.ancestor] = False
    return are_leaves


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
        self.num_rows, self.limit, self.size, self.num_wanted = num_rows, limit, size, len(columns)
        self.num_levels, self.labels = customized.hierarchy.num_levels, None
        self._given: list[Array] = [tiles]
        shader, constants, more = "phast_rows", {SEARCHES_CONSTANT: tile}, dict[int, int]()
        if leaves is not None:
            shader, more = customized.shader("phast_leaf_rows")
            self._given = [customized.rows, customized.arcs, tiles, overflow]
            column_of = np.empty_like(columns)
            column_of[columns] = np.arange(len(columns), dtype=np.uint32)
            column_of[leaves] |= np.uint32(_LEAF)
            columns = np.where(leaves[columns], columns | np.uint32(_LEAF), columns)
            self._column_of = self._upload("the columns of nodes", column_of)
            self.labels = Kernel(
                device,
                "phast_leaf_labels",
                bindings=4,
                push_constants=7,
                workgroup_size=size,
                constants=constants,
                owner=self,
            )
        self._columns = self._upload("what is wanted", columns)
        # Searches and columns of a workgroup.
        self.down = self.across = _SIDE
        piece = _SIDE * (_SIDE + 1)
        if leaves is not None:
            quads = min(tile // 4, max(1, size // _SIDE))
            self.down, self.across = tile, size // quads
            piece = self.across * (4 * quads + 1)
        self.rows = Kernel(
            device,
            shader,
            bindings=len(self._given) + 2,
            push_constants=5,
            workgroup_size=size,
            constants={**constants, **more},
            shared_bytes=4 * piece,
            owner=self,
        )

    def _upload(self, name: str, values: Uint32s) -> Buffer:
        buffer = Buffer(self.device, values.nbytes, name=name, owner=self)
        if values.nbytes:
            buffer.write(values)
        return buffer

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
        found = [self.rows.on(*self._given, self._columns, rows, owner=owner)]
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
        writer, most = self._writer, self._writer.device.limits.workgroups
        where = writer.num_wanted, writer.limit, first_row
        recording.bind(self._rows)
        recording.push(self._rows, writer.num_rows, searches, *where)
        pieces = -(-writer.num_wanted // writer.across) * -(-searches // writer.down)
        recording.dispatch(min(max(1, pieces), most))
        for labels in self._labels:
            recording.barrier()
            recording.bind(labels)
            recording.push(labels, writer.num_levels, *self._sizes, searches, *where)
            items = writer.num_levels * self._sizes[0] * searches * _LANES
            recording.dispatch(min(-(-items // writer.size), most))
