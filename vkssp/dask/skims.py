"""Skims that tasks of dask compute: values of arcs, added up along the shortest path of each pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import shown, values_of_arcs
from vkssp.dask.asking import divided, means_of, plain_nodes
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays
from vkssp.dask.question import Facts, Opened, Question, solver_of
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.prepared.terminals import nodes_of
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class SkimsQuestion(Question):
    """Sums of values along the paths of pairs; see the skims of `vkssp.Solver.flows`.

    Attributes
    ----------
    sources, targets : array_like
        Nodes.
    values : dict of str to array_like
        Values of arcs by name.
    """

    sources: Any
    targets: Any
    values: Mapping[str, Any]

    def prepare(self, opened: Opened) -> dict[str, npt.NDArray[np.float64]]:
        """Check nodes and values, and return the values."""
        graph = opened.solver.graph
        for ends, name in ((self.sources, "sources"), (self.targets, "targets")):
            nodes_of(graph, ends, name)
        found = values_of_arcs(self.values, "values", graph.num_arcs)
        if not found:
            raise QueryError("there are no values; give an array of values of arcs by its name")
        return found

    def facts(self, opened: Opened, prepared: dict[str, npt.NDArray[np.float64]]) -> Facts:
        """Return the numbers of sources and targets, and the names."""
        shape, dtypes = (len(self.sources), len(self.targets)), {name: np.dtype(np.float64) for name in prepared}
        return Facts(shape, dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: dict[str, npt.NDArray[np.float64]], first: int, end: int) -> Block:
        """Return the sums from some sources."""
        nothing = np.zeros((end - first, len(self.targets)), np.int64)
        return dict(solver_of(opened).flows(self.sources[first:end], self.targets, nothing, skims=prepared).skims)


def skims(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any,
    values: Mapping[str, npt.ArrayLike],
    *,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> dict[str, Any]:
    """Return sums of values of arcs along the shortest paths between nodes as lazy arrays, in blocks of sources.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, targets : array_like
        Nodes, shape (s,) and (t,).
    values : dict of str to array_like
        Values of arcs, shape (num_arcs,), by name; for instance metres, if the graph's weights are times.

    Returns
    -------
    dict of str to dask.array.Array
        For each name the sums, shape (s, t), float64, NaN where no path leads: the skims of `vkssp.Solver.flows` for a
        demand from each source to each target, bit for bit. The arrays share their searches.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end = plain_nodes(sources, "sources"), plain_nodes(targets, "targets")
    if wrong := [name for name in values if not isinstance(name, str)] if isinstance(values, Mapping) else []:
        raise QueryError(f"values has {shown(wrong[0])} as a name; give names as str")
    given = {name: np.asarray(array) for name, array in values.items()} if isinstance(values, Mapping) else values
    question = SkimsQuestion(source_of(graph), means_of(algorithm, parameters, is_router=False), begin, end, given)
    return arrays(question, *divided(question, cluster, rows))
