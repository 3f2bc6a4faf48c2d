"""Questions of several threads that one session answers together, by the ids of the renumbered graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Algorithm, Terminal
from vkssp.algorithms.phast import Phast
from vkssp.cch.path_batch import MOST_PAIRS, BatchAnswers, PathBatch
from vkssp.cpu.phast import PhastCpu
from vkssp.graph import Uint32s
from vkssp.graph.csr import bounds_of
from vkssp.jit import kernels
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
    given = list(questions)
    paths = [one for one in given if isinstance(one.question, PathQuestion)]
    others = [one for one in given if isinstance(one.question, PairsQuestion)]
    first = bounds_of([len(one.question.sources) for one in others])
    pairs = np.zeros((int(first[-1]), 4), np.uint32)
    for one, begin, end in zip(others, first[:-1].tolist(), first[1:].tolist(), strict=True):
        pairs[begin:end, 0], pairs[begin:end, 2] = one.question.sources, one.question.targets

    def settle_pairs(distances: Uint32s, overflow: npt.NDArray[np.bool_]) -> None:
        for one, begin, end in zip(others, first[:-1].tolist(), first[1:].tolist(), strict=True):
            one.settle((distances[begin:end], overflow[begin:end]))

    ends = (Groups.of([one.question.seeds for one in paths]), Groups.of([one.question.targets for one in paths]))
    for begin, answers in _batches(finder, *ends, pairs):
        if begin == 0:
            settle_pairs(answers.distances, answers.overflow)
        for number in np.flatnonzero(~answers.is_alone).tolist():
            paths[begin + number].settle(answers.paths.path(number))


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
    if len(seeds) >= FEW_SEARCHES:
        if isinstance(algorithm, PhastCpu) and (made := algorithm.paths(seeds, targets)) is not None:
            return made[0], np.flatnonzero(made[1]).tolist()
        finder = algorithm.path_batch() if isinstance(algorithm, Phast) else None
        if finder is not None:
            parts = [answers for _, answers in _batches(finder, seeds, targets, np.zeros((0, 4), np.uint32))]
            is_alone = parts[0].is_alone if len(parts) == 1 else np.concatenate([part.is_alone for part in parts])
            return FoundPaths.joined([part.paths for part in parts]), np.flatnonzero(is_alone).tolist()
    return FoundPaths.of([None] * len(seeds)), list(range(len(seeds)))


def _batches(finder: PathBatch, seeds: Groups, targets: Groups, pairs: Uint32s) -> Iterator[tuple[int, BatchAnswers]]:
    """Yield the answers of batches of searches, each with the number of its first one; pairs go with the first batch.

    A search with too many pairs for a batch is left to be made alone, in a batch of its own.
    """
    begin, compiled = 0, kernels("vkssp.cch.batch_kernels")
    while begin < len(seeds) or begin == 0:
        end = compiled.end_of_batch(seeds.first, targets.first, begin, MOST_PAIRS)
        is_too_large = end == begin < len(seeds)
        answers = finder.find(seeds.between(begin, end), targets.between(begin, end), pairs)
        if is_too_large:
            alone = FoundPaths.of([None]), np.ones(1, np.bool_)
            end, answers = end + 1, BatchAnswers(*alone, answers.distances, answers.overflow)
        yield begin, answers
        begin, pairs = max(end, 1), pairs[:0]
