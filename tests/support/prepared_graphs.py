"""Prepared graphs whose elimination trees are as deep, as wide or as flat as they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vkssp import Graph, prepare
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.supernodes import build


def path(nodes: int) -> Graph:
    """Return a path whose hierarchy has each node above the one before, so that the elimination tree is a path, too."""
    weight = np.random.default_rng(nodes).integers(0, 50, 2 * (nodes - 1))
    here, there = np.arange(nodes - 1), np.arange(1, nodes)
    graph = Graph.from_edges(np.append(here, there), np.append(there, here), weight)
    return replace(graph, hierarchy=build(eliminate(Edges.of(graph), np.arange(nodes, dtype=np.uint32))))


def star(leaves: int) -> Graph:
    middle, ends = np.zeros(leaves, int), np.arange(1, leaves + 1)
    return prepare(Graph.from_edges(np.append(middle, ends), np.append(ends, middle), np.arange(2 * leaves)))


def clique(nodes: int) -> Graph:
    """Return a graph whose hierarchy is one supernode."""
    tail, head = np.nonzero(~np.eye(nodes, dtype=bool))
    return prepare(Graph.from_edges(tail, head, np.random.default_rng(1).integers(0, 99, len(tail))))
