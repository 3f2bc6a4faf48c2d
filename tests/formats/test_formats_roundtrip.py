"""Random graphs written in every format and read again; random damage; real files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES, shared_data
from tests.support import graph_files as formats
from vkssp import UNREACHABLE, FormatError, Graph
from vkssp.formats import read_file, stream

WEIGHTS = st.one_of(st.integers(0, 20), st.integers(0, UNREACHABLE - 1))


@st.composite
def some_arcs(draw: st.DrawFn, *, loops: bool = True) -> tuple[int, list[tuple[int, int, int]]]:
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    arc = st.tuples(node, node, WEIGHTS)
    return nodes, draw(st.lists(arc if loops else arc.filter(lambda a: a[0] != a[1]), max_size=40))


def read(folder: Path, name: str, text: str, block: int, **options: Any) -> Graph:
    """Read a text, so many bytes at a time."""
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", block)
        return read_file(path, **options).graph


def arcs(graph: Graph) -> list[tuple[int, int, int]]:
    return sorted(zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True))


def both_ways(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted([*edges, *((v, u, w) for u, v, w in edges if u != v)])


def unit(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted((u, v, 1) for u, v, _ in edges)


BLOCKS = st.sampled_from([1, 13, 1 << 20])


@given(some_arcs(), BLOCKS)
def test_directed_formats(tmp_path: Path, given_arcs: tuple[int, list[tuple[int, int, int]]], block: int) -> None:
    nodes, wanted = given_arcs
    graph = read(tmp_path, "a.gr", formats.dimacs(nodes, wanted), block)
    assert graph.num_nodes == nodes and arcs(graph) == sorted(wanted)
    for field in ("integer", "real"):
        graph = read(tmp_path, "a.mtx", formats.matrix_market(nodes, wanted, field), block)
        assert graph.num_nodes == nodes and arcs(graph) == sorted(wanted)
    graph = read(tmp_path, "b.mtx", formats.matrix_market(nodes, wanted, "pattern"), block)
    assert graph.num_nodes == nodes and arcs(graph) == unit(wanted)


@given(some_arcs(), BLOCKS)
def test_undirected_formats(tmp_path: Path, given_edges: tuple[int, list[tuple[int, int, int]]], block: int) -> None:
    nodes, edges = given_edges
    graph = read(tmp_path, "a.gr", formats.pace(nodes, edges), block)
    assert graph.num_nodes == nodes and arcs(graph) == unit(both_ways(edges))
    for field in ("integer", "real"):
        text = formats.matrix_market(nodes, edges, field, "symmetric")
        assert arcs(read(tmp_path, "a.mtx", text, block)) == both_ways(edges)
    text = formats.dimacs(nodes, edges)
    assert arcs(read(tmp_path, "b.gr", text, block, directed=False)) == both_ways(edges)


@given(some_arcs(loops=False), BLOCKS, st.sampled_from(["000", "001", "010", "011", "100", "101", "110", "111"]))
def test_metis(tmp_path: Path, given_edges: tuple[int, list[tuple[int, int, int]]], block: int, kind: str) -> None:
    """Edges between the same nodes too, which the two nodes list in the same sequence or not."""
    nodes, edges = given_edges
    text = formats.metis(nodes, edges, kind, 2 if kind[1] == "1" else 0)
    graph = read(tmp_path, "a.graph", text, block)
    expected = both_ways(edges)
    assert graph.num_nodes == nodes and arcs(graph) == (expected if kind[2] == "1" else unit(expected))


@given(some_arcs(), BLOCKS, st.booleans(), st.data())
def test_edge_lists(
    tmp_path: Path, given_arcs: tuple[int, list[tuple[int, int, int]]], block: int, weighted: bool, data: st.DataObject
) -> None:
    nodes, wanted = given_arcs
    most = data.draw(st.sampled_from([40, 2**32, 2**53 - 1 if weighted else 2**63 - 2]))
    ids = data.draw(st.lists(st.integers(0, most), min_size=nodes, max_size=nodes, unique=True))
    path = tmp_path / "a.txt"
    path.write_text(formats.edge_list(wanted, weighted=weighted, ids=ids))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", block)
        found = read_file(path)
    assert found.node_ids is not None and len(found.node_ids) == found.graph.num_nodes
    assert (np.diff(found.node_ids) > 0).all()
    named = [(int(found.node_ids[u]), int(found.node_ids[v]), w) for u, v, w in arcs(found.graph)]
    expected = wanted if weighted else unit(wanted)
    assert sorted(named) == sorted((ids[u], ids[v], w) for u, v, w in expected)


WHOLE = {
    "a.gr": formats.dimacs(3, [(0, 1, 5), (1, 2, 60), (2, 0, 7)]),
    "b.gr": formats.pace(3, [(0, 1, 5), (1, 2, 60)]),
    "a.mtx": formats.matrix_market(3, [(1, 0, 5), (2, 1, 60)], "real", "symmetric"),
    "a.graph": formats.metis(3, [(1, 0, 5), (2, 1, 60)], "111", 1),
    "a.txt": formats.edge_list([(1, 0, 5), (2, 1, 60)], weighted=True),
}


@settings(max_examples=5 * EXAMPLES)
@given(
    st.sampled_from(sorted(WHOLE)),
    BLOCKS,
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(0, 2), st.sampled_from("0123456789 \n-+.eapc#%x\0\r,é")), max_size=3
    ),
)
def test_damage_is_an_error_with_a_reason(
    tmp_path: Path, name: str, block: int, damage: list[tuple[int, int, str]]
) -> None:
    """A damaged file is another graph or one clear error, and never one that the search for the line cannot explain."""
    text = WHOLE[name]
    for position, taken, put in damage:
        at = position % (len(text) + 1)
        text = text[:at] + put + text[at + taken :]
    try:
        graph = read(tmp_path, name, text, block)
    except FormatError as error:
        assert str(tmp_path / name) in str(error)
        assert "cannot be read in lines" not in str(error)
    else:
        assert graph.num_arcs <= len(text)


@pytest.mark.parametrize(
    ("name", "format", "nodes", "arc_count"),
    [
        ("dimacs9/USA-road-d.NY.gr.gz", "dimacs", 264_346, 733_846),
        ("dimacs9/USA-road-t.NY.gr.gz", "dimacs", 264_346, 733_846),
        ("dimacs9/rome99.gr", "dimacs", 3_353, 8_870),
        ("dimacs9/NE.pace.gr.xz", "pace", 1_524_453, 2 * 1_934_010),
        ("dimacs9/FLA.pace.gr.xz", "pace", 1_070_376, 2 * 1_343_951),
        ("dimacs9/NW.pace.gr.xz", "pace", 1_207_945, 2 * 1_410_387),
        ("dimacs10/coAuthorsDBLP.tar.gz", "matrixmarket", 299_067, 2 * 977_676),
        ("dimacs10/caidaRouterLevel.tar.gz", "matrixmarket", 192_244, 2 * 609_066),
        ("dimacs10/luxembourg_osm.mtx", "matrixmarket", 114_599, 2 * 119_666),
        ("dimacs10/wave.graph.bz2", "metis", 156_317, 2 * 1_059_331),
        ("dimacs10/copter2.graph", "metis", 55_476, 2 * 352_238),
        ("dimacs10/brack2.graph", "metis", 62_631, 2 * 366_559),
        ("dimacs10/wing.graph", "metis", 62_032, 2 * 121_544),
        ("dimacs10/hep-th.graph", "metis", 8_361, 2 * 15_751),
        ("dimacs10/4elt.graph", "metis", 15_606, 2 * 45_878),
        ("dimacs10/fe_4elt2.graph", "metis", 11_143, 2 * 32_818),
        ("dimacs10/astro-ph.graph", "metis", 16_706, 2 * 121_251),
        ("dimacs10/PGPgiantcompo.graph", "metis", 10_680, 2 * 24_316),
        ("dimacs10/rgg_n_2_15_s0.graph", "metis", 32_768, 2 * 160_240),
        ("dimacs10/delaunay_n15.graph", "metis", 32_768, 2 * 98_274),
        ("matrixmarket/usroads.mtx", "matrixmarket", 129_164, 2 * 165_435),
        ("snap/facebook_combined.txt", "edge_list", 4_039, 88_234),
        ("snap/CA-CondMat_tab-sep.edgelist", "edge_list", 23_133, 186_936),
        ("snap/wiki-Vote.txt", "edge_list", 7_115, 103_689),
    ],
)
def test_real_files(name: str, format: str, nodes: int, arc_count: int) -> None:
    found = read_file(shared_data(name))
    assert (found.format, found.graph.num_nodes, found.graph.num_arcs) == (format, nodes, arc_count)


def test_new_york() -> None:
    graph = read_file(shared_data("dimacs9/USA-road-d.NY.gr.gz")).graph
    assert graph.lat is not None and graph.lon is not None
    assert (graph.lon[0], graph.lat[0]) == (-73.530767, 41.085396)
    # No arc is much shorter than the straight line between its ends; the weights are tenths of metres.
    radius = np.radians(1) * 6_371_000
    east = (graph.lon[graph.head] - graph.lon[graph.tail]) * np.cos(np.radians(graph.lat[graph.tail]))
    straight = 10 * radius * np.hypot(east, graph.lat[graph.head] - graph.lat[graph.tail])
    assert (graph.weight > 0.9 * straight - 30).mean() > 0.99
    distance = csgraph.dijkstra(graph.to_scipy(), indices=0)
    assert np.isfinite(distance).all()
    assert distance.max() < 10 * 250_000 and distance[graph.head[: graph.first_out[1]]].min() == 803
    times = read_file(shared_data("dimacs9/USA-road-t.NY.gr.gz")).graph
    assert times.lat is not None and np.array_equal(times.lat, graph.lat)
    assert np.array_equal(times.head, graph.head) and times.weight.sum() > graph.weight.sum()


def test_real_options() -> None:
    undirected = read_file(shared_data("snap/facebook_combined.txt"), directed=False).graph
    assert undirected.num_arcs == 2 * 88_234
    assert csgraph.connected_components(undirected.to_scipy())[0] == 1
    roads = read_file(shared_data("matrixmarket/usroads.mtx")).graph
    assert roads.lat is not None and roads.lon is not None
    assert (roads.lon.min() < -150) and (roads.lat.min() > 17.9) and (roads.lat.max() < 72)
    assert read_file(shared_data("matrixmarket/usroads.mtx"), coordinates=False).graph.lat is None
