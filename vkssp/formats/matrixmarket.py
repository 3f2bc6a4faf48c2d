"""Reader of sparse matrices as graphs: Matrix Market coordinate files (.mtx).

Source: R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats: Initial Design, NISTIR 5935, 1996
(https://math.nist.gov/MatrixMarket/formats.html).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from vkssp.errors import FormatError
from vkssp.formats.build import Coordinates, GraphFile, Options, check_sizes, graph_of_edges, refuse_directed
from vkssp.formats.columns import Ids, Reals, Weights, sizes
from vkssp.formats.numeric_text import Array, Layout, read_table, shown
from vkssp.formats.stream import COMPRESSED, Lines
from vkssp.graph import Uint32s

_BANNER = "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric"
_FIELDS = ("pattern", "integer", "real")


def _banner(lines: Lines) -> tuple[str, str, str] | None:
    """Take the banner, if there is one; return the layout, the field and the symmetry that it names."""
    if not lines.peek().lower().startswith(b"%%matrixmarket"):
        return None
    number = lines.line
    words = lines.next()[1].decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise lines.error(f"is '{shown(' '.join(words).encode())}' where '{_BANNER}' is due", number)
    return words[2], words[3].replace("unsigned-", ""), words[4]


def _sizes(lines: Lines, usage: str) -> tuple[int, list[int]]:
    number, text = lines.next(b"%")
    if not text:
        raise lines.error(f"ends before the line '{usage}'; it may be truncated: get it again", number)
    words = text.split()
    try:
        if len(words) != len(usage.split()):
            raise ValueError(f"is '{shown(text)}' where '{usage}' is due")
        return number, sizes(words)
    except ValueError as error:
        raise lines.error(str(error), number) from None


def read_matrix_market(lines: Lines, options: Options) -> GraphFile:
    """Read a square matrix: entry (row, column) is an arc from row to column, and back if the matrix is symmetric.

    Some collections leave the banner out. Such a file has weights if its lines have three numbers. Its matrix counts as
    symmetric if all entries lie on one side of the diagonal, as the format requires of symmetric matrices. If entries
    lie on both sides, the caller has to give `directed`.
    """
    number = lines.line
    banner = _banner(lines)
    layout, field, symmetry = banner or ("coordinate", "", "")
    if layout != "coordinate":
        raise lines.error(f"a matrix of kind '{layout}' is no graph; graphs are of kind 'coordinate'", number)
    if banner and field not in _FIELDS:
        raise lines.error(f"entries of kind '{field}' are no weights; weights are {', '.join(_FIELDS)}", number)
    if banner and symmetry not in ("general", "symmetric"):
        raise lines.error(f"a {symmetry} matrix is no graph; graphs are general or symmetric", number)
    if symmetry == "symmetric":
        refuse_directed(options, "symmetric matrix")
    undirected = symmetry == "symmetric" or options.directed is False
    number, (nodes, columns, entries) = _sizes(lines, "ROWS COLUMNS ENTRIES")
    if nodes != columns:
        raise lines.error(f"a matrix of {nodes} rows and {columns} columns is no graph; it must be square", number)
    check_sizes(lines, number, nodes, entries, undirected=undirected)
    said = f"line {number} says"
    ids = Ids(nodes, said)
    weighted = field != "pattern" if banner else lines.width(b"%") > 2
    weight_column = Weights(options.scale, real=field != "integer")
    table = (
        Layout("ROW COLUMN VALUE", (ids, ids, weight_column), b"%", count=entries, said=said)
        if weighted
        else Layout("ROW COLUMN", (ids, ids), b"%", count=entries, said=said)
    )
    tail, head, *rest = read_table(lines, table)
    if not banner and options.directed is None:
        undirected = _is_half(lines, tail, head)
    places = _coordinates(lines, options, nodes)
    weight = rest[0] if rest else None
    graph = graph_of_edges(nodes, tail, head, weight, options, undirected=undirected, coordinates=places)
    return GraphFile(graph, "matrixmarket")


def _is_half(lines: Lines, row: Uint32s, column: Uint32s) -> bool:
    """Return True if the entries are one half of a symmetric matrix; raise `FormatError` if they are on both sides."""
    if (row < column).any() and (row > column).any():
        raise lines.error(
            "has entries on both sides of the diagonal, and no banner that says whether it is symmetric; "
            "say whether it is directed or undirected"
        )
    return True


def coordinates_beside(path: Path) -> Path | None:
    """Return the file with the coordinates of a matrix, if it is beside the matrix: NAME_coord.mtx for NAME.mtx."""
    match = re.fullmatch(r"(.+)\.mtx(?:\.gz|\.bz2|\.xz)?", path.name)
    if match is None:
        return None
    places = (path.with_name(f"{match[1]}_coord.mtx{ending}") for ending in ("", *COMPRESSED))
    return next((place for place in places if place.is_file()), None)


def _coordinates(lines: Lines, options: Options, nodes: int) -> Coordinates:
    if not options.coordinates:
        return None, None
    # Archives of the SuiteSparse collection hold the coordinates beside the matrix.
    name = f"/{lines.file_name.removesuffix('.mtx')}_coord.mtx"
    member = next((other for other in lines.members if other.endswith(name)), None)
    found = lines.path if member else coordinates_beside(lines.path)
    if found is None:
        return None, None
    with Lines(found, member, progress=lines.progress) as beside:
        try:
            return read_coordinates(beside, nodes)
        except NoDegreesError:  # drawings of meshes and circuits have the same name
            return None, None


class NoDegreesError(FormatError):
    """Error for a matrix of coordinates that are not longitudes and latitudes."""


def read_coordinates(lines: Lines, nodes: int) -> Coordinates:
    """Read a matrix of two columns, the longitudes and the latitudes of the nodes in degrees.

    Returns
    -------
    tuple of numpy.ndarray
        Latitudes and longitudes.

    Raises
    ------
    FormatError
        If it is not such a matrix or has another number of nodes.
    """
    if _banner(lines) not in (("array", "real", "general"), ("array", "integer", "general")):
        raise lines.error("is not '%%MatrixMarket matrix array real general', with which coordinates begin", 1)
    number, (rows, columns) = _sizes(lines, "ROWS COLUMNS")
    if rows != nodes:
        raise lines.error(f"has coordinates of {rows} nodes, but the graph has {nodes}; give its own", number)
    layout = Layout("VALUE", (Reals(),), b"%", count=rows * columns, said=f"line {number} says")
    values: Array = read_table(lines, layout)[0]
    if columns == 2:
        lon, lat = values[:rows], values[rows:]
        if not ((np.abs(lon) > 180).any() or (np.abs(lat) > 90).any()):
            return lat, lon
    raise NoDegreesError(f"{lines.name} has no two columns of longitudes and latitudes in degrees; give others")
