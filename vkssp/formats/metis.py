"""Reader of lists of neighbours: the graph files of METIS (.graph), also used by the 10th DIMACS challenge.

Sources: G. Karypis, METIS: A Software Package for Partitioning Unstructured Graphs, manual of version 5.1.0, section
4.1.1; D. Bader, H. Meyerhenke, P. Sanders, D. Wagner, 10th DIMACS Implementation Challenge, instances and formats
(https://sites.cc.gatech.edu/dimacs10/).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.formats.build import GraphFile, Options, check_sizes, refuse_directed
from vkssp.formats.columns import Ids, Weights, sizes
from vkssp.formats.numeric_text import Array, joined, numbers, shown, whole_number, without_comments, words_and_ends
from vkssp.formats.stream import Lines
from vkssp.graph import Uint32s
from vkssp.graph.csr import rows_of, tails_of
from vkssp.graph.large import graph_of


@dataclass(frozen=True)
class _Layout:
    """Layout of a file, from its header.

    Attributes
    ----------
    nodes, edges : int
        Numbers of nodes and edges.
    skip : int
        Number of leading numbers in a node's line that are not neighbours: its size and its weights.
    weighted : bool
        Whether a weight follows each neighbour.
    ids : Ids
        Column of the neighbours.
    weights : Weights
        Column of the edge weights.
    number : int
        Number of the header's line.
    """

    nodes: int
    edges: int
    skip: int
    weighted: bool
    ids: Ids
    weights: Weights
    number: int


def _header(lines: Lines, options: Options) -> _Layout:
    """Take the header: ``NODES EDGES [FORMAT [WEIGHTS]]``; a fifth number, as in Walshaw's files, is ignored.

    The digits of FORMAT say whether there are sizes of nodes, weights of nodes and weights of edges. WEIGHTS is the
    number of weights of each node.
    """
    number, text = lines.next(b"%")
    words = text.split()
    if not 2 <= len(words) <= 5:
        raise lines.error(f"is '{shown(text)}' where 'NODES EDGES [FORMAT [WEIGHTS]]' is due", number)
    kind = (words[2] if len(words) > 2 else b"0").rjust(3, b"0")
    if len(kind) != 3 or kind.strip(b"01"):
        raise lines.error(f"has format '{shown(words[2])}'; it has up to three digits, each 0 or 1", number)
    try:
        nodes, edges, *counts = sizes([*words[:2], *words[3:4]])
    except ValueError as error:
        raise lines.error(str(error), number) from None
    check_sizes(lines, number, nodes, edges, undirected=True)
    sized, heavy, weighted = (digit == ord("1") for digit in kind)
    skip = int(sized) + (counts[0] if counts and heavy else int(heavy))
    return _Layout(
        nodes, edges, skip, weighted, Ids(nodes, f"line {number} says"), Weights(options.scale, real=False), number
    )


class _Rows:
    """Neighbours of the nodes read so far."""

    def __init__(self, lines: Lines, layout: _Layout) -> None:
        self.lines = lines
        self.layout = layout
        self.nodes = 0
        self.degrees: list[Array] = []
        self.heads: list[Array] = []
        self.weights: list[Array] = []
        self._comments: list[int] = []  # their lines

    def read(self) -> None:
        """Read the lines of all nodes."""
        for number, text in self.lines.blocks():
            if b"%" in text:
                begun = number
                for line in text.split(b"\n"):
                    if line.lstrip().startswith(b"%"):
                        self._comments.append(begun)
                    begun += 1
            nodes_only = without_comments(text, b"%", blank=False) if b"%" in text else text
            try:
                self._add(nodes_only)
            except ValueError as error:
                self._explain(number, text, str(error))
        layout, lines = self.layout, self.lines
        if self.nodes < layout.nodes:
            raise lines.error(
                f"ends after the lines of {self.nodes} of {layout.nodes} nodes; it may be truncated: get it again; "
                "a node without neighbours has a blank line",
                lines.line - 1,
            )
        have = sum(len(heads) for heads in self.heads)
        if have != 2 * layout.edges:
            raise lines.error(
                f"says {layout.edges} edges, but the nodes have {have} neighbours, not twice as many; each edge is "
                "to stand at both its nodes, and to count once",
                layout.number,
            )

    def line_of(self, node: int) -> int:
        """Return the number of a node's line."""
        line = self.layout.number + 1 + node
        for comment in self._comments:
            line += comment <= line
        return line

    def _add(self, text: bytes) -> None:
        """Add the nodes of a block without comments; raise `ValueError` if a line is invalid."""
        layout = self.layout
        words, ends = words_and_ends(text)
        stop = np.searchsorted(words, ends)
        size = np.diff(stop, prepend=0)
        left = layout.nodes - self.nodes
        if size[left:].any():
            raise ValueError("there are too many lines")
        size, stop = size[:left], stop[:left]
        values = numbers(text, len(words))
        if layout.skip:
            if (size < layout.skip).any():
                raise ValueError("there are lines without the weights of their nodes")
            if (values < 0).any():
                raise ValueError("there are negative numbers")
            listed = np.ones(len(values), np.bool_)
            for place in range(layout.skip):
                listed[stop - size + place] = False
            values = values[listed]
            size = size - layout.skip
        if layout.weighted:
            if (size % 2).any():
                raise ValueError("there are neighbours without weights")
            pairs = values.reshape(-1, 2)
            size, values = size // 2, pairs[:, 0]
            if len(pairs):
                self.weights.append(layout.weights.convert(pairs[:, 1]))
        if len(values):
            heads = layout.ids.convert(values)
            tails = np.repeat(np.arange(self.nodes, self.nodes + len(size), dtype=np.uint32), size)
            if (heads == tails).any():
                raise ValueError("there are loops")
            self.heads.append(heads)
        self.degrees.append(size.astype(np.uint32))
        self.nodes += len(size)

    def _explain(self, number: int, text: bytes, reason: str) -> None:
        """Raise the error that names the invalid line of a block and the reason."""
        node = self.nodes
        for line, content in enumerate(text.split(b"\n")[:-1], number):
            if content.lstrip().startswith(b"%"):
                continue
            try:
                self._check(node, content.split())
            except ValueError as error:
                raise self.lines.error(str(error), line) from None
            node += 1
        last = number + text.count(b"\n") - 1
        raise self.lines.error(f"cannot be read in lines {number} to {last} ({reason})")

    def _check(self, node: int, words: list[bytes]) -> None:
        """Raise a `ValueError` with the reason if a node's line is invalid."""
        layout = self.layout
        if node >= layout.nodes:
            if words:
                raise ValueError(f"one more than the {layout.nodes} nodes that line {layout.number} says")
            return
        values = [whole_number(word) for word in words]
        if len(values) < layout.skip:
            raise ValueError(f"has {len(values)} numbers; the size and weights of the node are {layout.skip}")
        if min(values[: layout.skip], default=0) < 0:
            raise ValueError("the size or a weight of the node is negative")
        listed = values[layout.skip :]
        if layout.weighted and len(listed) % 2:
            raise ValueError(f"has {len(listed)} numbers for its neighbours; each has two, its number and a weight")
        for value in listed[:: 1 + layout.weighted]:
            layout.ids.convert(np.array([value]))
            if value == node + 1:
                raise ValueError(f"node {value} is its own neighbour; take that out")
        for value in listed[1::2] if layout.weighted else ():
            layout.weights.convert(np.array([value]))


def read_metis(lines: Lines, options: Options) -> GraphFile:
    """Read an undirected graph: a header, then a line for each node with its neighbours and the edge weights.

    Each edge is listed at both its nodes, with the same weight. Sizes and weights of nodes are ignored.
    """
    refuse_directed(options, "METIS graph")
    layout = _header(lines, options)
    rows = _Rows(lines, layout)
    rows.read()
    first_out = np.zeros(layout.nodes + 1, np.int64)
    np.cumsum(joined(rows.degrees), out=first_out[1:])
    offsets = first_out.astype(np.uint32)
    head = joined(rows.heads)
    tail = tails_of(offsets)
    here, there = _mates(rows, tail, head)
    if layout.weighted:
        weight = joined(rows.weights)
        _check_weights(rows, tail, head, weight, here, there)
    else:
        edge = tail < head
        weight = np.empty(len(head), np.uint32)
        weight[edge] = options.weights.draw(layout.edges)
        forward = edge[here]
        weight[there[forward]] = weight[here[forward]]
    return GraphFile(graph_of(offsets, head, weight), "metis")


def _mates(rows: _Rows, tail: Uint32s, head: Uint32s) -> tuple[Array, Array]:
    """Return all arcs, and for each arc its reverse; raise `FormatError` if an arc has no reverse."""
    nodes = rows.layout.nodes
    there = rows_of(head, nodes)[1]  # by head, then by tail
    here = there[rows_of(tail[there], nodes)[1]]  # by tail, then by head
    differ = np.flatnonzero((tail[here] != head[there]) | (head[here] != tail[there]))
    if differ.size == 0:
        return here, there
    # Of the first two arcs that should be each other's reverse, the one whose entry sorts first has no reverse later.
    arc, other = here[differ[0]], there[differ[0]]
    place, turned = (int(tail[arc]), int(head[arc])), (int(head[other]), int(tail[other]))
    if place < turned:
        node, neighbour = place
    else:
        neighbour, node = turned
    raise rows.lines.error(
        f"node {node + 1} lists node {neighbour + 1}, but node {neighbour + 1} (line {rows.line_of(neighbour)}) does "
        f"not list node {node + 1} as often; each edge is to stand at both its nodes",
        rows.line_of(node),
    )


def _check_weights(rows: _Rows, tail: Uint32s, head: Uint32s, weight: Uint32s, here: Array, there: Array) -> None:
    """Raise `FormatError` if an edge has different weights at its two nodes."""
    if (weight[here] == weight[there]).all():
        return
    # Parallel edges may be listed in another sequence at the other node.
    here = here[np.lexsort((weight[here], head[here], tail[here]))]
    there = there[np.lexsort((weight[there], tail[there], head[there]))]
    differ = np.flatnonzero(weight[here] != weight[there])
    if differ.size:
        arc, other = int(here[differ[0]]), int(there[differ[0]])
        node, neighbour = int(tail[arc]), int(head[arc])
        raise rows.lines.error(
            f"the edge of nodes {node + 1} and {neighbour + 1} has weight {weight[arc]}, but {weight[other]} in line "
            f"{rows.line_of(neighbour)}; it must have the same in both",
            rows.line_of(node),
        )
