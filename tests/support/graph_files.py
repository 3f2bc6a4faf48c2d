"""Graph files to test readers with: some small ones, and the plainest writers that there can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vkssp import Graph

#: Tail, head and weight of arcs or edges, counted from 0.
Arcs = Sequence[tuple[int, int, int]]

GR = "c hi\np sp 3 4\na 1 2 5\na 2 3 0\nc between\n\na 3 1 4294967294\na 1 1 7\n"
GR_ARCS = [(0, 1, 5), (0, 0, 7), (1, 2, 0), (2, 0, 4294967294)]
CO = "c hi\np aux sp co 3\nv 1 -73530767 41085396\nv 3 180000000 -90000000\nv 2 0 1\n"
MTX = "%%MatrixMarket matrix coordinate {} {}\n%c\n3 3 3\n"
METIS = "% c\n4 3 1\n2 5\n1 5 3 6\n% c\n2 6 4 7\n3 7\n"


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def arcs(graph: Graph) -> list[tuple[int, int, int]]:
    return list(zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True))


def dimacs(nodes: int, arcs: Arcs) -> str:
    lines = [f"a {u + 1} {v + 1} {w}" for u, v, w in arcs]
    return "\n".join(["c a graph", f"p sp {nodes} {len(arcs)}", *lines, ""])


def pace(nodes: int, edges: Arcs) -> str:
    return "\n".join([f"p tw {nodes} {len(edges)}", *(f"{u + 1} {v + 1}" for u, v, _ in edges), ""])


def matrix_market(nodes: int, arcs: Arcs, field: str = "integer", symmetry: str = "general") -> str:
    lines = []
    for u, v, w in arcs:
        row, column = (max(u, v), min(u, v)) if symmetry == "symmetric" else (u, v)
        value = {"pattern": "", "integer": f" {w}", "real": f" {float(w)!r}"}[field]
        lines.append(f"{row + 1} {column + 1}{value}")
    banner = f"%%MatrixMarket matrix coordinate {field} {symmetry}"
    return "\n".join([banner, "% a graph", f"{nodes} {nodes} {len(arcs)}", *lines, ""])


def metis(nodes: int, edges: Arcs, kind: str = "001", weights_of_nodes: int = 0) -> str:
    """Write edges without loops; sizes and weights of nodes are made up."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for u, v, w in edges:
        neighbours[u].append((v, w))
        neighbours[v].append((u, w))
    lines = []
    for node, listed in enumerate(neighbours):
        words = [7 + node] * (kind[0] == "1") + [3] * weights_of_nodes
        for neighbour, weight in listed:
            words += [neighbour + 1, weight] if kind[2] == "1" else [neighbour + 1]
        lines.append(" ".join(map(str, words)))
    return "\n".join(["% a graph", f"{nodes} {len(edges)} {kind} {weights_of_nodes}", *lines, ""])


def edge_list(arcs: Arcs, *, weighted: bool = False, ids: Sequence[int] | None = None) -> str:
    names = ids if ids is not None else range(2**32)
    lines = (f"{names[u]}\t{names[v]}" + (f"\t{w}" if weighted else "") for u, v, w in arcs)
    return "\n".join(["# Directed graph", f"# Nodes: 0 Edges: {len(arcs)}", *lines, ""])


def csv_table(arcs: Arcs, delimiter: str = ",") -> str:
    """Write a table with a column of names, some of them quoted, beside tails, heads and weights."""
    names = ("", "x", f'"a{delimiter}b"', "North 4")
    rows = [(names[at % len(names)], str(u), str(w), str(v)) for at, (u, v, w) in enumerate(arcs)]
    return "".join(f"{delimiter.join(row)}\n" for row in [("name", "from", "length", "to"), *rows])
