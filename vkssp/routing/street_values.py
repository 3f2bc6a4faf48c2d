"""Values of streets, such as loads and betweenness, as lines for files and maps.

A street is what lies between two junctions. The value of a street is the sum over its arcs: those of both directions,
and in a graph with turns those of all the nodes at one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import shown, values_of_arcs
from vkssp.errors import QueryError
from vkssp.features.features import Features
from vkssp.features.files import check_features_ending
from vkssp.features.shapes import lines_through
from vkssp.graph import Graph, checked_graph
from vkssp.graph.csr import ranges
from vkssp.routing.tiles import Tiles
from vkssp.routing.value_map import write_value_map

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Streets:
    """Streets of a graph that have an arc.

    Attributes
    ----------
    ids : numpy.ndarray
        Numbers of the streets, ascending, shape (k,), int64.
    of_arc : numpy.ndarray
        Place of each arc's street in `ids`, shape (num_arcs,), int64.
    arc : numpy.ndarray
        An arc of each street, shape (k,), int64.
    """

    ids: Ints
    of_arc: Ints
    arc: Ints

    @classmethod
    def of(cls, graph: Graph) -> _Streets:
        """Return the streets of a graph: its polylines, or without them the pairs of nodes that arcs join."""
        if graph.streets is not None:
            ids, arc, of_arc = np.unique(graph.streets.polyline, return_index=True, return_inverse=True)
            return cls(ids.astype(np.int64), of_arc, arc)
        low, high = np.minimum(graph.tail, graph.head).astype(np.int64), np.maximum(graph.tail, graph.head)
        _, arc, of_arc = np.unique(low * graph.num_nodes + high, return_index=True, return_inverse=True)
        return cls(np.arange(len(arc)), of_arc, arc)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sums of the values of arcs by street, of the same type."""
        found = np.zeros(len(self.ids), values.dtype)
        np.add.at(found, self.of_arc, values)
        return found

    def lines(self, graph: Graph) -> npt.NDArray[Any]:
        """Return the streets as shapely lines, cut at the 180th meridian, shape (k,)."""
        streets = graph.streets
        if streets is not None:
            first = streets.polyline_first.astype(np.int64)
            count = np.diff(first)[self.ids]
            points = streets.points[ranges(first[self.ids], count)] / 1e7
        else:
            assert graph.lat is not None and graph.lon is not None
            nodes = np.stack([graph.tail[self.arc], graph.head[self.arc]], axis=1).reshape(-1)
            count = np.full(len(self.ids), 2)
            points = np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1)
        return lines_through(points, count)


def _summed(graph: Graph, values: Mapping[str, npt.ArrayLike]) -> tuple[_Streets, dict[str, npt.NDArray[Any]]]:
    """Return the streets of a graph, and the sums of values of arcs by street."""
    given = values_of_arcs(values, "values", graph.num_arcs)
    if not given:
        raise QueryError(f"values is {shown(values)}; give a dictionary of names and values of arcs")
    streets, found = _Streets.of(graph), {}
    for name, numbers in given.items():
        whole = np.asarray(values[name])
        found[name] = streets.sums(whole.astype(np.int64) if whole.dtype.kind in "iu" else numbers)
    return streets, found


def street_features(graph: Graph, values: Mapping[str, npt.ArrayLike]) -> Features:
    """Return streets with values as features: lines, or a table if the graph has no coordinates.

    Parameters
    ----------
    graph : Graph
        The graph.
    values : mapping of str to array_like
        Values of arcs by name, such as `vkssp.Flows.arcs`, shape (num_arcs,) each. Those of a street are added up.

    Returns
    -------
    Features
        With the columns ``street``, a number; if the graph has streets, ``way``, their id in OpenStreetMap, ``name``
        and ``length_m``; and the given ones.

    Raises
    ------
    QueryError
        If values are not as many numbers as arcs.
    """
    streets, sums = _summed(graph, values)
    about: dict[str, npt.NDArray[Any]] = {"street": streets.ids}
    if (known := graph.streets) is not None:
        names = np.array(known.names, object)[known.name[streets.arc]]
        about |= {"way": known.way[streets.arc], "name": names, "length_m": known.length[streets.arc]}
    return Features({**about, **sums}, None if graph.lat is None else streets.lines(graph), "streets")


def write_street_values(path: str | Path, graph: Graph, values: Mapping[str, npt.ArrayLike]) -> None:
    """Write values of streets, such as loads, as lines for a geographic information system, or as a table.

    Parameters
    ----------
    path : str or Path
        The file, which appears only when it is complete; see `vkssp.Features.write` for its endings.
    graph, values
        See `street_features`.

    Raises
    ------
    QueryError
        If values are not as many numbers as arcs, or if a library that writes the format is not installed.
    FormatError
        If the file cannot be written, if its ending is not known, or if it needs coordinates and the graph has none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vkssp import Graph, Solver
    >>> from vkssp.routing.street_values import write_street_values
    >>> graph = Graph.from_edges([0, 1], [1, 2], [4, 3], undirected=True, lat=[0, 0, 1], lon=[0, 1, 1])
    >>> with Solver(graph) as solver:
    ...     found = solver.flows([0, 2], [2, 0], [5, 7])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "loads.csv"
    ...     write_street_values(path, graph, {"load": found.arcs})
    ...     path.read_text().splitlines()
    ['street,load', '0,12', '1,12']
    """
    check_features_ending(path, (), checked_graph(graph, QueryError).lat is not None)
    street_features(graph, values).write(path)


def write_street_map(
    path: str | Path,
    graph: Graph,
    values: Mapping[str, npt.ArrayLike],
    *,
    facts: Mapping[str, str] | None = None,
    title: str | None = None,
    tiles: Tiles | str | None = None,
) -> None:
    """Write an HTML page with streets in colours and widths of their values that opens without an internet connection.

    Streets whose values are all 0 are drawn as other roads.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .html or .htm; it appears only when it is complete.
    graph : Graph
        The graph; it needs coordinates.
    values : mapping of str to array_like
        Values of arcs by name; see `write_street_values`.
    facts, title, tiles
        See `vkssp.routing.value_map.write_value_map`.

    Raises
    ------
    QueryError, FormatError
        As `write_street_values` and `vkssp.routing.value_map.write_value_map` do.
    """
    if checked_graph(graph, QueryError).lat is None:
        raise QueryError("graph has no coordinates and cannot be drawn; give lat and lon when it is made")
    streets, sums = _summed(graph, values)
    is_drawn = np.any([one != 0 for one in sums.values()], axis=0)
    if not is_drawn.any():
        raise QueryError("all values are 0; there is no street to draw")
    drawn = {name: one[is_drawn] for name, one in sums.items()}
    write_value_map(path, graph, drawn, shapes=streets.lines(graph)[is_drawn], facts=facts, title=title, tiles=tiles)
