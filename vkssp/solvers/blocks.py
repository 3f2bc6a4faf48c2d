"""The arcs of a graph in the order in which block_resident wants them: by blocks of nodes with consecutive ids.

Of most nodes of a road network all arcs but those that leave the block fit into a record of four words, which a search
reads at once instead of the row's ends first and then its arcs. What does not fit is in lists for each block: arcs that
leave it, and arcs that stay in it but are too heavy for a word or too many for the record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE

#: Arcs of a record, the components of a uvec4 in shaders/block_resident.comp.
RECORD = 4
# Nodes whose arcs are put in order at once; what that takes beside the result stays small, and in the caches.
_NODES_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Blocks:
    """Arcs by blocks; loops, which improve nothing, are in none.

    Attributes
    ----------
    records : numpy.ndarray
        Some arcs of each node that stay in its block: in each word the weight and, in the low `place_bits` bits, the
        place of the head in the block. The highest weight, with the node's own place, stands for no arc. Shape
        (num_nodes, 4), uint32.
    others : numpy.ndarray
        Place of the tail in its block, head, and weight of each other arc, shape (k, 3), uint32.
    ranges : numpy.ndarray
        Where in `others` those that leave each block begin and end, and those that stay; shape (num_blocks, 4), uint32.
    """

    records: npt.NDArray[np.uint32]
    others: npt.NDArray[np.uint32]
    ranges: npt.NDArray[np.uint32]


def place_bits(block: int) -> int:
    """Return how many bits the place of a node in its block has; one at least, that weights may be shifted by."""
    return max(1, block.bit_length() - 1)


def make_blocks(first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32], block: int) -> Blocks:
    """Put the arcs of a graph in order.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc, shape (num_arcs, 2), uint32.
    block : int
        Nodes of a block, a power of two.
    """
    num_nodes = len(first_out) - 1
    num_blocks = -(-num_nodes // block)
    bits = place_bits(block)
    records = np.empty((num_nodes, RECORD), np.uint32)
    counts = np.empty((num_blocks, 2), np.int64)
    others = []
    step = max(_NODES_AT_ONCE, block)
    for first in range(0, num_nodes, step):
        end = min(first + step, num_nodes)
        begin, stop = int(first_out[first]), int(first_out[end])
        offset = first_out[first : end + 1] - first_out[first]
        degree = offset[1:] - offset[:-1]
        nodes = np.arange(first, end, dtype=np.uint32)
        head, weight = arcs[begin:stop, 0], arcs[begin:stop, 1]
        tail = np.repeat(nodes, degree)
        stays = (head ^ tail) & np.uint32(~(block - 1) & UNREACHABLE) == 0
        fits = stays & (weight < np.uint32(UNREACHABLE >> bits)) & (head != tail)
        before = np.concatenate([[0], np.cumsum(fits, dtype=np.int64)])
        slot = before[:-1] - np.repeat(before[offset[:-1]], degree)
        in_record = np.flatnonzero(fits & (slot < RECORD))
        record = records[first:end]
        record[:] = (nodes & np.uint32(block - 1) | np.uint32((UNREACHABLE >> bits << bits) & UNREACHABLE))[:, None]
        record[tail[in_record] - np.uint32(first), slot[in_record]] = (weight[in_record] << np.uint32(bits)) | (
            head[in_record] & np.uint32(block - 1)
        )
        rest = head != tail
        rest[in_record] = False
        arc = np.flatnonzero(rest)
        # Those that leave a block come before those that stay in it.
        key = (tail[arc] - np.uint32(first)) // np.uint32(block) * np.uint32(2) + stays[arc]
        arc = arc[np.argsort(key, kind="stable")]
        some = slice(first // block, -(-end // block))
        counts[some] = np.bincount(key, minlength=2 * (some.stop - some.start)).reshape(-1, 2)
        others.append(np.stack([tail[arc] & np.uint32(block - 1), head[arc], weight[arc]], axis=1))
    ends = np.cumsum(counts).reshape(-1, 2)
    ranges = np.stack([ends[:, 0] - counts[:, 0], ends[:, 0], ends[:, 0], ends[:, 1]], axis=1).astype(np.uint32)
    return Blocks(records, np.concatenate(others) if others else np.empty((0, 3), np.uint32), ranges)
