"""Shortest paths of many searches at once by a hierarchy, each from some seeds to some targets."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.pairs import MOST_AT_ONCE, Pairs, label_bytes
from vkssp.cch.unpack import DONE, MOST_JOBS, Unpacker, can_unpack, joined, slots_for
from vkssp.engine.device_graph import DeviceGraph
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import bounds_of, ranges, within
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

Indices = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
#: Largest number of pairs of a seed and a target of all searches of a batch.
MOST_PAIRS = MOST_JOBS
# Number of nodes, and of arcs, of a path that there is room for, and largest part of the free memory for all paths.
_MOST_NODES, _MOST_MEMORY = 1 << 14, 0.125


class BatchAnswers(NamedTuple):
    """Answers of a batch.

    Attributes
    ----------
    paths : FoundPaths
        The paths of the searches.
    is_alone : numpy.ndarray
        Whether each search has to be made alone, since a sum did not fit into 32 bits, or its paths have too many arcs.
    distances : numpy.ndarray
        Distances of the further pairs, uint32.
    overflow : numpy.ndarray
        Whether each of these may be unreachable only by overflow.
    """

    paths: FoundPaths
    is_alone: Bools
    distances: Uint32s
    overflow: Bools


def can_batch(graph: DeviceGraph, customized: CustomizedHierarchy) -> bool:
    """Return whether the paths of many searches can be unpacked at once."""
    labels = label_bytes(customized.hierarchy, MOST_PAIRS)
    return labels <= graph.device.limits.buffer and can_unpack(graph, customized)


class PathBatch(Resource):
    """Finder of the paths of many searches, and of the distances of pairs beside them.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, renumbered in the order of its hierarchy, without cycles of weight zero.
    customized : CustomizedHierarchy
        Its hierarchy.
    owner : Resource
        The resource that closes this one.
    """

    def __init__(self, graph: DeviceGraph, customized: CustomizedHierarchy, owner: Resource) -> None:
        super().__init__(owner)
        self._customized = customized
        try:
            self._pairs = Pairs(graph.device, customized, self, MOST_PAIRS)
            slots = slots_for(customized.hierarchy, graph.device, _MOST_NODES, _MOST_MEMORY)
            self._unpacker = Unpacker(graph, customized, self._pairs, self, slots, _MOST_NODES)
        except BaseException:
            self.close()
            raise

    def find(self, seeds: Groups, targets: Groups, pairs: Uint32s) -> BatchAnswers:
        """Find the paths of searches, and the distances of further pairs.

        One submission finds all of them, unless there are more searches than slots, or paths need more rounds.

        Parameters
        ----------
        seeds, targets : Groups
            Seeds and targets of each search by their ranks, of `MOST_PAIRS` pairs together; each has one at least.
        pairs : numpy.ndarray
            Rank of the source, its offset, rank of the target, its offset, shape (k, 4), uint32.
        """
        num_seeds, num_targets = np.diff(seeds.first), np.diff(targets.first)
        first = bounds_of(num_seeds * num_targets)
        total, slots = int(first[-1]), self._unpacker.slots
        every = _pairs_of(seeds, targets, num_seeds, num_targets)
        # More pairs would take the place of those of the searches before all paths are unpacked.
        are_beside = total + len(pairs) <= MOST_AT_ONCE
        every = np.concatenate([every, pairs]) if are_beside else every
        searches = np.stack([first[:-1], num_seeds, num_targets], axis=1)
        follow = partial(self._unpacker.follow_search, searches[:slots], UNREACHABLE - 1) if total else None
        found, overflow, _ = self._pairs.find(every, total, follow)
        parts = [
            self._unpacker.paths(searches[begin : begin + slots], UNREACHABLE - 1, begin == 0)
            for begin in range(0, len(searches), slots)
        ]
        if not are_beside:
            of_pairs = self._pairs.find(pairs)
            found, overflow = np.concatenate([found, of_pairs[0]]), np.concatenate([overflow, of_pairs[1]])
        overflow |= self._customized.saturated
        results, arcs = joined(parts)
        is_alone = np.logical_or.reduceat(overflow[:total], first[:-1]) if total else np.zeros(0, np.bool_)
        has_path = (results["done"] == DONE) & ~is_alone
        is_alone |= ~has_path & (results["weight"] != UNREACHABLE)
        counts = np.where(has_path, results["length"], 0).astype(np.int64)
        paths = FoundPaths(
            np.where(has_path, results["weight"], np.uint32(UNREACHABLE)),
            np.where(has_path, results["seed"].astype(np.int64), -1),
            np.where(has_path, results["target"].astype(np.int64), -1),
            bounds_of(counts),
            arcs[ranges(results["first"], counts)],
        )
        return BatchAnswers(paths, is_alone, found[total:], overflow[total:])


def _pairs_of(seeds: Groups, targets: Groups, num_seeds: Indices, num_targets: Indices) -> Uint32s:
    """Return the pairs of each search, those of its first seed first."""
    counts = num_seeds * num_targets
    each, number = np.repeat(num_targets, counts), within(counts)
    of_seed = np.repeat(seeds.first[:-1], counts) + number // each
    of_target = np.repeat(targets.first[:-1], counts) + number % each
    ends = seeds.node[of_seed], seeds.offset[of_seed], targets.node[of_target], targets.offset[of_target]
    return np.stack(ends, axis=1).astype(np.uint32, copy=False)
