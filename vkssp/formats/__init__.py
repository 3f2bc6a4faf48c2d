"""Readers of graph files: DIMACS, PACE, Matrix Market, METIS, edge lists and CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vkssp.checks import flag, index_of, items_of, path_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.formats.build import GraphFile, Options, located
from vkssp.formats.columns import Rule, check_scale
from vkssp.formats.csv_edges import read_csv
from vkssp.formats.detect import format_of
from vkssp.formats.dimacs import read_co, read_dimacs, read_pace
from vkssp.formats.edge_list import read_edge_list
from vkssp.formats.matrixmarket import read_coordinates, read_matrix_market
from vkssp.formats.metis import read_metis
from vkssp.formats.stream import Lines
from vkssp.former import warn_of

__all__ = ["FORMATS", "GraphFile", "read_file"]

#: Reader of each format.
FORMATS: dict[str, Callable[[Lines, Options], GraphFile]] = {
    "dimacs": read_dimacs,
    "pace": read_pace,
    "matrixmarket": read_matrix_market,
    "metis": read_metis,
    "edge_list": read_edge_list,
    "csv": read_csv,
}


def read_file(
    path: str | Path,
    *,
    format: str | None = None,
    weights: str = "unit",
    directed: bool | None = None,
    scale: float | None = None,
    coordinates: str | Path | bool = True,
    progress: bool = False,
    edge_columns: Sequence[str | int] | None = None,
) -> GraphFile:
    """Read a graph from a text file, plain or compressed (gz, bz2, xz), or from a tar archive that holds it.

    The compression and the format are detected from the content; `vkssp.formats.detect.format_of` has the rules. The
    file is read in blocks, so that reading takes little more memory than the graph.

    Parameters
    ----------
    path : str or Path
        The file.
    format : str, optional
        One of `FORMATS`, if the content would be detected as another format.
    weights : str
        The weights if the file has none: ``unit``, all 1, or ``random:LOW-HIGH``, uniformly distributed whole numbers;
        both directions of an undirected edge get the same weight. ``random:LOW-HIGH,seed=S`` draws other weights.
    directed : bool, optional
        Whether a line of the file is an arc in one direction; otherwise it stands for both. This is for formats that
        leave it open: edge lists, general matrices and DIMACS graphs, all of which are directed by default.
    scale : float, optional
        Factor of the file's weights; the products are rounded to the nearest whole numbers, halves to the even one.
        Without it, fractions are refused.
    coordinates : str, Path or bool
        A file with the coordinates of the nodes: DIMACS .co or a matrix of longitudes and latitudes. True looks for
        this file beside the graph: X.co for X.gr, or for travel times the file of the distances (USA-road-d.NY.co for
        USA-road-t.NY.gr); X_coord.mtx for X.mtx, also in the same archive, if it holds degrees.
    progress : bool
        Whether to show a progress bar on stderr once reading takes over a second.
    edge_columns : sequence of str or int, optional
        Columns of a CSV file with the ids of tails and heads, and perhaps weights, by their names or by their numbers
        from 0. By default the columns are found by usual names, such as tail, head and weight, from, to and length; in
        a file without names they are the first ones.

    Returns
    -------
    GraphFile
        The graph, its format, and the node ids of an edge list or a CSV file.

    Raises
    ------
    FormatError
        If the file is missing, is damaged, or violates its format; the message names the line.
    MemoryShortageError
        If there is not enough memory for the data that the file holds or announces.
    QueryError
        If an argument is invalid.
    """
    if isinstance(format, str) and format == "snap":
        warn_of("the format 'snap'", "'edge_list'")
        format = "edge_list"
    if format is not None and not (isinstance(format, str) and format in FORMATS):
        raise QueryError(f"format is {shown(format)}; give one of {', '.join(FORMATS)}")
    directed = None if directed is None else flag(directed, "directed")
    beside = None if isinstance(coordinates, bool) else path_of(coordinates, "coordinates")
    columns = None if edge_columns is None else _checked_columns(edge_columns)
    options = Options(Rule.parse(weights), check_scale(scale), directed, coordinates is True, columns)
    source = path_of(path)
    if source.is_dir():
        raise FormatError(f"{source} is a folder; give a file")
    with Lines(source, progress=progress) as lines:
        kind = format_of(lines) if format is None else format
        if columns is not None and kind != "csv":
            raise QueryError(f"edge_columns is for CSV files, and {source} is read as {kind}; leave it out")
        found = FORMATS[kind](lines, options)
    if beside is None:
        return found
    if found.node_ids is not None:
        raise QueryError(f"coordinates are for nodes 1 to n, which {source} does not number so; leave them out")
    with Lines(beside, progress=progress) as lines:
        read = read_coordinates if lines.peek().startswith(b"%%") else read_co
        return replace(found, graph=located(found.graph, read(lines, found.graph.num_nodes)))


def _checked_columns(columns: Any) -> list[str | int]:
    """Return columns as a list of names and numbers, or raise `QueryError`."""
    given = items_of(columns) or []
    found = [one if isinstance(one, str) else index_of(one) for one in given]
    if not 2 <= len(found) <= 3 or any(one is None or one == "" or (isinstance(one, int) and one < 0) for one in found):
        raise QueryError(
            f"edge_columns is {shown(columns)}; give two or three columns, of tails, heads and perhaps weights, by "
            "names or by numbers from 0"
        )
    return [one for one in found if one is not None]
