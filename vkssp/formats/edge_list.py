"""Reader of edge lists, such as those of the Stanford Large Network Dataset Collection.

Source: J. Leskovec, A. Krevl, SNAP Datasets (https://snap.stanford.edu/data/).
"""

from __future__ import annotations

import re

import numpy as np

from vkssp.formats.build import GraphFile, Options, check_sizes, graph_of_edges
from vkssp.formats.columns import AnyIds, Weights
from vkssp.formats.numeric_text import Array, Layout, read_table
from vkssp.formats.stream import Lines
from vkssp.generate.checks import MOST_NODES
from vkssp.graph import Uint32s

_COMMENT = b"#%"
_EDGES = re.compile(rb"#.*\bEdges:\s*(\d{1,15})\b", re.IGNORECASE)
_UNDIRECTED = re.compile(rb"#\s*undirected\b", re.IGNORECASE)


def read_edge_list(lines: Lines, options: Options) -> GraphFile:
    """Read a list of edges: two ids on each line, optionally with a weight; comments begin with # or %.

    Ids are any whole numbers from 0. The nodes are numbered from 0 in ascending order of their ids, so that ids 0 to
    n - 1 do not change. Nodes without an edge are not in the graph.

    A line is an arc from the first node to the second, or an undirected edge if a comment begins with ``# Undirected``.
    The option `directed` overrides the comment: files that begin with ``# Directed graph (each unordered pair of nodes
    is saved once)`` hold both directions in fact. If a comment announces more edges (``Edges: N``) than the file has,
    the file is truncated.
    """
    said, undirected = _comments(lines)
    if options.directed is not None:
        undirected = not options.directed
    weighted = lines.width(_COMMENT) > 2
    # If weights are fractions, the ids are read as float64, too, which holds all whole numbers up to 2**53. The largest
    # int64 stands for all larger numbers.
    ids = AnyIds(2**53 - 1 if weighted else 2**63 - 2)
    layout = (
        Layout("FROM TO WEIGHT", (ids, ids, Weights(options.scale)), _COMMENT)
        if weighted
        else Layout("FROM TO", (ids, ids), _COMMENT)
    )
    tail, head, *rest = read_table(lines, layout)
    if said is not None and len(tail) < said[1]:
        raise lines.error(
            f"has {len(tail)} edges, but line {said[0]} says {said[1]}; it may be truncated: get it again, or correct "
            "that line"
        )
    return graph_of_ids(lines, tail, head, rest[0] if rest else None, options, "edge_list", undirected=undirected)


def graph_of_ids(
    lines: Lines, tail: Array, head: Array, weight: Uint32s | None, options: Options, format: str, *, undirected: bool
) -> GraphFile:
    """Return the graph of edges between any ids, whose nodes are numbered in ascending order of their ids."""
    names, tails, heads = renumbered(lines, tail, head, undirected=undirected)
    graph = graph_of_edges(len(names), tails, heads, weight, options, undirected=undirected)
    return GraphFile(graph, format, names)


def renumbered(lines: Lines, tail: Array, head: Array, *, undirected: bool) -> tuple[Array, Uint32s, Uint32s]:
    """Return the ids that occur, in ascending order, and the ends of edges by their positions among these."""
    check_sizes(lines, lines.line - 1, 0, len(tail), undirected=undirected)
    found = _renumbered(tail, head)
    if len(found[0]) > MOST_NODES:
        raise lines.error(f"has {len(found[0])} nodes, more than the {MOST_NODES} that can be read")
    return found


def _comments(lines: Lines) -> tuple[tuple[int, int] | None, bool]:
    """Take the comments before the edges.

    Returns
    -------
    tuple
        Number of the line that gives the number of edges, and this number, or None; whether a comment says undirected.
    """
    said, undirected = None, False
    for number, text in lines.comments(_COMMENT):
        if said is None and (match := _EDGES.match(text)):
            said = number, int(match[1])
        undirected = undirected or _UNDIRECTED.match(text) is not None
    return said, undirected


def _renumbered(tail: Array, head: Array) -> tuple[Array, Uint32s, Uint32s]:
    """Return the ids that occur, in ascending order, and for each edge the ranks of its two ids among them."""
    if not len(tail):
        return np.empty(0, np.int64), tail.astype(np.uint32), head.astype(np.uint32)
    most = int(max(tail.max(), head.max()))
    if most < 8 * len(tail) + 2**20:  # a table of all ids is small and saves sorting
        present = np.zeros(most + 1, np.bool_)
        present[tail] = True
        present[head] = True
        rank = np.cumsum(present, dtype=np.uint32)
        rank -= np.uint32(1)
        return np.flatnonzero(present).astype(np.int64), rank[tail], rank[head]
    ids, found = np.unique(np.concatenate([tail, head]), return_inverse=True)
    places = found.reshape(-1).astype(np.uint32)
    return ids.astype(np.int64), places[: len(tail)], places[len(tail) :]
