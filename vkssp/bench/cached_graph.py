"""Prepared graphs for comparisons, kept in a folder for the next run."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vkssp.bench.filled_graph import read_filled_graph
from vkssp.errors import FormatError
from vkssp.generate import is_expression
from vkssp.graph import Graph
from vkssp.hierarchy.prepare import prepare
from vkssp.osm import is_extract


def make_cache(folder: str) -> None:
    """Make the folder in which graphs are kept.

    Raises
    ------
    FormatError
        If that is impossible.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot write into {folder}: {error.strerror or error}") from error


def prepared_graph(text: str, folder: str, options: Mapping[str, Any]) -> tuple[Graph, str]:
    """Return a graph with its hierarchy, and its key in a folder, which is empty for generated graphs.

    Real weights become whole numbers of units, and nodes have no names.

    Parameters
    ----------
    text : str
        A file, or an expression such as ``road:100``. Extracts are imported with costs of turns.
    folder : str
        Where the graph is kept.
    options : mapping of str to object
        Options of `vkssp.read_graph`.

    Raises
    ------
    FormatError
        If the file cannot be read.
    QueryError
        If the graph has no nodes.
    """
    if is_expression(text):
        graph, key = read_filled_graph(text, **options), ""
    else:
        try:
            with open(text, "rb") as stream:
                sha = hashlib.file_digest(stream, "sha256")
        except OSError as error:
            raise FormatError(f"cannot read {text}: {error.strerror or error}") from error
        if is_extract(text):
            options = {"turns": "costs", **options}
        sha.update(repr(sorted(options.items())).encode())
        key = f"{Path(text).name.partition('.')[0]}-{sha.hexdigest()[:12]}"
        saved = Path(folder) / f"{key}.graph"
        if saved.exists():
            return Graph.load(saved).plain(), key
        graph = read_filled_graph(text, progress=sys.stderr.isatty(), **options)
    graph = graph.plain()
    if graph.hierarchy is None:
        graph = prepare(graph, progress=sys.stderr.isatty())
    if key:
        graph.save(saved)
    return graph, key
