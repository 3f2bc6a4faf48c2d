"""Reading of graphs from all sources by one function: saved graphs, graph formats, extracts and generators."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from vkssp.checks import flag, no_file, path_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.graph import Graph
from vkssp.graph.graph import maker_of
from vkssp.log import logger
from vkssp.streams import kept_stream

_OF_EXTRACTS = ("profile", "turns", "at", "time_zone", "basemap")
_log = logger(__name__)


def read_graph(
    path: str | Path | IO[bytes],
    *,
    profile: str | Path | None = None,
    turns: str | None = None,
    at: datetime | float | None = None,
    time_zone: str | Path | None = None,
    basemap: bool | None = None,
    progress: bool = False,
    format: str | None = None,
    weights: str | None = None,
    directed: bool | None = None,
    scale: float | None = None,
    coordinates: str | Path | bool = True,
    edge_columns: Sequence[str | int] | None = None,
) -> Graph:
    """Read a saved graph or one in a format of graph collections, import an OpenStreetMap extract, or generate a graph.

    Parameters
    ----------
    path : str, Path or binary stream
        A graph written by `Graph.save`; a DIMACS, PACE, Matrix Market or METIS graph, an edge list or a CSV file of
        edges, perhaps compressed or in a tar archive; an extract: .osm.pbf, .osm, .osm.gz or .osm.bz2; or what
        `vkssp.generate.from_expression` takes, such as ``rmat:20``. A stream, such as ``sys.stdin.buffer``, is read to
        its end and kept in a temporary file meanwhile; the kind of its content is detected.
    profile : str or Path, optional
        Profile for an extract: ``car``, the default, ``bike``, ``foot``, or a profile's .toml file.
    turns : str, optional
        Kind of turns in the graph of an extract: ``none``, ``restrictions`` or ``costs``; by default the profile's.
    at : datetime, int or float, optional
        The moment for which an extract's turn restrictions at certain times count; without it, none of them counts. A
        datetime without a time zone is a local time everywhere, a number the seconds since 1970 in UTC.
    time_zone : str or Path, optional
        Name of a time zone, such as ``Europe/Berlin``, or a GeoJSON file of regions with such names in the property
        ``TZID``, if `at` is a moment of all the world.
    basemap : bool, optional
        Whether the graph of an extract also holds coast, water and names of places, which maps show beside the streets;
        by default it does.
    progress : bool
        Whether to show a progress bar on stderr while an extract is read, or once another file takes over a second.
    format : str, optional
        One of `vkssp.formats.FORMATS`, if the format would be detected wrongly.
    weights : str, optional
        Weights for a file without weights: ``unit``, the default, or ``random:LOW-HIGH,seed=S``.
    directed : bool, optional
        Whether a line of a file is an arc or an edge, if the format leaves that open.
    scale : float, optional
        Factor of the weights of a file, applied before they are rounded to whole numbers.
    coordinates : str, Path or bool
        A file with the coordinates of the nodes, or whether to look for such a file beside the graph. For details of
        this and the other options for files see `vkssp.formats.read_file`.
    edge_columns : sequence of str or int, optional
        Columns of a CSV file with tails, heads and perhaps weights, by names or by numbers from 0, such as
        ``("from", "to", "seconds")``; by default found by usual names.

    Returns
    -------
    Graph
        The graph; the nodes of an edge list or a CSV file are numbered in ascending order of their ids there.

    Raises
    ------
    FormatError
        If the file is missing, in an unknown format, or damaged.
    MemoryShortageError
        If there is not enough memory for the graph.
    QueryError
        If an argument is invalid, or has no effect on this kind of input.
    """
    of_extracts: dict[str, Any] = {"profile": profile, "turns": turns, "at": at, "time_zone": time_zone}
    of_extracts["basemap"] = basemap
    of_files: dict[str, Any] = {"format": format, "directed": directed, "scale": scale, "coordinates": coordinates}
    of_files["edge_columns"] = edge_columns
    began = time.perf_counter()
    with ExitStack() as stack:
        if not isinstance(path, str | Path) and hasattr(path, "read"):
            path = stack.enter_context(kept_stream(path))
        graph = _read(path, of_extracts, of_files, weights, progress)
    _log.debug(
        "read %s in %.2f s: %d nodes, %d arcs", path, time.perf_counter() - began, graph.num_nodes, graph.num_arcs
    )
    return graph


def _read(
    path: Any, of_extracts: Mapping[str, Any], of_files: Mapping[str, Any], weights: str | None, progress: bool
) -> Graph:
    """Read a graph; see `read_graph`."""
    from vkssp.formats import read_file
    from vkssp.generate import from_expression, is_expression
    from vkssp.osm import is_extract, read_extract

    if isinstance(path, str) and is_expression(path):
        refuse({**of_extracts, **of_files}, path, "a graph to generate")
        return from_expression(path)
    maker = maker_of(path)
    if maker is not None and not isinstance(path, str):
        raise QueryError(f"path is {shown(path)}, no file; make a Graph of it with {maker}")
    source, progress = path_of(path), flag(progress, "progress")
    if source.is_dir():
        raise FormatError(f"{source} is a folder; give a file")
    if of_files["format"] is None:
        if is_extract(source):
            refuse(of_files, source, "an OpenStreetMap extract")
            given = {name: value for name, value in of_extracts.items() if value is not None}
            return read_extract(source, progress=progress, **given)
        if is_saved(source):
            refuse({**of_extracts, **of_files}, source, "a saved graph")
            return Graph.load(source)
    refuse(of_extracts, source, "read as a file of a graph collection")
    weights = "unit" if weights is None else weights
    return read_file(source, weights=weights, progress=progress, **of_files).graph


def refuse(arguments: Mapping[str, object], path: str | Path, kind: str) -> None:
    """Raise `QueryError` if an argument is given that would have no effect.

    Parameters
    ----------
    arguments : dict of str to object
        Arguments of `read_graph` that have no effect on this kind of input; arguments not given have default values.
    path : str or Path
        The input.
    kind : str
        Kind of the input, for the message.
    """
    for name, value in arguments.items():
        if value is not None and (name, value) != ("coordinates", True):
            others = "OpenStreetMap extracts" if name in _OF_EXTRACTS else "files of graph collections"
            cure = "leave it out" + ", or import the original again with it" * (kind == "a saved graph")
            raise QueryError(f"{name} is for {others}, and {path} is {kind}; {cure}")


def is_saved(path: str | Path) -> bool:
    """Return whether a file begins like a file of `Graph.save`: like a zip archive.

    Raises
    ------
    FormatError
        If the file cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            return stream.read(2) == b"PK"
    except FileNotFoundError:
        raise no_file(path) from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
