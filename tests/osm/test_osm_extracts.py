"""Real extracts, against a slow and simple reading of the same file."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import osmium
import pytest

from tests.support.osm_maps import ANDORRA, EXTRACTS, import_plain
from vkssp.errors import FormatError
from vkssp.graph.geo import EARTH_RADIUS
from vkssp.graph.order import z_order
from vkssp.osm.nodes import node_attributes
from vkssp.osm.profile import PROFILES
from vkssp.osm.ways import way_attributes

#: The rest take a minute together.
_QUICK = ("andorra", "monaco", "helsinki", "north-bayreuth")


def extracts() -> list[object]:
    if not EXTRACTS.is_dir():
        return []
    files = sorted(path for path in EXTRACTS.iterdir() if ".osm" in path.name)
    return [
        pytest.param(path, id=path.name, marks=() if path.name.startswith(_QUICK) else pytest.mark.slow)
        for path in files
    ]


def metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the great-circle distance by the angle between two vectors, which no haversine is in."""
    u, v = (
        (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
        for lat, lon in ((math.radians(p[0]), math.radians(p[1])) for p in (a, b))
    )
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    return EARTH_RADIUS * math.atan2(math.hypot(*cross), sum(x * y for x, y in zip(u, v, strict=True)))


class SlowReading:
    """What the importer must find: junctions, and the length of every way."""

    def __init__(self, path: Path, profile: str) -> None:
        rules = PROFILES[profile]
        keys = {"highway", "route", *rules.speeds, *(rules.pushing.speeds if rules.pushing else ())}
        self.length: dict[int, float] = {}
        self.attributes = {}
        pieces, ways, blocked, gates = [], [], set(), set()
        for item in osmium.FileProcessor(str(path)).with_locations():
            tags = dict(item.tags)
            if item.is_node() and tags:
                kind = node_attributes(tags, rules)
                if kind.blocked:
                    blocked.add(item.id)
                elif kind.seconds:
                    gates.add(item.id)
            if not item.is_way() or not (keys & tags.keys()):
                continue
            attributes = way_attributes(tags, rules)
            if attributes.skipped:
                continue
            piece: list[tuple[int, float, float]] = []
            for reference in item.nodes:
                if not reference.location.valid():
                    pieces.append(piece)
                    piece = []
                elif not piece or piece[-1][0] != reference.ref:
                    piece.append((reference.ref, reference.lat, reference.lon))
                    if len(piece) > 1:
                        step = metres(piece[-2][1:], piece[-1][1:])
                        self.length[item.id] = self.length.get(item.id, 0.0) + step
            pieces.append(piece)
            self.attributes[item.id] = attributes
            ways.extend([item.id] * (len(pieces) - len(ways)))
        self.points = {
            (way, ref, (round(lat, 7), round(lon, 7)))
            for way, piece in zip(ways, pieces, strict=True)
            for ref, lat, lon in piece
            if len(piece) > 1
        }
        pieces = [piece for piece in pieces if len(piece) > 1]
        uses = Counter(ref for piece in pieces for ref, _, _ in piece)
        ends = {ref for piece in pieces for ref, _, _ in (piece[0], piece[-1])}
        self.junctions = {
            ref: (lat, lon)
            for piece in pieces
            for ref, lat, lon in piece
            if ref not in blocked | gates and (uses[ref] > 1 or ref in ends)
        }
        # A node that cuts belongs once to every piece that ends there, twice to one that goes on.
        cuts: Counter[int] = Counter()
        for piece in pieces:
            for position, (ref, _, _) in enumerate(piece):
                if ref in blocked | gates:
                    cuts[ref] += 2 - (position in (0, len(piece) - 1))
        # A gate that leads on has a middle besides.
        self.cuts = cuts.total() + sum(cuts[ref] > 1 for ref in gates)
        self.gate_links = sum(cuts[ref] for ref in gates if cuts[ref] > 1)


@pytest.mark.parametrize("path", extracts())
def test_extract(path: Path) -> None:
    check_extract(path, "car")


@pytest.mark.parametrize("profile", list(PROFILES))
def test_andorra(profile: str) -> None:
    check_extract(ANDORRA, profile)


def check_extract(path: Path, profile: str) -> None:
    graph, report = import_plain(path, profile=profile)
    streets = graph.streets
    assert streets is not None and graph.lat is not None and graph.lon is not None
    streets.check(graph.num_arcs)
    assert z_order(graph.lat, graph.lon).is_identity

    # Every arc begins and ends where its nodes are.
    first, last = streets.polyline_first[:-1], streets.polyline_first[1:] - 1
    begins, ends = (
        np.where(streets.backward, b[streets.polyline], a[streets.polyline]) for a, b in ((first, last), (last, first))
    )
    for nodes, points in ((graph.tail, begins), (graph.head, ends)):
        place = np.column_stack([graph.lat[nodes], graph.lon[nodes]])
        assert np.array_equal(place, streets.points[points] * 1e-7)
        assert streets.node is not None and streets.point_node is not None
        assert np.array_equal(streets.node[nodes], streets.point_node[points])

    # Every way is there from end to end, in the directions that its tags allow.
    slow = SlowReading(path, profile)
    _, of_polyline = np.unique(streets.polyline, return_index=True)
    assert len(of_polyline) == report.polylines == len(first)
    ends = streets.points[first], streets.points[last]
    without_length = (last == first + 1) & (ends[0] == ends[1]).all(axis=1)
    assert without_length.sum() >= slow.gate_links
    in_seconds = graph.weight[without_length[streets.polyline]] / 10
    assert np.count_nonzero(in_seconds == 30) >= slow.gate_links
    length: dict[int, float] = {}
    for way, metres_of_arc in zip(streets.way[of_polyline].tolist(), streets.length[of_polyline].tolist(), strict=True):
        length[way] = length.get(way, 0.0) + metres_of_arc
    assert length.keys() == slow.length.keys()

    # Every point is the node of its way that has its id.
    way_of_point = np.repeat(streets.way[of_polyline], np.diff(streets.polyline_first))
    places = map(tuple, np.round(streets.points * 1e-7, 7).tolist())
    assert set(zip(way_of_point.tolist(), streets.point_node.tolist(), places, strict=True)) == slow.points
    for way in length:
        assert length[way] == pytest.approx(slow.length[way], rel=1e-5, abs=0.01)
    assert report.kilometres == pytest.approx(sum(slow.length.values()) / 1000, rel=1e-6)
    for is_backward, name in ((False, "forward"), (True, "backward")):
        there = set(streets.way[streets.backward == is_backward].tolist())
        assert there == {way for way in slow.length if getattr(slow.attributes[way], name) > 0}

    # A node for every junction, one for every end at a barrier, and two more where something is restricted.
    mains = {(round(lat, 7), round(lon, 7)) for lat, lon in zip(graph.lat.tolist(), graph.lon.tolist(), strict=True)}
    assert {(round(lat, 7), round(lon, 7)) for lat, lon in slow.junctions.values()} <= mains
    if report.restricted == 0:
        assert graph.num_nodes == len(slow.junctions) + slow.cuts
    else:
        assert graph.num_nodes > len(slow.junctions) + slow.cuts

    # Nobody drives faster than the law, or slower than the slowest way.
    seconds = graph.weight * streets.seconds_per_weight
    assert np.all(streets.length / seconds * 3.6 <= 140)
    assert report.nodes == graph.num_nodes and report.arcs == graph.num_arcs


def test_andorra_has_known_totals() -> None:
    graph, report = import_plain(ANDORRA)
    assert (graph.num_nodes, graph.num_arcs) == (1765, 3513)
    assert (report.ways_read, report.ways_used, report.polylines) == (1615, 1171, 2049)
    assert report.kilometres == pytest.approx(415.2, abs=0.1)


@pytest.mark.parametrize("part", [0.0, 1e-5, 2e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])
def test_a_truncated_file_never_passes(tmp_path: Path, part: float) -> None:
    data = ANDORRA.read_bytes()
    path = tmp_path / "cut.osm.pbf"
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(FormatError, match="truncated"):
        import_plain(path)


def test_a_file_without_its_last_byte_fails(tmp_path: Path) -> None:
    path = tmp_path / "cut.osm.pbf"
    path.write_bytes(ANDORRA.read_bytes()[:-1])
    with pytest.raises(FormatError, match="truncated"):
        import_plain(path)
    path.write_bytes(ANDORRA.read_bytes())
    assert import_plain(path)[0].num_arcs == 3513
