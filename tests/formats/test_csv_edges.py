"""Tables of edges: against the module csv, in columns of any order, with any separator and any quotes."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graph_files import arcs, csv_table, written
from vkssp import UNREACHABLE, FormatError, Graph, QueryError, Solver, read_graph
from vkssp.formats import read_file, stream

TEXTS = st.text(st.sampled_from("aZ9 _-.é,;|\t'"), max_size=6)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[dict[str, str]], tuple[str, str, str]]:
    """Draw a table with a column of texts: its text, its delimiter, its rows, and the names of its columns."""
    delimiter, quoting = draw(st.sampled_from(",;\t|")), draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    ends = draw(st.sampled_from([("from", "to", "length"), ("U", "V", "Weight"), ("source", "target", "cost")]))
    columns = draw(st.permutations([*ends, "what", "more"]))
    number = st.integers(0, 30).map(str)
    row = {**dict.fromkeys(ends, number), "what": TEXTS, "more": number}
    rows = draw(st.lists(st.fixed_dictionaries(row), max_size=20))
    out = io.StringIO()
    end = draw(st.sampled_from(["\n", "\r\n"]))
    writer = csv.DictWriter(out, columns, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue(), delimiter, rows, ends


@given(tables(), st.sampled_from([1, 13, 1 << 20]), st.booleans())
def test_tables_are_read_as_the_module_csv_reads_them(
    tmp_path: Path, table: tuple[str, str, list[dict[str, str]], tuple[str, str, str]], block: int, marked: bool
) -> None:
    text, delimiter, _, (tail, head, weight) = table
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    wanted = [(int(row[tail]), int(row[head]), int(row[weight])) for row in rows]
    ids = sorted({node for u, v, _ in wanted for node in (u, v)})
    expected = sorted((ids.index(u), ids.index(v), w) for u, v, w in wanted)
    path = written(tmp_path, "edges.csv", "\ufeff" * marked + text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", block)
        found = read_file(path)
        chosen = read_file(path, edge_columns=[head, tail, "more"], directed=False)
    assert found.format == "csv" and sorted(arcs(found.graph)) == expected
    assert found.node_ids is not None and found.node_ids.tolist() == ids
    names = list(range(len(ids))) if found.graph.names is None else found.graph.names.tolist()
    assert names == ids and (found.graph.names is None) == (ids == list(range(len(ids))))
    others = [(ids.index(int(row[head])), ids.index(int(row[tail])), int(row["more"])) for row in rows]
    assert sorted(arcs(chosen.graph)) == sorted([*others, *((v, u, w) for u, v, w in others if u != v)])


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("a", "1,2,3\n2,1,4\n", {}, [(0, 1, 3), (1, 0, 4)]),
        ("a", "1;2\n", {"weights": "random:7-7"}, [(0, 1, 7)]),
        ("a.csv", "1 2 9\n", {}, [(0, 1, 9)]),
        ("a", "source target\n5 4\n", {}, [(1, 0, 1)]),
        ("a.tsv", "from\tto\tlength\n5\t4\t0.25\n", {"scale": 100}, [(1, 0, 25)]),
        ("a.csv", "# a table\n\nu,v\n# no edge, 3\n\n1,2\n", {}, [(0, 1, 1)]),
        ("a.csv", "x,y,z\n1,2,3\n", {"edge_columns": ("x", "z")}, [(0, 1, 1)]),
        ("a.csv", "x,y,z\n1,2,3\n", {"edge_columns": (2, 0, 1)}, [(1, 0, 2)]),
        ("a.csv", "1,2,3\n", {"edge_columns": np.array([1, 2, 0])}, [(0, 1, 1)]),
        ("a.csv", "from, to ,length\n 1 , 2,3 \n", {}, [(0, 1, 3)]),
        ("a.csv", "from,to,\n1,2,\n", {}, [(0, 1, 1)]),
        ("a.csv", "from,to\n", {}, []),
    ],
)
def test_forms(tmp_path: Path, name: str, text: str, options: dict[str, Any], expected: list[Any]) -> None:
    assert arcs(read_graph(written(tmp_path, name, text), **options)) == expected
    assert arcs(read_graph(io.BytesIO(text.encode()), format="csv", **options)) == expected


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("id,lat,lon\n1,2,3\n", {}, "has no columns tail and head, but id, lat, lon; say which they are by edge_col"),
        ("from,to\n1\n", {}, "line 2: has 1 fields, and the first line has 2"),
        ("from,to,name\n1,2,a\n1,2,3,4\n", {}, "line 3: has 4 fields, and the first line has 3"),
        ("from,to,km\n1,,2\n", {"edge_columns": ["from", "to"]}, "line 2: has 1 fields; the lines here are 'from,to'"),
        ("from,to,length\n\n1 2,,3\n", {}, "line 3: has an empty field, or several numbers in one"),
        ('from,to,length\n"1 2","",3\n', {}, "line 2: has an empty field, or several numbers in one"),
        ("from,to\n\n# no\nA,B\n", {}, "line 4: has the node 'A', and ids in files are whole numbers; read it"),
        ("from,to,length\n1,2,3\n1,A,3\n", {}, "line 3: 'A' is not a whole number"),
        ("from,to,length\n1,2,nan\n", {}, "line 2: weight nan is not finite"),
        ("from,to,length\n1,2,99999999999999999999\n", {}, "line 2: 99999999999999999999 is too large a number"),
        ("from,to,length\n1,2,-3\n", {}, "weight -3 is negative"),
        ('from,to,name\n1,2,"a\nb"\n', {}, "line 2: has a quote that does not end in this line"),
        ("1,2\n", {"edge_columns": ["from", "to"]}, "has no names of columns in its first line; give the number"),
        ("from,to\n1,2\n", {"edge_columns": ["from", "till"]}, "has no column 'till'; it has from, to"),
        ("from,to\n1,2\n", {"edge_columns": [0, 2]}, "has 2 columns; there is no column 3"),
        ("7\n", {}, "has 1 column; an edge has two"),
    ],
)
def test_tables_that_hold_no_edges(tmp_path: Path, text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_graph(written(tmp_path, "a.csv", text), **options)
    assert words in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(0, 1e12)), min_size=1), st.booleans())
def test_real_weights_and_ids_are_kept(edges: list[tuple[int, int, float]], directed: bool) -> None:
    ids = [5_000_000_000 + 7 * at for at in range(10)]
    named = [(ids[tail], ids[head], weight) for tail, head, weight in edges]
    text = "".join(f"{tail},{head},{weight!r}\n" for tail, head, weight in named)
    graph = read_graph(io.BytesIO(f"u,v,w\n{text}".encode()), format="csv", directed=directed)
    wanted = Graph.from_edges(*zip(*named, strict=True), undirected=not directed)
    with Solver(graph, "dijkstra") as solver, Solver(wanted, "dijkstra") as reference:
        assert graph.names is not None and graph.names.tolist() == sorted({node for edge in named for node in edge[:2]})
        found, true = (one.distances(graph.names) for one in (solver, reference))
    if graph.scale is None:  # all of them are whole, and small
        found = np.where(found == UNREACHABLE, np.inf, found)
    assert np.allclose(found, true, rtol=1e-9, atol=20 * (graph.weight_error + wanted.weight_error))


@pytest.mark.parametrize("columns", [["a"], "ab", [0, 0], [0, -1], [0, 1, 2, 3], [0, 1.5], 7])
def test_columns_that_are_none(tmp_path: Path, columns: Any) -> None:
    with pytest.raises(QueryError, match="edge_columns"):
        read_graph(written(tmp_path, "a.csv", "a,b\n1,2\n"), edge_columns=columns)


def test_columns_are_for_tables(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"edge_columns is for CSV files, and .* is read as edge_list"):
        read_graph(written(tmp_path, "a.txt", "1 2\n"), edge_columns=[0, 1])
    with pytest.raises(QueryError, match="edge_columns is for files of graph collections"):
        read_graph("rmat:3", edge_columns=[0, 1])


def test_streams_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"a stream holds str; give one of bytes, such as sys\.stdin\.buffer"):
        read_graph(io.StringIO("1 2\n"))  # type: ignore[arg-type]
    closed = io.BytesIO(b"1 2\n")
    closed.close()
    with pytest.raises(FormatError, match="cannot keep standard input"):
        read_graph(closed)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_quoted_columns_that_are_not_wanted(tmp_path: Path, delimiter: str) -> None:
    wanted = [(0, 1, 5), (1, 2, 6), (2, 3, 7), (3, 0, 8)]
    assert arcs(read_graph(written(tmp_path, "a", csv_table(wanted, delimiter)))) == wanted
