"""Arcs of a graph in the layout of block_resident: by blocks of nodes with consecutive ids.

For most nodes of a road network, all arcs that stay in the node's block fit into a record of four words; a graph with
more arcs for each node has longer records. A search reads a record at once, instead of the ends of a row first and then
its arcs. Lists for each block have the other arcs: those that leave the block, and those that stay in it but are too
heavy for a word or too many for the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE

#: Arcs of a short record, the components of a uvec4 in shaders/include/block_visit.glsl, and of the longest one.
RECORD, MOST_RECORD = 4, 16
#: Bytes of a short record, of an arc outside of records, and of a block's ranges of such arcs.
RECORD_BYTES, OTHER_BYTES, RANGES_BYTES = 4 * RECORD, 12, 16
# Most arcs outside of records, for records to be long enough: measured on cores of NY, see docs/performance-log.md.
_MOST_OUTSIDE = 0.15
# Nodes whose arcs are processed at once, so that temporary arrays are small and stay in the caches.
NODES_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Blocks:
    """Arcs by blocks, without loops, which never improve a distance.

    Attributes
    ----------
    records : numpy.ndarray
        Some arcs of each node that stay in its block. The low `place_bits` bits of a word are the place of the
        head in the block, the others are the weight. A word with the highest weight and the node's own place stands
        for no arc. Shape (num_nodes, arcs of a record), uint32.
    others : numpy.ndarray
        Place of the tail in its block, head, and weight of each other arc, shape (k, 3), uint32.
    ranges : numpy.ndarray
        Beginning and end in `others` of the arcs that leave each block, then of the arcs that stay in it; shape
        (num_blocks, 4), uint32.
    """

    records: npt.NDArray[np.uint32]
    others: npt.NDArray[np.uint32]
    ranges: npt.NDArray[np.uint32]


def place_bits(block: int) -> int:
    """Return the number of bits of a node's place in its block, at least 1, by which weights are shifted."""
    return max(1, block.bit_length() - 1)


def record_for(first_out: npt.NDArray[np.uint32]) -> int:
    """Return the number of arcs of a record that suits a graph, a multiple of `RECORD`.

    Free parts of a record cost as much as arcs, and arcs outside of records cost more. So records are the shortest that
    hold most arcs, and in a graph with hubs no longer than the mean degree asks for.
    """
    degree = np.diff(first_out).astype(np.int64)
    num_arcs = int(degree.sum())
    of_mean = RECORD * -(-num_arcs // (RECORD * max(1, len(degree))))
    for record in range(RECORD, min(of_mean, MOST_RECORD - RECORD) + 1, RECORD):
        if np.maximum(degree - record, 0).sum() <= _MOST_OUTSIDE * num_arcs:
            return record
    return min(max(of_mean, RECORD), MOST_RECORD)


def make_blocks(
    first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32], block: int, record: int = RECORD
) -> Blocks:
    """Return the arcs of a graph by blocks.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc, shape (num_arcs, 2), uint32.
    block : int
        Nodes of a block, a power of two.
    record : int
        Arcs of a record, a multiple of `RECORD`.
    """
    num_nodes, bits = len(first_out) - 1, place_bits(block)
    records = np.empty((num_nodes, record), np.uint32)
    free = np.uint32(UNREACHABLE >> bits << bits & UNREACHABLE)
    nodes = np.arange(num_nodes, dtype=np.uint32)
    records[:] = (nodes & np.uint32(block - 1) | free)[:, None]
    counts = np.zeros((-(-num_nodes // block), 2), np.int64)
    others = [np.empty((0, 3), np.uint32)]
    for some in _dealt(first_out, arcs, block, record):
        head, weight = arcs[some.kept].T
        records.reshape(-1)[some.word] = weight << np.uint32(bits) | head & np.uint32(block - 1)
        others.append(np.column_stack([some.tail & np.uint32(block - 1), arcs[some.other]]))
        counts[some.blocks] = some.counts
    ends = np.cumsum(counts).reshape(-1, 2)
    ranges = np.stack([ends[:, 0] - counts[:, 0], ends[:, 0], ends[:, 0], ends[:, 1]], axis=1).astype(np.uint32)
    return Blocks(records, np.concatenate(others), ranges)


def words_in_blocks(
    first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32], block: int, record: int = RECORD
) -> npt.NDArray[np.int64]:
    """Return the place at which `make_blocks` puts each arc.

    Returns
    -------
    numpy.ndarray
        Index of the arc's word in the flattened `records`, or number of all words of `records` plus index of the arc in
        `others`, or -1 for a loop; shape (num_arcs,), int64.
    """
    result = np.full(len(arcs), -1, np.int64)
    count = record * (len(first_out) - 1)
    for some in _dealt(first_out, arcs, block, record):
        result[some.kept] = some.word
        result[some.other] = np.arange(count, count + len(some.other))
        count += len(some.other)
    return result


def bytes_in_blocks(
    first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32], block: int, record: int = RECORD
) -> tuple[int, int]:
    """Return the bytes that `make_blocks` would take for records and for other arcs."""
    others = sum(len(some.other) for some in _dealt(first_out, arcs, block, record))
    return 4 * record * (len(first_out) - 1), OTHER_BYTES * others


@dataclass(frozen=True, eq=False)
class _Dealt:
    """Places of the arcs of some blocks of nodes.

    Attributes
    ----------
    kept, word : numpy.ndarray
        Arcs in records, and their words.
    other, tail : numpy.ndarray
        Other arcs in their order, and their tails.
    blocks, counts : slice, numpy.ndarray
        The blocks, and for each block the numbers of other arcs that leave it and that stay in it.
    """

    kept: npt.NDArray[np.int64]
    word: npt.NDArray[np.int64]
    other: npt.NDArray[np.int64]
    tail: npt.NDArray[np.uint32]
    blocks: slice
    counts: npt.NDArray[np.int64]


def _dealt(
    first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32], block: int, record: int
) -> Iterator[_Dealt]:
    """Yield the places of arcs, for some whole blocks at a time."""
    num_nodes, bits = len(first_out) - 1, place_bits(block)
    step = max(NODES_AT_ONCE, block)
    for first in range(0, num_nodes, step):
        end = min(first + step, num_nodes)
        begin = int(first_out[first])
        offset = first_out[first : end + 1].astype(np.int64) - begin
        degree = np.diff(offset)
        head, weight = arcs[begin : begin + int(offset[-1])].T
        tail = np.repeat(np.arange(first, end, dtype=np.uint32), degree)
        is_loop = head == tail
        stays = head // np.uint32(block) == tail // np.uint32(block)
        fits = stays & (weight < np.uint32(UNREACHABLE >> bits)) & ~is_loop
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(fits)])
        slot = before[:-1] - np.repeat(before[offset[:-1]], degree)
        is_kept = fits & (slot < record)
        kept, other = np.flatnonzero(is_kept), np.flatnonzero(~is_kept & ~is_loop)
        # Arcs that leave a block come before arcs that stay in it.
        key = (tail[other].astype(np.int64) - first) // block * 2 + stays[other]
        order = np.argsort(key, kind="stable")
        blocks = slice(first // block, -(-end // block))
        counts = np.bincount(key, minlength=2 * (blocks.stop - blocks.start)).reshape(-1, 2)
        word = record * tail[kept].astype(np.int64) + slot[kept]
        yield _Dealt(begin + kept, word, begin + other[order], tail[other[order]], blocks, counts)
