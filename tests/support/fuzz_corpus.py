"""Small files of all kinds that can be read, to be damaged."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import io
import lzma
import tarfile
from pathlib import Path

import osmium

from tests.support import graph_files as formats
from tests.support.graphs import grid
from tests.support.osm_maps import Nodes, Relation, Way, import_extract, osm_xml
from vkssp import Graph, prepare

_SIDE = 7


def town() -> tuple[Nodes, list[Way], list[Relation]]:
    """Return a map with something of everything: names, a private street, bollards, gates, signals, restrictions."""
    side = range(_SIDE)
    nodes: dict[int, tuple[float, float] | tuple[float, float, dict[str, str]]] = {
        10**10 + _SIDE * y + x: (47.0 + y / 500, 9.0 + x / 500) for y in side for x in side
    }
    kinds = ({"barrier": "bollard"}, {"barrier": "gate"}, {"highway": "traffic_signals"}, {"highway": "stop"})
    for node, tags in zip(list(nodes)[3::11], kinds, strict=False):
        nodes[node] = (*nodes[node][:2], tags)
    ids = list(nodes)
    rows = [ids[_SIDE * y : _SIDE * (y + 1)] for y in side]
    # Streets end at a junction in their middle, as those must that restrictions name.
    half = _SIDE // 2
    lines = [*rows, *(list(column) for column in zip(*rows, strict=True))]
    streets = [part for line in lines for part in (line[: half + 1], line[half:])]
    tags = (
        {"highway": "primary", "name": "Long Street", "maxspeed": "70"},
        {"highway": "residential", "name": "Straße", "oneway": "yes"},
        {"highway": "service", "access": "private"},
        {"highway": "unclassified", "maxspeed": "30 mph", "maxheight": "4.1"},
        {"highway": "residential", "junction": "roundabout"},
    )
    ways = [(500 + i, street, tags[i % len(tags)]) for i, street in enumerate(streets)]
    ways.append((900, [ids[0], ids[-1]], {"route": "ferry", "duration": "00:20"}))
    relations: list[Relation] = []
    column = 500 + 2 * (_SIDE + half)
    for row, kind in ((0, "no_straight_on"), (2, "only_straight_on"), (6, "no_straight_on")):
        members = [("from", "way", 500 + 2 * row), ("via", "node", rows[row][half]), ("to", "way", 501 + 2 * row)]
        relations.append((members, {"type": "restriction", "restriction": kind, "except": "bus;bicycle"}))
    members = [("from", "way", 500), ("via", "way", column), ("to", "way", 500 + 2 * half)]
    relations.append((members, {"type": "restriction", "restriction": "no_u_turn"}))
    return nodes, ways, relations


def write_extracts(folder: Path) -> list[Path]:
    """Write the map in all formats of extracts."""
    nodes, ways, relations = town()
    text = osm_xml(nodes, ways, relations=relations)
    paths = [folder / f"map.osm{ending}" for ending in ("", ".gz", ".bz2", ".pbf")]
    for path, pack in zip(paths[:3], (bytes, gzip.compress, bz2.compress), strict=True):
        path.write_bytes(pack(text.encode()))
    with osmium.SimpleWriter(str(paths[3])) as writer:
        for item in osmium.FileProcessor(str(paths[0])):
            writer.add(item)
    return paths


def write_graphs(folder: Path, extract: Path) -> list[Path]:
    """Save graphs that know more and more."""
    graphs: dict[str, Graph] = {"plain": grid(12)}
    for turns in ("none", "restrictions", "costs"):
        graphs[turns] = import_extract(extract, turns=turns)[0]
    if importlib.util.find_spec("numba") and importlib.util.find_spec("pymetis"):
        graphs["prepared"] = prepare(grid(12))
    plain = grid(12)
    texts = [f"node {number}" for number in range(plain.num_nodes)]
    rows = plain.first_out, plain.head, plain.weight / 7
    graphs["real"] = Graph.from_csr(*rows, names=texts)
    graphs["large"] = Graph.from_csr(*rows, names=range(2**40, 2**40 + plain.num_nodes))
    for name, graph in graphs.items():
        graph.save(folder / f"{name}.graph")
    return [folder / f"{name}.graph" for name in graphs]


def write_texts(folder: Path) -> list[Path]:
    """Write a graph in the formats of collections, plain and packed, and with coordinates beside it."""
    graph = grid(12)
    arcs = formats.arcs(graph)
    edges = [(u, v, w) for u, v, w in arcs if u < v]
    nodes = graph.num_nodes
    contents = {
        "g.gr": formats.dimacs(nodes, arcs),
        "p.gr": formats.pace(nodes, edges),
        "g.mtx": formats.matrix_market(nodes, arcs),
        "s.mtx": formats.matrix_market(nodes, edges, "real", "symmetric"),
        "g.metis": formats.metis(nodes, edges),
        "w.metis": formats.metis(nodes, edges, "111", 2),
        "g.txt": formats.edge_list(arcs),
        "g.csv": formats.csv_table(arcs),
        "w.txt": formats.edge_list(arcs, weighted=True, ids=range(10**9, 10**9 + nodes)),
    }
    paths = [formats.written(folder, name, text) for name, text in contents.items()]
    text = contents["g.gr"].encode()
    packed = {"gz": gzip.compress(text), "bz2": bz2.compress(text), "xz": lzma.compress(text)}
    with io.BytesIO() as stream:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            member = tarfile.TarInfo("folder/g.gr")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        paths.append(formats.written(folder, "a.tar.gz", stream.getvalue()))
    return paths + [formats.written(folder, f"g.gr.{ending}", content) for ending, content in packed.items()]
