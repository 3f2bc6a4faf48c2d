"""Detection of the format of a text by its first lines, and by the file's name if these are ambiguous."""

from __future__ import annotations

from vkssp.formats.csv_edges import is_table
from vkssp.formats.numeric_text import shown
from vkssp.formats.stream import Lines

_KNOWN = "OpenStreetMap extract (.osm.pbf, .osm), saved graph, DIMACS, PACE, Matrix Market, METIS, edge list or CSV"


def format_of(lines: Lines) -> str:
    """Return the name of a text's format.

    A first line that begins with

    - ``%%MatrixMarket`` means a Matrix Market file;
    - ``c`` or ``p`` means a DIMACS graph or, if the problem line begins with ``p tw``, a PACE graph;
    - ``#`` means an edge list;
    - ``%`` or a digit is ambiguous: the file is a Matrix Market file without a banner if it is named .mtx, a METIS
      graph if it is named .graph or .metis, and an edge list otherwise;
    - separated fields, or the usual names of columns, means a CSV file, as does a name that ends in .csv.

    Raises
    ------
    FormatError
        If the file is empty or in an unknown format.
    """
    for _ in lines.comments(b""):  # blank lines
        pass
    start = lines.peek()
    name = lines.file_name.lower()
    if not start:
        raise lines.error("is empty; get it again")
    line = start.partition(b"\n")[0].strip()
    first = line.split(None, 1)[0]
    if b"\0" in line:
        raise lines.error(f"is no text and no saved graph, or a damaged one; give a graph as {_KNOWN}")
    if first.lower() == b"%%matrixmarket":
        return "matrixmarket"
    if first in (b"c", b"p"):
        for _ in lines.comments(b"c"):
            pass
        return "pace" if lines.peek().partition(b"\n")[0].split()[:2] == [b"p", b"tw"] else "dimacs"
    if name.endswith(".csv"):
        return "csv"
    if first.startswith(b"#"):
        return "edge_list"
    if not first.startswith(b"%") and is_table(line.removeprefix(b"\xef\xbb\xbf")):
        return "csv"
    if first.startswith(b"%") or first[:1].isdigit():
        if name.endswith(".mtx"):
            return "matrixmarket"
        return "metis" if name.endswith((".graph", ".metis")) else "edge_list"
    cure = f"give a graph as {_KNOWN}"
    if name.endswith(".graphml") or b"<graphml" in start[:1000]:
        cure = "load it with osmnx.load_graphml or networkx.read_graphml, and give that to from_osmnx or from_networkx"
    raise lines.error(f"is no graph that can be read: it begins with '{shown(line)}'; {cure}")
