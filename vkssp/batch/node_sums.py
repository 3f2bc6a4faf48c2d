"""Sums by node over the searches of a batch, made on the device from the tiles of distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.batch.batch_sums import BatchSums
from vkssp.batch.needs import Needs
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording
from vkssp.prepared.aggregates import Int64s, NodeSums
from vkssp.resource import Resource

_SEARCHES = 2  # specialization constant


def sum_needs(num_nodes: int) -> Needs:
    """Return the sizes of the buffers of `NodeSumsBatch`."""
    sums = 8 * NodeSums.NUM_SUMS * num_nodes
    return Needs(others=(sums, sums), read_bytes=sums)


class NodeSumsBatch(BatchSums):
    """Kernel and buffers of sums by node; see `NodeSums`.

    Parameters
    ----------
    device : Device
        The device.
    aggregate : NodeSums
        What is asked for.
    tiles : Buffer
        The tiles of distances.
    overflow : Buffer
        Whether sums of each search did not fit into 32 bits.
    row_of : numpy.ndarray
        Row in a tile of each of the caller's nodes, int64.
    is_limited : bool
        Whether searches of which sums did not fit count, too, since there is a limit.
    num_rows, tile : int
        Rows of a tile, and its searches.
    owner : Resource
        Closes this object.
    """

    def __init__(
        self,
        device: Device,
        aggregate: NodeSums,
        tiles: Buffer,
        overflow: Buffer,
        row_of: npt.NDArray[np.int64],
        is_limited: bool,
        num_rows: int,
        tile: int,
        owner: Resource,
    ) -> None:
        super().__init__(device, aggregate.NUM_SUMS * num_rows, owner)
        self._aggregate, self._row_of, self._is_limited = aggregate, row_of, is_limited
        self._num_rows, self._tile = num_rows, tile
        kernel = Kernel(
            device,
            "aggregate_nodes",
            bindings=3,
            push_constants=5,
            workgroup_size=self._size,
            constants={_SEARCHES: tile},
            owner=self,
        )
        self._adds = [kernel.on(tiles, overflow, sums) for sums in self._sums]

    def _record(self, recording: Recording, parity: int, sums: int, num_tiles: int, searches: int) -> None:
        pushed = self._num_rows, num_tiles, self._aggregate.limit, int(self._is_limited), self._aggregate.bits
        self._run(recording, self._adds[sums], self._num_rows * self._tile // 4, *pushed)

    def _sorted(self, found: Int64s) -> Int64s:
        return np.ascontiguousarray(found.reshape(-1, self._aggregate.NUM_SUMS)[self._row_of].T)
