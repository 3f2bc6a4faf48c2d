"""Whatever holds a graph, read by one function."""

from __future__ import annotations

from pathlib import Path

from vkssp.errors import FormatError
from vkssp.graph import Graph


def read_graph(path: str | Path, *, profile: str = "car", progress: bool = False) -> Graph:
    """Read a saved graph, or import an OpenStreetMap extract.

    Parameters
    ----------
    path : str or Path
        A graph written by `Graph.save`, or an extract: .osm.pbf, .osm, .osm.gz or .osm.bz2.
    profile : str
        Who travels, where it is an extract.
    progress : bool
        Whether to show a progress bar on the terminal.

    Raises
    ------
    FormatError
        If the file is missing, of another kind, or damaged.
    """
    from vkssp.osm import is_extract, read_extract

    source = Path(path)
    if source.is_dir():
        raise FormatError(f"{source} is a folder; give a file")
    if is_extract(source):
        return read_extract(source, profile=profile, progress=progress)
    return Graph.load(source)
