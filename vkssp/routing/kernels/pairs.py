"""Kernels of the pairs of points that are searched, and of the paths that searches find for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@jit
def sort_pairs(
    starts: Ints,
    goals: Ints,
    start_at: Floats,
    goal_at: Floats,
    has_arcs: Bools,
    is_inside: Bools,
    first_start: Ints,
    first_goal: Ints,
    ends_of_line: Any,
    place: Ints,
    numbers: Ints,
) -> tuple[int, int]:
    """Find the pairs that are searched, and those between which a path may pass no node; return how many there are.

    Pairs are given by the streets of their points and the parts of these before the points, by whether one of both has
    arcs or is inside an open area, and by the offsets of their phantom nodes. `ends_of_line` and `place` are those of
    `find_phantoms`. The first row of `numbers` receives the pairs that are searched, and the second one the others.
    """
    searched, maybe_direct = 0, 0
    for pair in range(len(starts)):
        if is_inside[pair]:
            continue
        if first_start[pair] < first_start[pair + 1] and first_goal[pair] < first_goal[pair + 1]:
            numbers[0, searched] = pair
            searched += 1
        one, other, at = starts[pair], goals[pair], start_at[pair]
        is_direct = one == other or has_arcs[pair]
        if not is_direct and len(place) > 0 and (at == 0.0 or at == 1.0):
            here = place[ends_of_line[one, 1 if at == 1.0 else 0]]
            is_direct = here == place[ends_of_line[other, 0]] or here == place[ends_of_line[other, 1]]
        if is_direct:
            numbers[1, maybe_direct] = pair
            maybe_direct += 1
    return searched, maybe_direct


@jit
def put_paths(
    pairs: Ints,
    seed: Ints,
    target: Ints,
    found: Ints,
    length: Ints,
    first_start: Ints,
    first_goal: Ints,
    start_node: Any,
    goal_node: Any,
    start_weight: Any,
    goal_weight: Any,
    start_arc: Ints,
    goal_arc: Ints,
    start_at: Floats,
    goal_at: Floats,
    weight: Ints,
    node: Ints,
    arc: Ints,
    at: Floats,
    end_weight: Ints,
    first: Ints,
) -> None:
    """Write the paths of searches into arrays of all pairs, which say of each pair that it has none.

    A search has the number of its pair, the indices of its seed and its target, the weight of the path, and the offset
    of its first arc. The next arguments are the phantom nodes of all pairs; the last ones are those of `PairPaths`.
    """
    begin, total = 0, np.int64(0)
    for row in range(len(pairs)):
        pair = pairs[row]
        for between in range(begin, pair + 1):
            first[between] = total
        begin = pair + 1
        total += length[row + 1] - length[row]
        if target[row] < 0:
            continue
        one, other = first_start[pair] + seed[row], first_goal[pair] + target[row]
        weight[pair] = found[row]
        node[pair, 0], node[pair, 1] = start_node[one], goal_node[other]
        end_weight[pair, 0], end_weight[pair, 1] = start_weight[one], goal_weight[other]
        arc[pair, 0], arc[pair, 1] = start_arc[one], goal_arc[other]
        at[pair, 0], at[pair, 1] = start_at[one], goal_at[other]
    for between in range(begin, len(first)):
        first[between] = total
