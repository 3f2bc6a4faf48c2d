"""What a traveller has to remember to obey turn restrictions: an automaton over sequences of arcs.

A restriction forbids to end a sequence of arcs with a certain one. Who wants to obey all of them has to know the
longest end of the arcs travelled that begins such a sequence; the automaton of Aho and Corasick (1975) keeps just that.
State 0 remembers nothing. Most arcs begin no sequence, so that there are few other states, unless every arc is to be
remembered, as where the cost of a turn depends on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Path = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Memory:
    """The states and what follows from them.

    Attributes
    ----------
    last : numpy.ndarray
        The arc that each state has just travelled, -1 for state 0, shape (num_states,), int64.
    after : numpy.ndarray
        State of who has travelled an arc and forgotten what was before, shape (num_arcs,), int64.
    forbidden : numpy.ndarray
        States and arcs that must not follow, as state * num_arcs + arc, sorted, int64.
    steps : numpy.ndarray
        States and arcs after which more than the arc is remembered, written in the same way, sorted, int64.
    steps_to : numpy.ndarray
        The states that these lead to, int64.
    """

    last: Indices
    after: Indices
    forbidden: Indices
    steps: Indices
    steps_to: Indices

    def forbids(self, state: Indices, arc: Indices) -> npt.NDArray[np.bool_]:
        """Return whether each arc must not follow each state."""
        return _find(self.forbidden, state * len(self.after) + arc) >= 0

    def next(self, state: Indices, arc: Indices) -> Indices:
        """Return the state after each arc."""
        found = _find(self.steps, state * len(self.after) + arc)
        if len(self.steps) == 0:
            return self.after[arc]
        return np.where(found >= 0, self.steps_to[found], self.after[arc])


def _find(values: Indices, wanted: Indices) -> Indices:
    """Return where in sorted values each of those wanted is, -1 where it is not."""
    if len(values) == 0:
        return np.full(len(wanted), -1, np.int64)
    index = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[index] == wanted, index, -1)


def make_memory(
    forbidden: Sequence[Path], commanded: Sequence[Path], tail: Indices, head: Indices, *, all_arcs: bool
) -> Memory:
    """Return the automaton that obeys restrictions.

    Parameters
    ----------
    forbidden : sequence of tuple of int
        Arcs of which the last must not follow the others.
    commanded : sequence of tuple of int
        Arcs of which no other than the last may follow the others. Where several command after the same arcs, each of
        them may be obeyed.
    tail, head : numpy.ndarray
        Nodes of the arcs, shape (num_arcs,) each.
    all_arcs : bool
        Whether every arc is remembered.
    """
    num_arcs = len(tail)
    states: dict[Path, int] = {}
    count = 1 + num_arcs if all_arcs else 1
    taboo: dict[Path, set[int]] = defaultdict(set)
    allowed: dict[Path, set[int]] = defaultdict(set)
    for paths, arcs in ((forbidden, taboo), (commanded, allowed)):
        for path in paths:
            for size in range(1, len(path)):
                if path[:size] in states:
                    continue
                if all_arcs and size == 1:
                    states[path[:1]] = 1 + path[0]
                else:
                    states[path[:size]] = count
                    count += 1
            arcs[path[:-1]].add(path[-1])
    if allowed:
        by_tail = np.argsort(tail, kind="stable")
        ends = np.array([head[path[-1]] for path in allowed])
        low, high = (np.searchsorted(tail[by_tail], ends, side) for side in ("left", "right"))
        for (path, arcs_allowed), a, b in zip(allowed.items(), low.tolist(), high.tolist(), strict=True):
            taboo[path] |= set(by_tail[a:b].tolist()) - arcs_allowed

    steps: dict[Path, dict[int, int]] = defaultdict(dict)
    for path, state in states.items():
        if len(path) > 1:
            steps[path[:-1]][path[-1]] = state
    # What holds after the longest end of a path that is a state holds after the path; its own steps remember more.
    for path in sorted(states, key=len):
        end = next((path[at:] for at in range(1, len(path)) if path[at:] in states), None)
        if end is not None:
            taboo[path] |= taboo[end]
            steps[path] = steps[end] | steps[path]

    last, after = np.full(count, -1, np.int64), np.zeros(num_arcs, np.int64)
    if all_arcs:
        last[1 : num_arcs + 1] = np.arange(num_arcs)
        after = 1 + np.arange(num_arcs)
    for path, state in states.items():
        last[state] = path[-1]
        if len(path) == 1:
            after[path[0]] = state
    pairs = sorted(states[path] * num_arcs + arc for path, arcs in taboo.items() for arc in arcs)
    links = sorted((states[path] * num_arcs + arc, to) for path, arcs in steps.items() for arc, to in arcs.items())
    return Memory(
        last=last,
        after=after,
        forbidden=np.array(pairs, np.int64),
        steps=np.array([key for key, _ in links], np.int64),
        steps_to=np.array([to for _, to in links], np.int64),
    )
