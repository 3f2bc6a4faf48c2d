"""Graphs from tables of edges: DataFrames of pandas and polars, tables of pyarrow, dicts of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vkssp.arrays import objects
from vkssp.checks import is_many, is_missing, shown, unmasked
from vkssp.errors import GraphError
from vkssp.formats.csv_edges import ENDS, WEIGHTS
from vkssp.graph import Graph

# Usual names of the columns of latitudes and longitudes, in pairs.
_COORDINATES = (("lat", "lon"), ("latitude", "longitude"), ("y", "x"))


def from_dataframe(
    edges: Any,
    tail: str | None = None,
    head: str | None = None,
    weight: str | None = None,
    *,
    undirected: bool = False,
    nodes: Any = None,
    node: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    scale: float | Literal["auto"] | None = "auto",
) -> Graph:
    """Make a graph of a table of edges.

    Parameters
    ----------
    edges : pandas.DataFrame, polars.DataFrame, pyarrow.Table or mapping of str to array_like
        The table, a row for each edge.
    tail, head, weight : str, optional
        Names of its columns; by default the first that it has of the usual ones, such as ``tail`` and ``head``,
        ``from`` and ``to``, ``source`` and ``target``, ``u`` and ``v``, and ``weight``, ``cost``, ``length`` or
        ``travel_time``. Ends are positions from 0 on or names, as in `Graph.from_edges`; weights may be real numbers.
    undirected : bool
        Whether each edge stands for an arc in both directions.
    nodes : table or mapping, optional
        Table of the nodes, with coordinates. The graph then has these nodes, in this order and by their names.
    node : str, optional
        Name of its column of nodes; by default its index, if it has one, or else its first column.
    lat, lon : str, optional
        Names of its columns of coordinates, in degrees; by default ``lat`` and ``lon``, ``latitude`` and ``longitude``,
        or ``y`` and ``x``, as osmnx calls them.
    scale : float, "auto" or None
        Unit for real weights; see `Graph.from_csr`.

    Raises
    ------
    GraphError
        If there is no such column, or it holds something else; the message names the column.

    Examples
    --------
    >>> import vkssp
    >>> graph = vkssp.from_dataframe({"u": ["a", "b"], "v": ["b", "c"], "length": [12.5, 0.25]})
    >>> with vkssp.Solver(graph, "dijkstra") as solver:
    ...     print(graph.names, solver.distances("a"))
    ['a' 'b' 'c'] [ 0.   12.5  12.75]
    """
    columns = column_names(edges, "edges")
    usual = next((pair for pair in ENDS if set(pair) <= set(columns)), None)
    if usual is None and None in (tail, head):
        in_index = [name for name in getattr(getattr(edges, "index", None), "names", ()) if name is not None]
        cure = f"take {' and '.join(map(str, in_index))} from the index by edges.reset_index(), or " * bool(in_index)
        raise GraphError(f"edges has the columns {shown(columns)}; {cure}give the names of those for tail and head")
    ends = [default if given is None else given for given, default in zip((tail, head), usual or ("", ""), strict=True)]
    if weight is None:
        weight = next((name for name in WEIGHTS if name in columns and name not in ends), None)
        if weight is None:
            cure = "give the name of that for weight, or add a column of ones"
            raise GraphError(f"edges has the columns {shown(columns)}; {cure}")
    tails, heads, weights = (column(edges, name, "edges") for name in (*ends, weight))
    if nodes is None:
        return Graph.from_edges(tails, heads, weights, undirected=undirected, scale=scale)
    names = _nodes(nodes, node)
    try:
        place = {name: at for at, name in enumerate(names)}
    except TypeError as error:
        raise GraphError(f"nodes has a node that cannot be hashed ({error}); give numbers, texts or tuples") from None
    if len(place) < len(names):
        raise GraphError("nodes has a node twice; give each node one row")
    positions = []
    for end, given in zip(ends, (tails, heads), strict=True):
        items = given.tolist()
        try:
            found = [place.get(name, -1) for name in items]
        except TypeError as error:
            raise GraphError(
                f"edges[{end!r}] has a node that cannot be hashed ({error}); give numbers or texts"
            ) from None
        if -1 in found:
            at = found.index(-1)
            cure = "add it to nodes, or give the name of the column of nodes by node"
            raise GraphError(f"edges[{end!r}] has {shown(items[at])} in row {at}, which is no node; {cure}")
        positions.append(np.array(found, np.int64))
    is_plain = names == list(range(len(names)))
    in_table = column_names(nodes, "nodes")
    usual = next((pair for pair in _COORDINATES if set(pair) <= set(in_table)), _COORDINATES[0])
    return Graph.from_edges(
        positions[0],
        positions[1],
        weights,
        num_nodes=len(names),
        undirected=undirected,
        lat=column(nodes, usual[0] if lat is None else lat, "nodes"),
        lon=column(nodes, usual[1] if lon is None else lon, "nodes"),
        scale=scale,
        names=False if is_plain else names,
    )


def column_names(table: Any, argument: str) -> list[str]:
    """Return the names of the columns of a table, or raise `GraphError` if it is none."""
    if isinstance(table, Mapping):
        return list(table)
    if callable(getattr(table, "collect", None)):  # lazy frames
        raise GraphError(f"{argument} is {shown(table)}, which has no values yet; give its collect()")
    names = getattr(table, "column_names", None)  # pyarrow, whose `columns` are arrays
    if names is None:
        names = getattr(table, "columns", None)
    if names is None or not is_many(list(names)) or not hasattr(table, "__getitem__"):
        raise GraphError(f"{argument} is {shown(table)}; give a DataFrame, a table of pyarrow, or a dict of columns")
    return list(names)


def given_column(table: Any, name: str, argument: str) -> Any:
    """Return a column of a table as the table has it, or raise `GraphError` if it has none or several of this name."""
    names = column_names(table, argument)
    if name not in names:
        raise GraphError(f"{argument} has no column {shown(name)}, only {shown(names)}; name its columns")
    if names.count(name) > 1:
        raise GraphError(f"{argument} has several columns {shown(name)}; give each a name of its own")
    return table[name]


def column(table: Any, name: str, argument: str) -> npt.NDArray[Any]:
    """Return a column of a table, or raise `GraphError` if it has none of this name, or values are missing."""
    label = f"{argument}[{name!r}]"
    given = unmasked(given_column(table, name, argument), label, GraphError)
    if not (is_many(given) or hasattr(given, "__array__")):
        raise GraphError(f"{label} is {shown(given)}; give a list or an array")
    try:
        values = np.asarray(given) if not isinstance(given, Sequence) else _listed(given)
    except Exception as error:  # each library has its own
        raise GraphError(f"{label} is no array for NumPy ({error}); give numbers or texts") from None
    if values.ndim != 1:
        raise GraphError(f"{label} has {values.ndim} dimensions; give a one-dimensional array")
    missing = _missing(given, values)
    if missing.any():
        at = int(np.argmax(missing))
        raise GraphError(f"{label} has no value in row {at}; fill it in, or leave the row out")
    if values.dtype.kind == "O" and hasattr(given, "dtype") and getattr(given.dtype, "kind", "O") in "iuf":
        values = values.astype(np.int64 if given.dtype.kind == "i" else np.uint64 if given.dtype.kind == "u" else float)
    return values


def _listed(items: Sequence[Any]) -> npt.NDArray[Any]:
    """Return a list as an array of numbers, or of objects if it has others, such as tuples."""
    if all(isinstance(item, int | float | np.number) for item in items):
        return np.array(items)
    return objects(items)


def _missing(given: Any, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which values of a column stand for none."""
    for ask in ("isna", "is_null"):  # pandas; polars and pyarrow, which make numbers of columns with nulls floats
        if callable(getattr(given, ask, None)):
            return np.asarray(getattr(given, ask)(), np.bool_)
    if values.dtype.kind == "O":
        return np.fromiter(map(is_missing, values.tolist()), np.bool_, len(values))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), np.bool_)


def _nodes(nodes: Any, node: str | None) -> list[Any]:
    """Return the names of the nodes in their table."""
    columns = column_names(nodes, "nodes")
    labels = getattr(getattr(nodes, "index", None), "tolist", None)
    if node is None and labels is not None:
        return list(labels())
    if node is None and not columns:
        raise GraphError("nodes has no columns; give one of the nodes and two of coordinates")
    return list(column(nodes, columns[0] if node is None else node, "nodes").tolist())
