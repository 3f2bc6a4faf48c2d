"""Generator of recursive-matrix graphs: few nodes have a very high degree, as in social networks and the web."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from vkssp.checks import flag
from vkssp.cores import beside, num_cores, run_all
from vkssp.errors import QueryError
from vkssp.generate.checks import Weights, draw_weights, fits, fraction, stream, weight_range, whole
from vkssp.graph import Graph, Uint32s
from vkssp.graph.bulk import in_pieces
from vkssp.graph.large import graph_from_arcs
from vkssp.graph.many_arcs import MANY
from vkssp.jit import kernels

#: Edges that are drawn together; few enough to stay in the cache. Another number gives other graphs.
CHUNK = 1 << 16


def _edges(rng: np.random.Generator, scale: int, count: int, a: float, b: float, c: float) -> tuple[Uint32s, Uint32s]:
    """Return the tails and heads of random edges; their bits are drawn from the highest to the lowest."""
    # Limits of random 32-bit words: words below the first limit mean quarter a; quarters b, c and d follow.
    to_a, to_b, to_c = (min(round(sum_ * 2**32), 2**32) for sum_ in (a, a + b, a + b + c))
    tail, head = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    done = 0
    if count >= MANY:
        done = _by_all_cores(rng, scale, (to_a, to_b, to_c), tail, head)
    for begin in range(done, count, CHUNK):
        tails, heads = tail[begin : begin + CHUNK], head[begin : begin + CHUNK]
        for _ in range(scale):
            word = rng.integers(0, 2**32, len(tails), np.uint32)
            below = word >= to_b  # the lower half of the matrix
            right = word >= to_a  # b, c and d, then without c, which lies between the other two limits
            right ^= below
            right ^= word >= to_c
            tails <<= 1
            tails |= below
            heads <<= 1
            heads |= right
    return tail, head


def _rename(rank: Uint32s, ends: Uint32s) -> None:
    """Replace each node by its rank."""

    def take(part: slice) -> None:
        # The ids are in range; any other mode makes a temporary copy first.
        rank.take(ends[part], out=ends[part], mode="clip")

    in_pieces(len(ends), take)


def _by_all_cores(
    rng: np.random.Generator, scale: int, limits: tuple[int, int, int], tail: Uint32s, head: Uint32s
) -> int:
    """Draw the edges of all whole chunks as one core would, and return how many edges these are.

    Each core starts where the chunks of the others end in the sequence of random words, two of which are drawn at once.
    """
    add_bits = kernels("vkssp.generate.rmat_kernels").add_bits
    state: Any = rng.bit_generator.state
    words_each, count = scale * CHUNK, len(tail) // CHUNK

    def draw(first: int, end: int) -> None:
        bits = np.random.PCG64()
        bits.state = state
        bits.advance(first * words_each // 2)
        own = np.random.Generator(bits)
        for begin in range(first * CHUNK, end * CHUNK, CHUNK):
            # Two words at once take half of the time; the lower half comes first.
            words = own.integers(0, 2**64, (scale, CHUNK // 2), np.uint64).astype("<u8", copy=False).view("<u4")
            words = words.astype(np.uint32, copy=False)
            add_bits(words, *limits, tail[begin : begin + CHUNK], head[begin : begin + CHUNK])

    share = -(-count // (4 * num_cores()))
    run_all([partial(draw, first, min(first + share, count)) for first in range(0, count, share)])
    rng.bit_generator.advance(count * words_each // 2)  # type: ignore[attr-defined]
    return count * CHUNK


def rmat(
    scale: int,
    degree: int = 32,
    seed: int = 1,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    weights: Weights = (1, 255),
    undirected: bool = True,
    permute: bool = False,
) -> Graph:
    """Return a recursive-matrix graph (R-MAT; Chakrabarti, Zhan and Faloutsos 2004), in its plain form without noise.

    The adjacency matrix is quartered `scale` times. Each time, an edge falls into the upper left, upper right, lower
    left or lower right quarter with the probabilities a, b, c and 1 - a - b - c. Loops and parallel edges are kept.
    There are exactly ``degree * 2**scale`` arcs.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of nodes, 1 to 30.
    degree : int
        Mean number of arcs that leave a node.
    seed : int
        Seed of the random choices.
    a, b, c : float
        Probabilities of the quarters.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.
    undirected : bool
        Whether the arcs are the two directions of half as many edges, with the same weight. A loop is then two equal
        arcs.
    permute : bool
        Whether the nodes are numbered at random. Otherwise those of high degree have ids with few bits set.

    Raises
    ------
    QueryError
        If an argument is out of range.

    Notes
    -----
    Needs 8 bytes per arc and 12 per edge, some 70 per node (at least 0.2 GiB), and from 2**24 arcs on 12 more for each
    of at most 2**29 arcs: 14 GiB for a scale of 24.
    """
    scale = whole("scale", scale, 1, 30)
    degree = whole("degree", degree, 1, 2**31)
    fits(1 << scale, degree << scale, f"scale {scale} with degree {degree}", "less of either")
    a, b, c = fraction("a", a), fraction("b", b), fraction("c", c)
    if a + b + c > 1 + 1e-9:  # decimal fractions whose sum is 1 may exceed it by a rounding error
        raise QueryError(f"a + b + c is {a + b + c:g}; give probabilities whose sum is at most 1")
    weights = weight_range(weights)
    undirected, permute = flag(undirected, "undirected"), flag(permute, "permute")
    rng = stream(seed)
    count = (degree << scale) // (2 if undirected else 1)
    if count >= MANY and count * scale % 2 == 0:
        # One core draws the weights while the others draw edges, for which it leaves out as many random words.
        state: Any = rng.bit_generator.state
        after = np.random.PCG64()
        after.state = state
        after.advance(count * scale // 2)
        with beside(partial(draw_weights, np.random.Generator(after), weights, count)) as drawn:
            tail, head = _edges(rng, scale, count, a, b, c)
            weight = drawn()
        rng = np.random.Generator(after)
    else:
        tail, head = _edges(rng, scale, count, a, b, c)
        weight = draw_weights(rng, weights, count)
    if permute:
        rank = rng.permutation(np.arange(1 << scale, dtype=np.uint32))
        for ends in (tail, head):
            _rename(rank, ends)
    return graph_from_arcs(1 << scale, tail, head, weight, both_ways=undirected)


def kronecker(scale: int, edge_factor: int = 16, seed: int = 1, *, weights: Weights = (1, 255)) -> Graph:
    """Return the Kronecker graph of the Graph500 benchmark (Murphy, Wheeler, Barrett and Ang 2010).

    It is an undirected `rmat` graph with a, b and c of 0.57, 0.19 and 0.19 and randomly numbered nodes. Weights are
    whole numbers, while the benchmark has real numbers from 0 to 1. Loops and parallel edges are kept, as in the
    benchmark.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of nodes, 1 to 30.
    edge_factor : int
        Edges per node. Each edge becomes two arcs, so that the mean degree is twice as large.
    seed : int
        Seed of the random choices.
    weights : tuple of int
        Smallest and largest weight; weights are uniformly distributed between them.

    Raises
    ------
    QueryError
        If an argument is out of range.
    """
    scale = whole("scale", scale, 1, 30)
    edge_factor = whole("edge_factor", edge_factor, 1, 2**30)
    fits(1 << scale, edge_factor << (scale + 1), f"scale {scale} with edge_factor {edge_factor}", "less of either")
    return rmat(scale, 2 * edge_factor, seed, weights=weights, permute=True)
