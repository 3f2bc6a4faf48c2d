"""Shortest paths of many searches at once by a hierarchy, each from some seeds to some targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.pairs import Pairs, label_bytes
from vkssp.cch.unpack import PathJob, Unpacker, can_unpack, slots_for
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.resource import Resource

#: Largest number of pairs of a seed and a target of all searches of a batch.
MOST_PAIRS = 512
_SEED_BYTES = 8
# Number of nodes, and of arcs, of a path that there is room for, and largest part of the free memory for all paths.
_MOST_NODES, _MOST_MEMORY = 1 << 14, 0.125


class PathSearch(NamedTuple):
    """Search for a shortest path: seeds and targets by their ranks."""

    seeds: Sequence[Terminal]
    targets: Sequence[Terminal]

    @property
    def num_pairs(self) -> int:
        """Number of pairs of a seed and a target."""
        return len(self.seeds) * len(self.targets)


class FoundPath(NamedTuple):
    """Shortest path: its weight, the indices of its seed and its target, and the ids of its arcs.

    If no path leads there, the weight is `UNREACHABLE`.
    """

    weight: int
    seed: int
    target: int
    arcs: npt.NDArray[np.int64]


_NO_PATH = FoundPath(UNREACHABLE, -1, -1, np.zeros(0, np.int64))


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
            nbytes = _SEED_BYTES * MOST_PAIRS
            self._seeds = Buffer(graph.device, nbytes, mapped=True, name="the seeds of paths", owner=self)
            slots = slots_for(customized.hierarchy, graph.device, _MOST_NODES, _MOST_MEMORY)
            on = self._pairs.labels, self._seeds, self
            self._unpacker = Unpacker(graph, customized, *on, slots, _MOST_NODES)
        except BaseException:
            self.close()
            raise

    def find(
        self,
        searches: Sequence[PathSearch],
        pairs: Uint32s,
        take_path: Callable[[int, FoundPath | None], None],
        take_pairs: Callable[[Uint32s, npt.NDArray[np.bool_]], None],
    ) -> None:
        """Find the paths of searches, and the distances of further pairs, and hand each over as soon as it is known.

        Parameters
        ----------
        searches : sequence of PathSearch
            The searches, of at most `MOST_PAIRS` pairs together.
        pairs : numpy.ndarray
            Rank of the source, its offset, rank of the target, its offset, shape (k, 4), uint32.
        take_path : callable
            Takes the number of a search and its path; None if the search has to be made alone, since a sum did not fit
            into 32 bits, or its paths have too many arcs.
        take_pairs : callable
            Takes the distances of the pairs, uint32, and whether each may be unreachable only by overflow.
        """
        first = np.cumsum([0, *(search.num_pairs for search in searches)])
        of_searches = [(*seed, *target) for search in searches for seed in search.seeds for target in search.targets]
        every = np.concatenate([np.array(of_searches, np.uint32).reshape(-1, 4), pairs])
        found, overflow, _ = self._pairs.find(every, len(of_searches))
        overflow |= self._customized.saturated
        take_pairs(found[len(of_searches) :], overflow[len(of_searches) :])
        self._put_seeds(searches)
        jobs: list[tuple[int, PathJob, int]] = []
        first_seed = 0
        # Lists: the few pairs of each search take less time so than as arrays.
        lengths, overflows = found[: len(of_searches)].tolist(), overflow[: len(of_searches)].tolist()
        for number, search in enumerate(searches):
            begin, end = int(first[number]), int(first[number + 1])
            best = min(lengths[begin:end], default=UNREACHABLE)
            if any(overflows[begin:end]):
                take_path(number, None)
            elif best == UNREACHABLE:
                take_path(number, _NO_PATH)
            else:
                # The first of the nearest targets, and all seeds at that distance from it.
                nearest = [pair for pair in range(end - begin) if lengths[begin + pair] == best]
                target = min(pair % len(search.targets) for pair in nearest)
                numbers = [begin + pair for pair in nearest if pair % len(search.targets) == target]
                jobs.append((number, PathJob(np.array(numbers), best, first_seed, len(search.seeds)), target))
            first_seed += len(search.seeds)
        slots = self._unpacker.slots
        for some in (jobs[first : first + slots] for first in range(0, len(jobs), slots)):
            unpacked = self._unpacker.paths(every, [job for _, job, _ in some])
            for (number, job, target), path in zip(some, unpacked, strict=True):
                seeds = searches[number].seeds
                take_path(number, path and FoundPath(job.best, seeds.index(path[0]), target, path[1]))

    def _put_seeds(self, searches: Sequence[PathSearch]) -> None:
        """Write the seeds of all searches, one search after the other."""
        words = np.array([seed for search in searches for seed in search.seeds], np.uint32).reshape(-1)
        self._seeds.view()[: len(words)] = words
