"""Hand-written maps for the importer's tests, and what to ask the graphs made of them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from tests.support.paths import DATA, SHARED
from vkssp.graph import Graph
from vkssp.graph.geo import EARTH_RADIUS
from vkssp.graph.streets import Streets
from vkssp.osm import ImportReport, import_extract

#: Real extracts, where the checkout has them beside it.
EXTRACTS = SHARED / "osm"
ANDORRA = DATA / "andorra.osm.pbf"

Nodes = Mapping[int, tuple[float, float] | tuple[float, float, Mapping[str, str]]]
Way = tuple[int, Sequence[int], Mapping[str, str]]
#: Role, type ("node" or "way") and id of each member, and tags.
Relation = tuple[Sequence[tuple[str, str, int]], Mapping[str, str]]

ROAD = {"highway": "residential"}

#: A street along the equator: places a thousandth of a degree, some 111 m, apart.
LINE = {node: (0.0, node / 1000) for node in range(1, 8)}
STEP = math.radians(0.001) * EARTH_RADIUS
#: Weight of a step at 25 km/h.
RESIDENTIAL = round(STEP * 3.6 / 25 * 10)


def osm_xml(nodes: Nodes, ways: Iterable[Way], *, ways_first: bool = False, relations: Iterable[Relation] = ()) -> str:
    """Return a map as OSM XML; a way may name nodes that `nodes` lacks."""

    def tags_of(values: Mapping[str, str]) -> str:
        return "".join(f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in values.items())

    def node(key: int, lat: float, lon: float, values: Mapping[str, str] | None = None) -> str:
        return f'<node id="{key}" version="1" lat="{lat}" lon="{lon}">{tags_of(values or {})}</node>'

    def way(key: int, refs: Sequence[int], values: Mapping[str, str]) -> str:
        references = "".join(f'<nd ref="{ref}"/>' for ref in refs)
        return f'<way id="{key}" version="1">{references}{tags_of(values)}</way>'

    def relation(key: int, members: Sequence[tuple[str, str, int]], values: Mapping[str, str]) -> str:
        parts = "".join(f'<member type="{kind}" ref="{ref}" role="{role}"/>' for role, kind, ref in members)
        return f'<relation id="{key}" version="1">{parts}{tags_of(values)}</relation>'

    places = [node(key, *place) for key, place in nodes.items()]
    roads = [way(*road) for road in ways]
    parts = roads + places if ways_first else places + roads
    parts += [relation(key, *values) for key, values in enumerate(relations, 1)]
    return "\n".join(['<osm version="0.6">', *parts, "</osm>"])


def write_osm(
    path: Path, nodes: Nodes, ways: Iterable[Way], *, ways_first: bool = False, relations: Iterable[Relation] = ()
) -> Path:
    """Write a map as OSM XML."""
    path.write_text(osm_xml(nodes, ways, ways_first=ways_first, relations=relations), encoding="utf-8")
    return path


def import_plain(path: str | Path, **options: Any) -> tuple[Graph, ImportReport]:
    """Return the graph of an extract without turns, and the report: its nodes are the junctions."""
    return import_extract(path, turns="none", **options)


def read_plain(path: str | Path, **options: Any) -> Graph:
    """Return the graph of an extract without turns."""
    return import_plain(path, **options)[0]


def graph_of(tmp_path: Path, nodes: Nodes, ways: Iterable[Way], profile: str | Path = "car") -> Graph:
    """Write a map and return the graph of it, without turns."""
    return read_plain(write_osm(tmp_path / "map.osm", nodes, ways), profile=profile)


def tags(text: str) -> dict[str, str]:
    """Return the tags in a text such as ``highway=primary oneway=yes``."""
    return dict(pair.split("=", 1) for pair in text.split())


def streets_of(graph: Graph) -> Streets:
    """Return the streets of a graph that has them."""
    assert graph.streets is not None
    return graph.streets


def snappable(graph: Graph) -> list[int]:
    """Return the polylines that places may be snapped to."""
    streets = streets_of(graph)
    arcs = ~streets.carried & (streets.length > 0)
    if streets.snappable is not None:
        arcs &= streets.snappable
    found: list[int] = np.unique(streets.polyline[arcs]).tolist()
    return found


def at(graph: Graph, place: Sequence[float]) -> list[int]:
    """Return all nodes of the graph at a place, in degrees."""
    assert graph.lat is not None and graph.lon is not None
    near = (np.abs(graph.lat - place[0]) < 1e-8) & (np.abs(graph.lon - place[1]) < 1e-8)
    return np.flatnonzero(near).tolist()


def arcs(graph: Graph) -> list[tuple[tuple[float, float], tuple[float, float], int]]:
    """Return the arcs as coordinates of tail and head, and weight, sorted."""
    assert graph.lat is not None and graph.lon is not None
    where = [(round(y, 7), round(x, 7)) for y, x in zip(graph.lat.tolist(), graph.lon.tolist(), strict=True)]
    ends = zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)
    return sorted((where[u], where[v], weight) for u, v, weight in ends)


def distances(graph: Graph, sources: Iterable[int]) -> dict[int, int]:
    """Return the distance of every node that can be reached from the nearest of the sources (Dijkstra)."""
    first, head, weight = graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist()
    found: dict[int, int] = {}
    queue = [(0, node) for node in sources]
    while queue:
        distance, node = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = distance
        for arc in range(first[node], first[node + 1]):
            heapq.heappush(queue, (distance + weight[arc], head[arc]))
    return found


def trip(graph: Graph, start: Sequence[float], goal: Sequence[float]) -> int | None:
    """Return the distance between two places, from and to any copy of their nodes; None if there is no way."""
    found = distances(graph, at(graph, start))
    return min((found[node] for node in at(graph, goal) if node in found), default=None)
