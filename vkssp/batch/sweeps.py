"""Sweeps for many searches at once: kernels, and the records of nodes and their first arcs that they read."""

from __future__ import annotations

import numpy as np

from vkssp.batch.needs import Needs
from vkssp.batch.row_writer import SEARCHES_CONSTANT
from vkssp.batch.sweep_order import sweep_order
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.engine.arrays import Array
from vkssp.gpu.buffer import Buffer, uploaded
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.graph import Uint32s
from vkssp.resource import Resource

# Bytes of a node in each buffer of records; storage buffers of the kernels.
_PART_BYTES, _BINDINGS = 16, 10
# Specialization constants, see shaders/include/swept.glsl and shaders/batch/phast_sweep_many.comp.
_SOME_CONSTANT, _SUBTREES_CONSTANT = 3, 4


def sweep_needs(num_nodes: int) -> Needs:
    """Return the sizes of the buffers of `Sweeps`: a record of three parts for each node, and its rank."""
    return Needs(others=(*(_PART_BYTES * num_nodes,) * 3, 4 * num_nodes))


class Sweeps(Resource):
    """Kernels that sweep for many searches at once.

    Parameters
    ----------
    customized : CustomizedHierarchy
        The hierarchy.
    tiles, overflow, status : Buffer
        The distances in tiles, of each search whether a sum did not fit, and the status of kernels of hierarchies.
    swept : numpy.ndarray
        Ranks of the nodes that are swept, ascending, uint32, with all of their ancestors.
    row_of : numpy.ndarray, optional
        The row in a tile of each rank, uint32, if only the nodes that are swept have rows; rows are ranks otherwise.
    num_rows, tile, num_tiles : int
        Number of rows of a tile, of searches of one, and of tiles.
    size : int
        Invocations of a workgroup.
    owner : Resource
        Resource that closes this one.

    Attributes
    ----------
    num_dispatches : int
        Number of dispatches of a sweep.
    """

    def __init__(
        self,
        customized: CustomizedHierarchy,
        tiles: Buffer,
        overflow: Buffer,
        status: Buffer,
        swept: Uint32s,
        row_of: Uint32s | None,
        *,
        num_rows: int,
        tile: int,
        num_tiles: int,
        size: int,
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        device = self.device = customized.device
        self._num_rows, self._tile, self._size, self._num_swept = num_rows, tile, size, len(swept)
        order = sweep_order(customized.hierarchy, swept, device.tuned["sweeps.subtree_nodes"])
        num_subtrees = len(order.first) - 1
        if num_subtrees * (tile // 4) * num_tiles < device.tuned["sweeps.subtree_invocations"]:
            order, num_subtrees = sweep_order(customized.hierarchy, swept, 0), 0
        # The dispatches of each kernel.
        self._spans = [order.levels, [(0, num_subtrees)]] if num_subtrees else [order.levels]
        self.num_dispatches = sum(map(len, self._spans))
        rank_rows = uploaded(device, "the rows of ranks", np.zeros(1, np.uint32) if row_of is None else row_of, self)
        ranks = uploaded(device, "the ranks of swept nodes", order.rank, self)
        first_of = uploaded(device, "the first nodes of subtrees", order.first, self)
        nodes, heads, weights = (
            Buffer(device, _PART_BYTES * len(swept), name=f"the {name} of swept nodes", owner=self)
            for name in ("records", "heads", "weights")
        )
        are_some = {_SOME_CONSTANT: int(row_of is not None)}
        of_hierarchy = customized.supernodes, customized.supernode_of, status, customized.arc_ranges, customized.arcs
        self._packing = self._kernel(customized, "phast_records", 1, are_some).on(
            *of_hierarchy, rank_rows, ranks, nodes, heads, weights
        )
        self._kernels = [
            self._kernel(
                customized,
                "phast_sweep_many",
                6,
                {**are_some, SEARCHES_CONSTANT: tile, _SUBTREES_CONSTANT: are_subtrees},
            )
            for are_subtrees in range(len(self._spans))
        ]
        self._given: tuple[Array, ...] = (nodes, customized.arcs, tiles, overflow, rank_rows, heads, weights, first_of)

    def _kernel(
        self, customized: CustomizedHierarchy, name: str, push_constants: int, constants: dict[int, int]
    ) -> Kernel:
        shader, more = customized.shader(name)
        return Kernel(
            self.device,
            shader,
            bindings=_BINDINGS,
            push_constants=push_constants,
            workgroup_size=self._size,
            constants={**constants, **more},
            owner=self,
        )

    def on(self, labels: Buffer, distances: Buffer) -> list[Bindings]:
        """Return the kernels for levels, and for subtrees if there are any, bound to upward labels with distances."""
        return [kernel.on(*self._given, labels, distances) for kernel in self._kernels]

    def record_packing(self, recording: Recording) -> None:
        """Record the kernel that packs nodes and first arcs for the present weights; a barrier must precede a sweep."""
        recording.bind(self._packing)
        recording.push(self._packing, self._num_swept)
        recording.dispatch_for(self._packing, self._num_swept)

    def record(
        self, recording: Recording, kernels: list[Bindings], num_tiles: int, num_searches: int, seeds_each: int
    ) -> None:
        """Record a sweep for the searches of some tiles, with a barrier after each dispatch.

        Parameters
        ----------
        recording : Recording
            Recording that is being recorded.
        kernels : list of Bindings
            What `on` has returned.
        num_tiles : int
            Number of tiles.
        num_searches, seeds_each : int
            Number of searches that there are labels for, and of seeds of each.
        """
        abreast = self._size // (self._tile // 4)
        for kernel, spans in zip(kernels, self._spans, strict=True):
            recording.bind(kernel)
            for begin, end in spans:
                recording.push(kernel, begin, end, self._num_rows, num_tiles, num_searches, seeds_each)
                parts = -(-(end - begin) // abreast) * num_tiles
                recording.dispatch(min(parts, self.device.limits.workgroups))
                recording.barrier()
