"""Kernels that make a graph whose nodes are pairs of a junction and what is remembered there; see `vkssp.osm.turns`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.osm.kernels.places import first_from

Ints = npt.NDArray[Any]


@jit_part
def _index_of(values: Ints, begin: Any, end: Any, wanted: Any) -> Any:
    """Return the index of a value in a part of an array that is sorted, or -1."""
    found = first_from(values, begin, end, wanted)
    return found if found < end and values[found] == wanted else np.int64(-1)


@jit
def find_nodes(keys: Ints, num_states: int, node_first: Ints) -> None:
    """Find the offset of each junction's first key in sorted keys, which are ``junction * num_states + state``."""
    node = 0
    for i in range(len(keys)):
        while node <= keys[i] // num_states:
            node_first[node] = i
            node += 1
    while node < len(node_first):
        node_first[node] = len(keys)
        node += 1


@jit
def split_keys(low: int, high: int, keys: Ints, num_states: int, node: Ints, state: Ints) -> None:
    """Find the junction and the state of some keys."""
    for i in range(low, high):
        node[i] = keys[i] // num_states
        state[i] = keys[i] - node[i] * num_states


@jit
def find_largest(place: Ints, value: Any, largest: Any) -> None:
    """Replace what is known of places by values there that are larger."""
    for i in range(len(place)):
        if value[i] > largest[place[i]]:
            largest[place[i]] = value[i]


@jit
def find_keys(
    low: int, high: int, node: Ints, state: Ints, keys: Ints, num_states: int, node_first: Ints, at: Ints
) -> None:
    """Find the indices of some pairs of a junction and a state among the keys; -1 if there is none."""
    for i in range(low, high):
        junction = node[i]
        at[i] = _index_of(keys, node_first[junction], node_first[junction + 1], junction * num_states + state[i])


@jit
def find_ways_on(
    low: int,
    high: int,
    keys: Ints,
    num_states: int,
    first_out: Ints,
    arc: Ints,
    last: Ints,
    has_forbidden: Any,
    forbidden: Ints,
    num_arcs: int,
    segment: Ints,
    direction: Ints,
    goes_on: Any,
) -> None:
    """Mark the states after which some turn that is no U-turn is allowed; `arc` has the arcs that leave junctions."""
    for key in range(low, high):
        node, state = keys[key] // num_states, keys[key] % num_states
        if goes_on[state]:
            continue
        before = last[state]
        for at in range(first_out[node], first_out[node + 1]):
            after = arc[at]
            if segment[before] == segment[after] and direction[before] != direction[after]:
                continue
            if has_forbidden[state]:
                if _index_of(forbidden, np.int64(0), np.int64(len(forbidden)), state * num_arcs + after) >= 0:
                    continue
            goes_on[state] = True
            break


@jit
def find_turns(
    low: int,
    high: int,
    keys: Ints,
    num_states: int,
    first_out: Ints,
    leaving: Ints,
    arc: Ints,
    last: Ints,
    has_forbidden: Any,
    forbidden: Ints,
    num_arcs: int,
    is_costed: bool,
    segment: Ints,
    direction: Ints,
    goes_on: Any,
    is_dead_end: Any,
    after_arc: Ints,
    has_steps: Any,
    steps: Ints,
    steps_to: Ints,
    head: Ints,
    node_first: Ints,
    turn_first: Ints,
    turn_tail: Ints,
    turn_head: Ints,
    turn_copy: Ints,
    turn_before: Ints,
) -> None:
    """Count the turns at some keys, or write them if there is room for any.

    Parameters
    ----------
    low, high : int
        The first key, and the one after the last.
    keys, num_states, node_first : numpy.ndarray, int, numpy.ndarray
        As for `find_nodes`.
    first_out, leaving, arc : numpy.ndarray
        Copies of arcs that leave each junction, and the arc of each of these.
    last, after_arc, forbidden, steps, steps_to : numpy.ndarray
        The memory; see `vkssp.osm.memory.Memory`.
    has_forbidden, has_steps : numpy.ndarray
        Whether anything in `forbidden`, or in `steps`, is of each state.
    is_costed : bool
        Whether every arc is remembered. Then U-turns are allowed only where `goes_on` is False, or at dead ends.
    segment, direction : numpy.ndarray
        Segment of each arc, and its direction along it.
    goes_on, is_dead_end : numpy.ndarray
        Whether another turn than a U-turn is allowed after each state; whether one arc at the most leads to the tail of
        each arc.
    head : numpy.ndarray
        Junction at the head of each copy.
    turn_first : numpy.ndarray
        Receives the number of turns of each key, or holds the offset of its first turn.
    turn_tail, turn_head, turn_copy, turn_before : numpy.ndarray
        Receive the turns; all are empty if these are to be counted.
    """
    counts_only = len(turn_tail) == 0
    for key in range(low, high):
        node, state = keys[key] // num_states, keys[key] % num_states
        before, count = last[state], np.int64(0)
        turn = np.int64(0) if counts_only else turn_first[key]
        for at in range(first_out[node], first_out[node + 1]):
            after = arc[at]
            if has_forbidden[state]:
                if _index_of(forbidden, np.int64(0), np.int64(len(forbidden)), state * num_arcs + after) >= 0:
                    continue
            if is_costed and goes_on[state] and not is_dead_end[after]:
                if segment[before] == segment[after] and direction[before] != direction[after]:
                    continue
            count += 1
            if counts_only:
                continue
            reached = after_arc[after]
            if has_steps[state]:
                step = _index_of(steps, np.int64(0), np.int64(len(steps)), state * num_arcs + after)
                if step >= 0:
                    reached = steps_to[step]
            copy = leaving[at]
            junction = head[copy]
            begin, end = node_first[junction], node_first[junction + 1]
            turn_tail[turn], turn_copy[turn], turn_before[turn] = key, copy, before
            turn_head[turn] = _index_of(keys, begin, end, junction * num_states + reached)
            turn += 1
        if counts_only:
            turn_first[key] = count
