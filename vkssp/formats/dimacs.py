"""Readers of files of the 9th DIMACS challenge (.gr, .co) and of the similar files of the PACE challenges.

Sources: C. Demetrescu, A. Goldberg, D. Johnson, 9th DIMACS Implementation Challenge - Shortest Paths, file formats
(http://www.diag.uniroma1.it/challenge9/format.shtml); PACE challenge, input format
(https://pacechallenge.org/2017/treewidth/).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from vkssp.formats.build import Coordinates, GraphFile, Options, check_sizes, graph_of_edges, refuse_directed
from vkssp.formats.columns import Ids, Millionths, Weights, sizes
from vkssp.formats.numeric_text import Layout, read_table, shown
from vkssp.formats.stream import COMPRESSED, Lines


def _problem(lines: Lines, kind: str, what: str) -> tuple[int, list[int]]:
    """Take the problem line; return its number and the sizes that it gives."""
    number, text = lines.next(b"c")
    if not text:
        raise lines.error(f"ends before the line '{what}'; it may be truncated: get it again", number)
    words, expected = text.split(), what.split()
    start = kind.split()
    if [word.decode("ascii", "replace") for word in words[: len(start)]] != start or len(words) != len(expected):
        cure = ""
        if words[:3] == [b"p", b"aux", b"sp"]:
            cure = "; it holds coordinates: give the .gr file, and this one as coordinates"
        raise lines.error(f"is '{shown(text)}' where '{what}' is due{cure}", number)
    try:
        return number, sizes(words[len(start) :])
    except ValueError as error:
        raise lines.error(str(error), number) from None


def read_dimacs(lines: Lines, options: Options) -> GraphFile:
    """Read a graph of the 9th DIMACS challenge: ``p sp NODES ARCS``, then ``a FROM TO WEIGHT`` for each arc.

    The files of the challenge have two lines for an undirected road, one for each direction. With ``directed=False``
    each line stands for both directions.
    """
    number, (nodes, arcs) = _problem(lines, "p sp", "p sp NODES ARCS")
    undirected = options.directed is False
    check_sizes(lines, number, nodes, arcs, undirected=undirected)
    said = f"line {number} says"
    ids = Ids(nodes, said)
    layout = Layout("a FROM TO WEIGHT", (ids, ids, Weights(options.scale)), b"c", b"a", arcs, said)
    tail, head, weight = read_table(lines, layout)
    places = _coordinates(lines, options, nodes)
    graph = graph_of_edges(nodes, tail, head, weight, options, undirected=undirected, coordinates=places)
    return GraphFile(graph, "dimacs")


def read_pace(lines: Lines, options: Options) -> GraphFile:
    """Read a graph of a PACE challenge: ``p tw NODES EDGES``, then ``U V`` for each undirected edge, unweighted."""
    refuse_directed(options, "PACE graph")
    number, (nodes, edges) = _problem(lines, "p tw", "p tw NODES EDGES")
    check_sizes(lines, number, nodes, edges, undirected=True)
    said = f"line {number} says"
    ids = Ids(nodes, said)
    tail, head = read_table(lines, Layout("U V", (ids, ids), b"c", count=edges, said=said))
    places = _coordinates(lines, options, nodes)
    graph = graph_of_edges(nodes, tail, head, None, options, undirected=True, coordinates=places)
    return GraphFile(graph, "pace")


def coordinates_beside(path: Path) -> Path | None:
    """Return the file with the coordinates of a graph, if it is beside the graph.

    Its name is the graph's with .co for .gr. If there is no such file, the first ``-t.`` in the name is also replaced
    by ``-d.``: the challenge has one file of coordinates for distances and travel times, named like the file of the
    distances. The file may be compressed.
    """
    match = re.fullmatch(r"(.+)\.gr(?:\.gz|\.bz2|\.xz)?", path.name)
    if match is None:
        return None
    for stem in (match[1], match[1].replace("-t.", "-d.", 1)):
        for ending in ("", *COMPRESSED):
            found = path.with_name(f"{stem}.co{ending}")
            if found.is_file():
                return found
    return None


def _coordinates(lines: Lines, options: Options, nodes: int) -> Coordinates:
    found = coordinates_beside(lines.path) if options.coordinates else None
    if found is None:
        return None, None
    with Lines(found, progress=lines.progress) as beside:
        return read_co(beside, nodes)


def read_co(lines: Lines, nodes: int) -> Coordinates:
    """Read coordinates: ``p aux sp co NODES``, then ``v NODE X Y`` in millionths of degrees, east and north.

    Returns
    -------
    tuple of numpy.ndarray
        Latitudes and longitudes in degrees.

    Raises
    ------
    FormatError
        If the file has another form or another number of nodes.
    """
    number, (count,) = _problem(lines, "p aux sp co", "p aux sp co NODES")
    if count != nodes:
        raise lines.error(f"has coordinates of {count} nodes, but the graph has {nodes}; give its own", number)
    said = f"line {number} says"
    columns = (Ids(nodes, said), Millionths(180), Millionths(90))
    ids, x, y = read_table(lines, Layout("v NODE X Y", columns, b"c", b"v", nodes, said))
    lat, lon = np.full(nodes, np.nan), np.empty(nodes)
    lat[ids], lon[ids] = y, x
    missing = np.flatnonzero(np.isnan(lat))
    if missing.size:
        raise lines.error(f"has no line for node {missing[0] + 1}, and two for another; give each one")
    return lat, lon
