"""Graphs on the host: rows of arcs, numberings, streets, files, traffic, and hierarchies as data."""

from vkssp.graph.csr import UNREACHABLE, Floats, Uint32s, checked_rows
from vkssp.graph.graph import Graph, checked_graph

__all__ = ["UNREACHABLE", "Floats", "Graph", "Uint32s", "checked_graph", "checked_rows"]
