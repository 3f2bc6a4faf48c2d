"""Shortest paths of many searches at once by a hierarchy, each from some seeds to some targets."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.pairs import Pairs, label_bytes
from vkssp.cch.unpack import DONE, MOST_JOBS, Unpacker, can_unpack, slots_for
from vkssp.engine.device_graph import DeviceGraph
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import kernels
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
        count, slots, compiled = len(seeds), self._unpacker.slots, kernels("vkssp.cch.batch_kernels")
        searches = np.empty((count, 3), np.int64)
        total = compiled.count_pairs(seeds.first, targets.first, searches)
        # More pairs would take the place of those of the searches before all paths are unpacked.
        are_beside = total + len(pairs) <= self._pairs.most_at_once
        rows = self._pairs.mapped_pairs(total + len(pairs) if are_beside else total)
        has_shared = self._pairs.can_share(len(rows), total)
        ends = seeds.first, seeds.node, seeds.offset, targets.first, targets.node, targets.offset
        compiled.put_pairs(*ends, has_shared, rows)
        rows[total:] = pairs[: len(rows) - total]
        follow = partial(self._unpacker.follow_search, searches[:slots], UNREACHABLE - 1) if total else None
        answers = self._pairs.search_mapped(len(rows), total, follow, has_shared=has_shared)
        is_saturated = self._customized.saturated
        distances, overflow = answers[total:, 0].copy(), answers[total:, 1] != 0
        weight, (seed, target) = np.empty(count, np.uint32), np.empty((2, count), np.int64)
        first, is_alone, arcs = np.zeros(count + 1, np.int64), np.empty(count, np.bool_), list[Indices]()
        for begin in range(0, count, slots):
            unpacked = self._unpacker.paths(searches[begin : begin + slots], UNREACHABLE - 1, begin == 0)
            results = unpacked.results.view(np.uint32).reshape(len(unpacked.results), -1)
            given = results, DONE, begin, searches, answers, is_saturated, len(unpacked.arcs)
            arcs.append(np.empty(compiled.put_answers(*given, weight, seed, target, first, is_alone), np.int64))
            compiled.put_arcs(results, unpacked.arcs, begin, first, arcs[-1])
        if not are_beside:
            distances, overflow, _ = self._pairs.find(pairs)
        overflow |= is_saturated
        every = arcs[0] if len(arcs) == 1 else np.concatenate([np.zeros(0, np.int64), *arcs])
        return BatchAnswers(FoundPaths(weight, seed, target, first, every), is_alone, distances, overflow)
