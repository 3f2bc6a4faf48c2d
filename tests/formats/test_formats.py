"""Small files of every format, whole and malformed."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.support.graph_files import CO, GR, GR_ARCS, METIS, MTX, arcs, written
from vkssp import FormatError, QueryError
from vkssp.formats import read_file, stream

PATH = [(0, 1, 5), (1, 0, 5), (1, 2, 6), (2, 1, 6), (2, 3, 7), (3, 2, 7)]
UNIT = [(u, v, 1) for u, v, _ in PATH]


@pytest.mark.parametrize(
    ("name", "text", "format", "expected"),
    [
        ("a.gr", GR, "dimacs", GR_ARCS),
        ("windows.gr", GR.replace("\n", "\r\n"), "dimacs", GR_ARCS),
        ("no newline at the end", "p sp 2 1\na 1 2 5", "dimacs", [(0, 1, 5)]),
        ("blanks.gr", "\n\n p  sp\t2 1 \n  a\t1   2 5  \n\n", "dimacs", [(0, 1, 5)]),
        ("none.gr", "p sp 0 0\n", "dimacs", []),
        ("b.gr", "c hi\np tw 4 3\n1 2\n2 3\nc between\n3 4\n", "pace", UNIT),
        ("a.mtx", MTX.format("integer", "general") + "1 2 5\n2 1 6\n3 3 7\n", None, [(0, 1, 5), (1, 0, 6), (2, 2, 7)]),
        (
            "b.mtx",
            MTX.format("real", "general") + "1 2 5.0\n2 1 6e1\n3 3 .7e1\n",
            None,
            [(0, 1, 5), (1, 0, 60), (2, 2, 7)],
        ),
        ("c", MTX.format("pattern", "symmetric") + "2 1\n3 2\n3 3\n", None, [*UNIT[:2], *UNIT[2:4], (2, 2, 1)]),
        ("d", MTX.format("Integer", "SYMMETRIC") + "2 1 5\n3 2 6\n3 3 7\n", None, [*PATH[:4], (2, 2, 7)]),
        ("no banner.mtx", "% c\n4 4 3\n2 1\n3 2\n4 3\n", None, UNIT),
        ("no banner, weights.mtx", "4 4 3\n% c\n2 1 5\n3 2 6\n4 3 7\n", None, PATH),
        ("a.graph", METIS, "metis", PATH),
        ("b.graph", "4 3\n2\n1 3\n2 4\n3", "metis", UNIT),
        ("c.metis", "4 3 0\n 2 \n1 3 \n2 4\n3\n\n\n", "metis", UNIT),
        ("d.graph", "3 1 000\n\n3\n2\n", "metis", [(1, 2, 1), (2, 1, 1)]),
        ("e.graph", "4 3 10\n9 2\n9 1 3\n9 2 4\n9 3\n", "metis", UNIT),
        ("f.graph", "4 3 10 3 0\n9 1 1  2\n9 1 1  1 3\n9 1 1  2 4\n9 1 1  3\n", "metis", UNIT),
        ("g.graph", "4 3 11 2\n9 1 2 5\n9 1 1 5 3 6\n9 1 2 6 4 7\n9 1 3 7\n", "metis", PATH),
        ("h.graph", "4 3 100\n9 2\n9 1 3\n9 2 4\n9 3\n", "metis", UNIT),
        ("i.graph", "4 3 111 1\n8 9 2 5\n8 9 1 5 3 6\n8 9 2 6 4 7\n8 9 3 7\n", "metis", PATH),
        ("twice.graph", "2 2 1\n2 5 2 6\n1 6 1 5\n", "metis", [(0, 1, 5), (0, 1, 6), (1, 0, 6), (1, 0, 5)]),
        ("nobody.graph", "2 0\n\n\n", "metis", []),
        ("a.txt", "# hi\n3 1\n1 3\n\n# hi\n1\t4\n", "edge_list", [(0, 1, 1), (0, 2, 1), (1, 0, 1)]),
        (
            "b.txt",
            "# Undirected graph: x\n# Nodes: 3 Edges: 2\n3 1\n1 4\n",
            "edge_list",
            [(0, 2, 1), (0, 1, 1), (1, 0, 1), (2, 0, 1)],
        ),
        ("c.txt", "0 1 5\n1 2 6.0\n", "edge_list", [(0, 1, 5), (1, 2, 6)]),
        ("d.txt", "# nothing\n", "edge_list", []),
        ("e.txt", "9223372036854775806 0\n", "edge_list", [(1, 0, 1)]),
    ],
)
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    name: str,
    text: str,
    format: str | None,
    expected: list[tuple[int, int, int]],
) -> None:
    """What is read at a time must not matter."""
    monkeypatch.setattr(stream, "BLOCK", block)
    found = read_file(written(tmp_path, name, text))
    assert found.format == (format or "matrixmarket")
    assert sorted(arcs(found.graph)) == sorted(expected)
    assert (found.graph.lat is None) and (found.node_ids is None) == (found.format != "edge_list")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.gr", "p sp 3 2\na 1 2 5\na 4 1 2\n", "line 3: node 4 is out of range; line 1 says 3 nodes"),
        ("a.gr", "p sp 3 1\na 0 2 5\n", "line 2: node 0 is out of range"),
        ("a.gr", "p sp 3 2\n\nc\na 1 2 5\n\na 1 2 -7\n", "line 6: weight -7 is negative"),
        ("a.gr", "p sp 3 1\na 1 2 4294967295\n", "line 2: weight 4294967295 is too large; the largest is 4294967294"),
        ("a.gr", "p sp 3 1\na 1 2 99999999999999999999\n", "line 2: 99999999999999999999 is too large a number"),
        ("a.gr", "p sp 3 1\na 1 2 2.5\n", "line 2: weight 2.5 is not whole; give a scale (--scale)"),
        ("a.gr", "p sp 3 1\na 1 2 nan\n", "line 2: weight nan is not finite"),
        ("a.gr", "p sp 3 1\na 1 2 1e999\n", "line 2: weight inf is not finite"),
        ("a.gr", "p sp 3 1\na 1.0 2 3\n", "line 2: '1.0' is not a whole number"),
        ("a.gr", "p sp 3 1\na 1 2 x\n", "line 2: 'x' is not a number"),
        ("a.gr", "p sp 3 1\na 1 2 1_0\n", "line 2: '1_0' is not a number"),
        ("a.gr", "p sp 3 1\na 1 0x2 1\n", "line 2: '0x2' is not a whole number"),
        ("a.gr", "p sp 3 1\na 1-2 3 4\n", "line 2: '1-2' is not a whole number"),
        ("a.gr", "p sp 4 4\n" + 3 * "a1 2 3 4\n", "line 2: begins with 'a1'"),
        ("a.gr", "p sp 3 1\n1 a 2 3\n", "line 2: begins with '1'"),
        ("a.gr", "p sp 3 1\na 1 2a 4\n", "line 2: '2a' is not a whole number"),
        ("b.gr", "p tw 5 2147483648\n", "line 1: 2147483648 edges are more than the 2147483647"),
        ("a.gr", "p sp 3 1\na 1 \0 4\n", r"line 2: '\x00' is not a whole number"),
        ("a.gr", "p sp 3 2\na 1 2 3 4\na 1 2\n", "line 2: has 5 fields; the lines here are 'a FROM TO WEIGHT'"),
        ("a.gr", "p sp 3 2\na 1 2\na 1 2 3 4\n", "line 2: has 3 fields"),
        ("a.gr", "p sp 3 2\na 1 2 3 a\n1 2 3\n", "line 2: has 5 fields"),
        ("a.gr", "p sp 3 1\ne 1 2 3\n", "line 2: begins with 'e'"),
        ("a.gr", "p sp 3 2\na 1 2 3\np sp 3 2\n", "line 3: begins with 'p'"),
        (
            "a.gr",
            "p sp 3 2\na 1 2 3\n",
            "line 2: ends after 1 of the 2 lines 'a FROM TO WEIGHT' that line 1 says; it may",
        ),
        (
            "a.gr",
            "p sp 3 1\na 1 2 3\nc\na 1 3 4\n",
            "line 4: one more than the 1 that line 1 says; correct that number",
        ),
        ("a.gr", "c only\nc comments\n", "ends before the line 'p sp NODES ARCS'"),
        ("a.gr", "c x\np max 3 2\n", "line 2: is 'p max 3 2' where 'p sp NODES ARCS' is due"),
        ("a.gr", "p sp 3\n", "line 1: is 'p sp 3' where"),
        ("a.gr", "p sp 3 -1\n", "line 1: '-1' is no number of nodes or edges"),
        ("a.gr", "p sp 5000000000 1\n", "line 1: 5000000000 nodes are more than the 2147483647"),
        ("a.gr", "p sp 5 5000000000\n", "line 1: 5000000000 edges are more than the 4294967295"),
        ("a.co", CO, "line 2: is 'p aux sp co 3' where 'p sp NODES ARCS' is due; it holds coordinates"),
        ("b.gr", "p tw 3 1\n1 2 3\n", "line 2: has 3 fields; the lines here are 'U V'"),
        ("b.gr", "p tw 3 2\n1 2\n", "line 2: ends after 1 of the 2"),
        ("a.mtx", MTX.format("integer", "general") + "1 2 5\n2 1 6\n", "line 5: ends after 2 of the 3"),
        ("a.mtx", MTX.format("integer", "general") + "1 2 5\n2 1 6.5\n", "line 5: '6.5' is not a whole number"),
        (
            "a.mtx",
            MTX.format("real", "general") + "1 2 5.5\n",
            "line 4: weight 5.5 is not whole; give a scale (--scale)",
        ),
        ("a.mtx", MTX.format("real", "symmetric") + "2 1 -5.0\n", "line 4: weight -5.0 is negative"),
        ("a.mtx", MTX.format("complex", "general"), "line 1: entries of kind 'complex' are no weights"),
        ("a.mtx", MTX.format("real", "skew-symmetric"), "line 1: a skew-symmetric matrix is no graph"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n", "line 1: a matrix of kind 'array' is no graph"),
        ("a.mtx", "%%MatrixMarket vector real\n2 2\n", "line 1: is '%%matrixmarket vector real' where"),
        ("a.mtx", MTX.format("real", "general").replace("3 3", "3 4"), "line 3: a matrix of 3 rows and 4 columns"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n3 3\n",
            "line 2: is '3 3' where 'ROWS COLUMNS ENTRIES'",
        ),
        ("a.mtx", "3 3 2\n1 2\n2 1\n", "entries on both sides of the diagonal, and no banner"),
        (
            "a.graph",
            "3 2\n2\n1 3\n1\n",
            "line 4: node 3 lists node 1, but node 1 (line 2) does not list node 3 as often",
        ),
        ("a.graph", "3 2\n2 3\n1\n2\n", "line 2: node 1 lists node 3, but node 3 (line 4) does not"),
        ("a.graph", "3 1 1\n% c\n2 5\n% c\n1 6\n\n", "line 3: the edge of nodes 1 and 2 has weight 5, but 6 in line 5"),
        ("a.graph", "2 1\n2\n", "line 2: ends after the lines of 1 of 2 nodes"),
        ("a.graph", "2 2\n2\n1\n", "line 1: says 2 edges, but the nodes have 2 neighbours, not twice as many"),
        ("a.graph", "2 1\n2\n1\n\n1\n", "line 5: one more than the 2 nodes that line 1 says"),
        ("a.graph", "2 1\n2\n3\n", "line 3: node 3 is out of range"),
        ("a.graph", "2 1\n2\n2\n", "line 3: node 2 is its own neighbour"),
        ("a.graph", "2 1 1\n2 5\n1\n", "line 3: has 1 numbers for its neighbours; each has two"),
        ("a.graph", "2 1 1\n2 -5\n1 -5\n", "line 2: weight -5 is negative"),
        ("a.graph", "2 1 10 3\n1 1 1 2\n1 1\n", "line 3: has 2 numbers; the size and weights of the node are 3"),
        ("a.graph", "2 1 10\n-1 2\n1 1\n", "line 2: the size or a weight of the node is negative"),
        ("a.graph", "2 1\n2\n% c\n1.5\n", "line 4: '1.5' is not a whole number"),
        ("a.graph", "2 1 7\n2\n1\n", "line 1: has format '7'; it has up to three digits"),
        ("a.graph", "2\n2\n1\n", "line 1: is '2' where 'NODES EDGES [FORMAT [WEIGHTS]]' is due"),
        ("a.txt", "# x\n1 2\n2 3 4\n", "line 3: has 3 fields; the lines here are 'FROM TO'"),
        ("a.txt", "1 2\n3\n4 5 6\n", "line 2: has 1 fields"),
        ("a.txt", "1 9007199254740992 5\n", "line 1: node 9007199254740992 is out of range"),
        ("a.txt", "1.2\n", "line 1: has 1 fields"),
        ("a.txt", "1 2\n-1 2\n", "line 2: node -1 is out of range"),
        ("a.txt", "1 2\n1 9223372036854775807\n", "line 2: 9223372036854775807 is too large"),
        ("a.txt", "# Nodes: 3 Edges: 3\n1 2\n1 3\n", "has 2 edges, but line 1 says 3; it may be truncated"),
        ("a.txt", "1 2 3\n1 2 -3\n", "line 2: weight -3 is negative"),
        ("a.txt", "", "is empty"),
        ("a.txt", " \n \n", "is empty"),
        ("a.txt", "\0\1\2\3", "is no text and no saved graph"),
        ("a.graphml", "<?xml version='1.0'?>\n<graphml>\n", "load it with osmnx.load_graphml or networkx.read_graphml"),
        ("a.txt", "hello\nworld\n", "is no graph that can be read: it begins with 'hello'"),
    ],
)
@pytest.mark.parametrize("block", [5, 1 << 20])
def test_malformed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, name: str, text: str, message: str
) -> None:
    monkeypatch.setattr(stream, "BLOCK", block)
    path = written(tmp_path, name, text)
    with pytest.raises(FormatError) as caught:
        read_file(path)
    assert message in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_older_versions_of_numpy_only_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fromstring = np.fromstring

    def warning(text: bytes, kind: type, *, sep: str) -> object:
        try:
            return fromstring(text, kind, sep=sep)
        except ValueError:
            warnings.warn("could not be read to its end", DeprecationWarning, stacklevel=1)
            return np.zeros(2)

    monkeypatch.setattr(np, "fromstring", warning)
    with pytest.raises(FormatError, match="line 1: 'x' is not a whole number"):
        read_file(written(tmp_path, "a.txt", "1 x\n"))
    assert read_file(written(tmp_path, "a.txt", "1 2\n")).graph.num_arcs == 1


def test_format_can_be_forced(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "4 3\n2\n1 3\n2 4\n3\n")
    with pytest.raises(FormatError, match="line 2: has 1 fields"):
        read_file(path)
    assert arcs(read_file(path, format="metis").graph) == UNIT
    with pytest.raises(
        QueryError, match="format is 'xls'; give one of dimacs, pace, matrixmarket, metis, edge_list, csv"
    ):
        read_file(path, format="xls")


def test_directions_can_be_said(tmp_path: Path) -> None:
    there, back = (0, 1, 5), (1, 0, 5)
    general = written(tmp_path, "a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 5\n")
    banner = written(tmp_path, "b.mtx", "2 2 1\n1 2 5\n")
    edges = written(tmp_path, "a.txt", "# Undirected graph\n1 2 5\n")
    arcs_file = written(tmp_path, "b.txt", "# Directed graph\n1 2 5\n")
    roads = written(tmp_path, "a.gr", "p sp 2 1\na 1 2 5\n")
    by_default = {general: [there], banner: [there, back], edges: [there, back], arcs_file: [there], roads: [there]}
    for path, expected in by_default.items():
        assert arcs(read_file(path).graph) == expected
        assert arcs(read_file(path, directed=True).graph) == [there]
        assert arcs(read_file(path, directed=False).graph) == [there, back]
    both_sides = written(tmp_path, "c.mtx", "2 2 2\n1 2\n2 1\n")
    assert read_file(both_sides, directed=True).graph.num_arcs == 2
    for name, text in (
        ("u.gr", "p tw 2 1\n1 2\n"),
        ("u.graph", "2 1\n2\n1\n"),
        ("u.mtx", MTX.format("pattern", "symmetric")),
    ):
        with pytest.raises(QueryError, match="is undirected; do not ask for a directed one"):
            read_file(written(tmp_path, name, text), directed=True)


def test_weights_of_files_without_any(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    pairs = sorted({tuple(sorted(pair)) for pair in rng.integers(1, 40, (300, 2)).tolist() if pair[0] != pair[1]})
    lines = "".join(f"{u} {v}\n" for u, v in pairs)
    listed = [" ".join(str(a + b - node) for a, b in pairs if node in (a, b)) for node in range(1, 40)]
    undirected = [
        written(tmp_path, "a.gr", f"p tw 39 {len(pairs)}\n{lines}"),
        written(tmp_path, "a.graph", f"39 {len(pairs)}\n" + "\n".join(listed) + "\n"),
        written(tmp_path, "a.mtx", f"39 39 {len(pairs)}\n{lines}"),
        written(tmp_path, "a.txt", f"# Undirected\n{lines}"),
    ]
    graphs = [read_file(path, weights="random:3-9,seed=4").graph for path in undirected]
    for graph in graphs:
        matrix = graph.to_scipy().toarray()
        assert (matrix == matrix.T).all()
        assert sorted(set(graph.weight.tolist())) == [3, 4, 5, 6, 7, 8, 9]
        assert sorted(arcs(graph)) == sorted(arcs(graphs[0])), "the same edges in the same sequence have the same"
    again, other = (read_file(undirected[0], weights=f"random:3-9,seed={seed}").graph for seed in (4, 5))
    assert arcs(again) == arcs(graphs[0]) and arcs(other) != arcs(graphs[0])
    default = read_file(undirected[0], weights="random:3-9").graph
    assert arcs(default) == arcs(read_file(undirected[0], weights="random:3-9,seed=1").graph)
    directed = read_file(undirected[3], weights="random:1-1000", directed=True).graph
    assert directed.num_arcs == len(pairs) and len(set(directed.weight.tolist())) > 50
    assert set(read_file(undirected[1], weights="random:6-6").graph.weight.tolist()) == {6}
    kept = written(tmp_path, "kept.gr", GR)
    assert arcs(read_file(kept, weights="random:3-9").graph) == GR_ARCS


@pytest.mark.parametrize(
    "weights",
    "units random random: random:5 random:1-x random:1-2,3 random:1-2,seed=x random:9-3 random:0-4294967295 "
    "random:1-2,seed=-1 random:1-2,seed=3,x=4".split(),
)
def test_rules_that_are_none(tmp_path: Path, weights: str) -> None:
    with pytest.raises(QueryError, match=r"weights is|seed is"):
        read_file(tmp_path / "none.txt", weights=weights)


def test_scale(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 2 0.5\n2 3 1.5\n3 4 2.5\n4 5 1e3\n5 6 0.26\n")
    assert read_file(path, scale=1).graph.weight.tolist() == [0, 2, 2, 1000, 0], "halves go to the even number"
    assert read_file(path, scale=10).graph.weight.tolist() == [5, 15, 25, 10000, 3]
    assert read_file(written(tmp_path, "a.gr", GR), scale=0.5).graph.weight.tolist() == [2, 4, 0, 2147483647]
    with pytest.raises(FormatError, match=r"line 4: weight 1000.0 is too large.*a smaller scale"):
        read_file(path, scale=1e8)
    with pytest.raises(FormatError, match=r"line 1: weight 0\.5 is not whole"):
        read_file(path)
    with pytest.raises(FormatError, match="line 1: 99999999999999999999 is too large a number"):
        read_file(written(tmp_path, "a.txt", "1 2 99999999999999999999\n"), scale=1e-15)
    for scale in (1, 1e-300):  # rounded it would be 0
        with pytest.raises(FormatError, match=r"line 1: weight -0.3 is negative"):
            read_file(written(tmp_path, "a.txt", "1 2 -0.3\n"), scale=scale)
    for scale in (0, -1, float("nan"), float("inf"), "x"):
        with pytest.raises(QueryError, match="scale is"):
            read_file(path, scale=scale)  # type: ignore[arg-type]


def test_ids_of_edge_lists(tmp_path: Path) -> None:
    for far in (50, 10**12):  # by a table of ids, and by sorting
        found = read_file(written(tmp_path, "a.txt", f"7 3\n{far} 7\n3 3\n"))
        assert found.node_ids is not None and found.node_ids.tolist() == [3, 7, far]
        assert arcs(found.graph) == [(0, 0, 1), (1, 0, 1), (2, 1, 1)]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.gr does not exist; check the path"):
        read_file(tmp_path / "none.gr")
    with pytest.raises(FormatError, match="is a folder"):
        read_file(tmp_path)
    graph = written(tmp_path, "a.gr", GR)
    with pytest.raises(FormatError, match=r"none\.co does not exist"):
        read_file(graph, coordinates=tmp_path / "none.co")
