"""Automaton over sequences of arcs: the memory that a traveller needs to obey turn restrictions.

A restriction forbids that a certain arc follows a sequence of arcs. To obey all restrictions, a traveller must know the
longest suffix of the travelled arcs with which such a sequence begins. The automaton of Aho and Corasick (1975) keeps
exactly this suffix. State 0 remembers nothing, and of two states with the same last arc the one that remembers more has
the greater number. Most arcs begin no sequence, so there are few other states, unless every arc has to be remembered,
because the cost of a turn depends on the arc before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.osm.rows import rows_of

Indices = npt.NDArray[np.int64]
Path = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Memory:
    """States and transitions of the automaton.

    Attributes
    ----------
    last : numpy.ndarray
        Last arc travelled in each state, -1 for state 0, shape (num_states,), int64.
    after : numpy.ndarray
        State after each arc if nothing before the arc is remembered, shape (num_arcs,), int64.
    forbidden : numpy.ndarray
        Pairs of a state and an arc that must not follow it, as state * num_arcs + arc, sorted, int64.
    steps : numpy.ndarray
        Pairs of a state and an arc after which more than the arc is remembered, in the same encoding, sorted, int64.
    steps_to : numpy.ndarray
        State to which each of `steps` leads, int64.
    """

    last: Indices
    after: Indices
    forbidden: Indices
    steps: Indices
    steps_to: Indices


def make_memory(
    forbidden: Sequence[Path], commanded: Sequence[Path], tail: Indices, head: Indices, *, all_arcs: bool
) -> Memory:
    """Return the automaton that obeys restrictions.

    Parameters
    ----------
    forbidden : sequence of tuple of int
        Sequences of arcs. The last arc must not follow the others.
    commanded : sequence of tuple of int
        Sequences of arcs. Only the last arc may follow the others. If several sequences differ only in the last arc,
        each of these last arcs may follow.
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
            arcs[path[:-1]].add(path[-1])
    begun = dict.fromkeys(path[:size] for path in (*taboo, *allowed) for size in range(1, len(path) + 1))
    for path in sorted(begun, key=len):
        if all_arcs and len(path) == 1:
            states[path] = 1 + path[0]
        else:
            states[path] = count
            count += 1
    if allowed:
        first, by_tail = rows_of(tail, int(max(tail.max(initial=-1), head.max(initial=-1))) + 1)
        ends = np.array([head[path[-1]] for path in allowed])
        rows = zip(first[ends].tolist(), first[ends + 1].tolist(), strict=True)
        for (path, arcs_allowed), (a, b) in zip(allowed.items(), rows, strict=True):
            taboo[path] |= set(by_tail[a:b].tolist()) - arcs_allowed

    steps: dict[Path, dict[int, int]] = defaultdict(dict)
    for path, state in states.items():
        if len(path) > 1:
            steps[path[:-1]][path[-1]] = state
    # What holds for the longest proper suffix that is a state holds for the path, too; the path's own steps remember
    # more and take precedence.
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
