"""Converted graph: what the dispatcher of NetworkX keeps beside a graph, and hands to the functions of the backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.errors import GraphError
from vkssp.graph import csr
from vkssp.interop.networkx_backend.convert import Rows
from vkssp.interop.networkx_backend.metric import Metric


class ConvertedGraph:
    """Graph of NetworkX as rows of arcs, with the solvers that have searched it.

    Of parallel edges it has only the least weight, which is the one that counts in NetworkX. It has those methods of
    `networkx.Graph` that functions which delegate to others need.

    Parameters
    ----------
    rows : Rows
        Nodes and neighbours.
    weights : dict of str to numpy.ndarray
        Weights of the arcs by attribute, int64 or float64.
    directed, multigraph : bool
        What the graph was.
    """

    __networkx_backend__ = "vkssp"

    def __init__(self, rows: Rows, weights: dict[Any, npt.NDArray[Any]], directed: bool, multigraph: bool) -> None:
        self.rows, self.weights = rows, weights
        self._directed, self._multigraph = directed, multigraph
        self._index: dict[Any, int] | None = None
        self._metrics: dict[Any, Metric] = {}
        self._reversed: ConvertedGraph | None = None

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self._directed

    def is_multigraph(self) -> bool:
        """Return whether there may be parallel edges."""
        return self._multigraph

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.rows.nodes)

    order = number_of_nodes = __len__

    def __iter__(self) -> Iterator[Any]:
        """Return the nodes in the order of the graph."""
        return iter(self.rows.nodes)

    def __contains__(self, node: object) -> bool:
        """Return whether there is such a node."""
        return self.find(node) is not None

    def __str__(self) -> str:
        """Return what NetworkX prints of such a graph."""
        kind = ("Multi" if self._multigraph else "") + ("DiGraph" if self._directed else "Graph")
        return f"{kind} with {len(self)} nodes and {self._first_of_edges.sum()} edges"

    def degree(self) -> Iterable[tuple[Any, int]]:
        """Return nodes and the numbers of their neighbours."""
        return zip(self.rows.nodes, np.diff(self.rows.first_out.astype(np.int64)).tolist(), strict=True)

    def nbunch_iter(self, nbunch: Any = None) -> Iterator[Any]:
        """Return all nodes, a node, or those of some nodes that exist."""
        if nbunch is None:
            return iter(self)
        if nbunch in self:
            return iter([nbunch])
        try:
            return iter([node for node in nbunch if hash(node) is not None and node in self])
        except TypeError as error:
            what = f"Node {nbunch} is not in the graph" if "iterable" in str(error) else "Nodes cannot be hashed"
            raise nx.NetworkXError(f"{what}.") from error

    def find(self, node: object) -> int | None:
        """Return the position of a node, or None if there is no such node."""
        if self._index is None:
            self._index = dict(zip(self.rows.nodes, range(len(self)), strict=True))
        try:
            return self._index.get(node)
        except TypeError:  # it cannot be hashed
            return None

    @cached_property
    def names(self) -> npt.NDArray[Any]:
        """The nodes as an array of objects, shape (num_nodes,)."""
        return np.fromiter(self.rows.nodes, object, len(self))

    def metric(self, weight: Any) -> Metric:
        """Return the metric of an attribute, or that of hops for None.

        Raises
        ------
        NotImplementedError
            If the graph was converted without the attribute, or its weights add up to too large numbers.
        """
        if weight not in self._metrics:
            if weight is not None and weight not in self.weights:
                have = ", ".join(map(repr, self.weights)) or "no weights"
                raise NotImplementedError(f"this converted graph has {have}, not {weight!r}; give the NetworkX graph")
            values = np.ones(len(self.rows.head), np.int64) if weight is None else self.weights[weight]
            try:
                self._metrics[weight] = Metric(self.rows.first_out, self.rows.head, values)
            except GraphError as error:
                raise NotImplementedError(str(error)) from error
        return self._metrics[weight]

    def reverse(self, copy: bool = True) -> ConvertedGraph:
        """Return the graph with all edges reversed, itself if it is not directed; it is kept, and `copy` ignored."""
        if not self._directed:
            return self
        if self._reversed is None:
            first_out, by_head = csr.rows_of(self.rows.head, len(self))
            tail = csr.tails_of(self.rows.first_out)
            rows = Rows(self.rows.nodes, own(first_out), own(tail[by_head]))
            weights = {name: values[by_head] for name, values in self.weights.items()}
            self._reversed = ConvertedGraph(rows, weights, True, self._multigraph)
        return self._reversed

    @property
    def _first_of_edges(self) -> npt.NDArray[np.bool_]:
        """Whether each arc is the one of its edge that NetworkX names, shape (num_arcs,)."""
        tail = csr.tails_of(self.rows.first_out)
        return np.ones(len(tail), np.bool_) if self._directed else self.rows.head >= tail

    def edges(self) -> tuple[list[tuple[Any, Any]], npt.NDArray[np.int64]]:
        """Return the edges in the order of NetworkX, and the edge of each arc, shape (num_arcs,), int64."""
        head, tail = self.rows.head, csr.tails_of(self.rows.first_out)
        first = self._first_of_edges
        named = list(zip(self.names[tail[first]].tolist(), self.names[head[first]].tolist(), strict=True))
        if self._directed:
            return named, np.arange(len(head))
        key = np.minimum(tail, head).astype(np.int64) * len(self) + np.maximum(tail, head)
        order = np.argsort(key[first])
        return named, order[np.searchsorted(key[first][order], key)]

    def to_networkx(self) -> Any:
        """Return a NetworkX graph with the nodes, edges and weights.

        Raises
        ------
        NotImplementedError
            If the graph had parallel edges, of which only the least weights are left.
        """
        if self._multigraph:
            raise NotImplementedError("only the least weights of parallel edges are left; give the NetworkX graph")
        graph = nx.DiGraph() if self._directed else nx.Graph()
        graph.add_nodes_from(self.rows.nodes)
        edges, _ = self.edges()
        graph.add_edges_from(edges)
        for name, values in self.weights.items():
            found = dict(zip(edges, values[self._first_of_edges].tolist(), strict=True))
            nx.set_edge_attributes(graph, found, name, backend="networkx")
        return graph
