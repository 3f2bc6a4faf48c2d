"""Questions of several threads that one session answers together, by the ids of the renumbered graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vkssp.algorithm import Algorithm, Terminal
from vkssp.algorithms.phast import Phast
from vkssp.cch.path_batch import MOST_PAIRS, FoundPath, PathBatch, PathSearch
from vkssp.cpu.phast import PhastCpu
from vkssp.graph import Uint32s
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.seed_groups import Groups
from vkssp.solver.micro_batches import Waiting

#: Fewest searches that are made together: their kernels take a moment to be made.
FEW_SEARCHES = 16


@dataclass(frozen=True)
class PathQuestion:
    """Question for the shortest path from any seed to any target."""

    seeds: list[Terminal]
    targets: list[Terminal]


@dataclass(frozen=True, eq=False)
class PairsQuestion:
    """Question for the distances of pairs, shape (k,), and whether each may be unreachable only by overflow."""

    sources: Uint32s
    targets: Uint32s


@dataclass(frozen=True)
class TreeQuestion:
    """Question for the distances from seeds to all nodes up to a limit; by the caller's ids."""

    seeds: Sequence[Terminal]
    limit: int


def answer_pairs(finder: PathBatch, questions: Iterable[Waiting]) -> None:
    """Answer questions for paths and for pairs together; those that have to be answered alone are left.

    Parameters
    ----------
    finder : PathBatch
        Finds the paths.
    questions : iterable of Waiting
        The questions, each a `PathQuestion` or a `PairsQuestion`; others are left.
    """
    paths = [one for one in questions if isinstance(one.question, PathQuestion)]
    others = [one for one in questions if isinstance(one.question, PairsQuestion)]
    searches = [PathSearch(one.question.seeds, one.question.targets) for one in paths]
    begin, is_first = 0, True
    while begin < len(paths) or is_first:
        end, total = begin, 0
        while end < len(paths) and total + searches[end].num_pairs <= MOST_PAIRS:
            total += searches[end].num_pairs
            end += 1
        if end == begin < len(paths):  # a search with too many pairs is made alone
            begin += 1
            continue
        _answer_some(finder, paths[begin:end], searches[begin:end], others if is_first else [])
        begin, is_first = end, False


def find_together(algorithm: Algorithm, seeds: Groups, targets: Groups) -> tuple[FoundPaths, list[int]]:
    """Find the paths of many searches together, if the algorithm can do that.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm.
    seeds, targets : Groups
        Nodes of the renumbered graph; a search for each group, which has one at least.

    Returns
    -------
    tuple of (FoundPaths, list of int)
        The paths, and the numbers of the searches that have to be made alone.
    """
    if len(seeds) < FEW_SEARCHES:
        return FoundPaths.of([None] * len(seeds)), list(range(len(seeds)))
    if isinstance(algorithm, PhastCpu) and (made := algorithm.paths(seeds, targets)) is not None:
        return made[0], np.flatnonzero(made[1]).tolist()
    finder = algorithm.path_batch() if isinstance(algorithm, Phast) else None
    paths = [Waiting(PathQuestion(seeds[at], targets[at])) for at in range(len(seeds))]
    if finder is not None:
        answer_pairs(finder, paths)
    found = [one.result() if one.is_settled else None for one in paths]
    return FoundPaths.of(found), [at for at, one in enumerate(paths) if not one.is_settled]


def _answer_some(
    finder: PathBatch, paths: Sequence[Waiting], searches: Sequence[PathSearch], others: Sequence[Waiting]
) -> None:
    first = np.cumsum([0, *(len(one.question.sources) for one in others)])
    pairs = np.zeros((int(first[-1]), 4), np.uint32)
    for one, begin, end in zip(others, first[:-1].tolist(), first[1:].tolist(), strict=True):
        pairs[begin:end, 0], pairs[begin:end, 2] = one.question.sources, one.question.targets

    def settle_pairs(distances: Uint32s, overflow: np.ndarray) -> None:
        for one, begin, end in zip(others, first[:-1].tolist(), first[1:].tolist(), strict=True):
            one.settle((distances[begin:end], overflow[begin:end]))

    def settle_path(number: int, found: FoundPath | None) -> None:
        if found is not None:
            paths[number].settle(found)

    finder.find(searches, pairs, settle_path, settle_pairs)
