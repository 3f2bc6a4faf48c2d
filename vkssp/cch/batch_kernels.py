"""Kernels of the host for the paths of many searches: the pairs that a device searches, and the paths that it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.csr import UNREACHABLE
from vkssp.jit import jit

Ints = npt.NDArray[np.int64]


@jit
def end_of_batch(first_seed: Ints, first_target: Ints, begin: int, most: int) -> int:
    """Return the end of the searches from `begin` on that have no more than `most` pairs together.

    The first two arguments are the offsets of each search's first seed, and of its first target.
    """
    total, end = 0, begin
    while end < len(first_seed) - 1:
        total += (first_seed[end + 1] - first_seed[end]) * (first_target[end + 1] - first_target[end])
        if total > most:
            break
        end += 1
    return end


@jit
def count_pairs(first_seed: Ints, first_target: Ints, searches: Any) -> int:
    """Write the first pair of each search and its numbers of seeds and targets, and return the number of pairs."""
    total = np.int64(0)
    for search in range(len(searches)):
        seeds = first_seed[search + 1] - first_seed[search]
        targets = first_target[search + 1] - first_target[search]
        searches[search, 0], searches[search, 1], searches[search, 2] = total, seeds, targets
        total += seeds * targets
    return int(total)


@jit
def put_pairs(
    first_seed: Ints,
    seed: Any,
    seed_offset: Any,
    first_target: Ints,
    target: Any,
    target_offset: Any,
    has_shared: bool,
    pairs: Any,
) -> None:
    """Write the pairs of each search, those of its first seed first; seeds and targets are nodes with offsets.

    If pairs share upward searches, `UNREACHABLE` takes the place of a node that an earlier pair of the search has, and
    the number of the first pair with it that of its offset.
    """
    row, nothing = np.int64(0), np.uint32(UNREACHABLE)
    for search in range(len(first_seed) - 1):
        begin, low = row, first_target[search]
        count = first_target[search + 1] - low
        for i in range(first_seed[search], first_seed[search + 1]):
            for j in range(count):
                pairs[row, 0], pairs[row, 1] = seed[i], seed_offset[i]
                pairs[row, 2], pairs[row, 3] = target[low + j], target_offset[low + j]
                if has_shared and j > 0:
                    pairs[row, 0], pairs[row, 1] = nothing, row - j
                if has_shared and row - begin >= count:
                    pairs[row, 2], pairs[row, 3] = nothing, begin + j
                row += 1


@jit
def put_answers(
    results: Any,
    done: int,
    begin: int,
    searches: Any,
    answers: Any,
    is_saturated: bool,
    num_found: int,
    weight: Any,
    seed: Ints,
    target: Ints,
    first: Ints,
    is_alone: Any,
) -> int:
    """Write the paths of the searches of a submission, without arcs, and return the number of these.

    A row of `results` is a `RESULT`, in which `done` says that a path is known. The searches have the numbers from
    `begin` on, `searches` are those of `count_pairs`, and a row of `answers` is the distance of a pair, and whether a
    sum did not fit; `is_saturated` says that this holds for all. There are `num_found` arcs, in which each path has to
    lie. The last arguments are those of `FoundPaths`, with `first` from its second number on, and
    `BatchAnswers.is_alone`.
    """
    total = np.int64(0)
    for row in range(len(results)):
        search = begin + row
        is_beyond = is_saturated
        for pair in range(searches[search, 0], searches[search, 0] + searches[search, 1] * searches[search, 2]):
            is_beyond = is_beyond or answers[pair, 1] != 0
        end = np.uint64(results[row, 4]) + np.uint64(results[row, 5])
        has_path = results[row, 0] == done and end <= np.uint64(num_found) and not is_beyond
        is_alone[search] = is_beyond or (not has_path and results[row, 1] != UNREACHABLE)
        weight[search], seed[search], target[search] = np.uint32(UNREACHABLE), -1, -1
        if has_path:
            weight[search], seed[search], target[search] = results[row, 1], results[row, 2], results[row, 3]
            total += np.int64(results[row, 4])
        first[search + 1] = first[search] + (np.int64(results[row, 4]) if has_path else 0)
    return int(total)


@jit
def put_arcs(results: Any, found: Any, begin: int, first: Ints, arcs: Ints) -> None:
    """Write the arcs of the paths of a submission, one path after the other; see `put_answers`.

    `found` has the arcs of the paths, in any order of these.
    """
    here = np.int64(0)
    for row in range(len(results)):
        at = np.uint64(results[row, 5])
        for i in range(first[begin + row + 1] - first[begin + row]):
            arcs[here] = found[at + np.uint64(i)]
            here += 1
