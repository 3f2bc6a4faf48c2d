"""Files good and bad: formats, gaps, damage, and what the report says of them."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from types import ModuleType

import osmium
import pytest
from osmium.osm.mutable import Node, Way

from tests.support.osm_maps import (
    LINE,
    RESIDENTIAL,
    ROAD,
    arcs,
    graph_of,
    import_plain,
    osm_xml,
    read_plain,
    streets_of,
    write_osm,
)
from vkssp.errors import FormatError, QueryError
from vkssp.graph import Graph
from vkssp.osm import import_extract, is_extract


def test_missing_nodes_split_the_way(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2, 99, 3, 4, 98, 5, 97], ROAD), (2, [96, 6], ROAD)])
    graph, report = import_plain(path)
    assert arcs(graph) == [(LINE[a], LINE[b], RESIDENTIAL) for a, b in ((1, 2), (2, 1), (3, 4), (4, 3))]
    assert report.missing_nodes == 4
    assert report.ways_skipped == {"fewer than two nodes": 1}
    assert report.ways_used == 1


def test_a_node_at_an_impossible_place_is_missing(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", {**LINE, 8: (95.0, 0.0)}, [(1, [1, 2, 8], ROAD)])
    graph, report = import_plain(path)
    assert graph.num_arcs == 2 and report.missing_nodes == 1


def test_repeated_nodes_and_lone_ways(tmp_path: Path) -> None:
    ways = [(1, [1, 1, 2, 2, 3], ROAD), (2, [4], ROAD), (3, [5, 5], ROAD), (4, [], ROAD)]
    graph, report = import_plain(write_osm(tmp_path / "map.osm", LINE, ways))
    assert graph.num_nodes == 2 and streets_of(graph).points.shape == (3, 2)
    assert report.repeated_nodes == 3
    assert report.ways_skipped == {"fewer than two nodes": 3}


def test_ways_may_come_before_nodes(tmp_path: Path) -> None:
    ways = [(1, [1, 2, 3], ROAD)]
    sorted_graph = graph_of(tmp_path, LINE, ways)
    graph = read_plain(write_osm(tmp_path / "b.osm", LINE, ways, ways_first=True))
    assert arcs(graph) == arcs(sorted_graph)


@pytest.mark.parametrize("module", [gzip, bz2])
def test_compressed_xml(tmp_path: Path, module: ModuleType) -> None:
    text = osm_xml(LINE, [(1, [1, 2, 3], ROAD)])
    path = tmp_path / f"map.osm.{'gz' if module is gzip else 'bz2'}"
    path.write_bytes(module.compress(text.encode()))
    assert arcs(read_plain(path)) == arcs(graph_of(tmp_path, LINE, [(1, [1, 2, 3], ROAD)]))
    data = path.read_bytes()
    for size in (len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(FormatError, match="truncated"):
            read_plain(path)


def test_tags_that_are_not_utf8_are_mended(tmp_path: Path) -> None:
    path = tmp_path / "map.osm.pbf"
    with osmium.SimpleWriter(osmium.io.File(str(path), "pbf,pbf_compression=none")) as writer:
        for node in (1, 2):
            writer.add_node(Node(id=node, location=(node / 1000, 0.0)))
        tags = [("name", "ABCDEFGH"), ("highway", "primary"), ("oneway", "yes")]
        writer.add_way(Way(id=5, nodes=[1, 2], tags=tags))
    data = path.read_bytes()
    assert data.count(b"ABCDEFGH") == 1
    path.write_bytes(data.replace(b"ABCDEFGH", b"ABC\xff\xfeFGH"))
    graph, report = import_plain(path)
    assert graph.num_arcs == 1  # tags after the broken one count
    assert streets_of(graph).arc_name(0) == "ABC\ufffd\ufffdFGH"
    assert report.nonsense == {"text that is not UTF-8": 1}


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
def test_barriers_after_tags_that_are_not_utf8(tmp_path: Path, turns: str) -> None:
    path = tmp_path / "map.osm.pbf"
    with osmium.SimpleWriter(osmium.io.File(str(path), "pbf,pbf_compression=none")) as writer:
        for node in (1, 2, 3):
            tags = [("alt_name", "ABCDEFGH"), ("barrier", "bollard")] if node == 2 else []
            writer.add_node(Node(id=node, location=(node / 1000, 0.0), tags=tags))
        writer.add_way(Way(id=5, nodes=[1, 2, 3], tags=ROAD))
    data = path.read_bytes()
    assert data.count(b"ABCDEFGH") == 1
    path.write_bytes(data.replace(b"ABCDEFGH", b"ABC\xff\xfeFGH"))
    _, report = import_extract(path, turns=turns)
    assert report.barriers == 1


def test_report_counts_and_prints(tmp_path: Path) -> None:
    nodes = {**LINE, 2: (*LINE[2], {"barrier": "bollard"})}
    ways = [
        (1, [1, 2, 3], {**ROAD, "maxspeed": "fast"}),
        (2, [3, 4], {"highway": "footway"}),
        (3, [3, 4], {**ROAD, "access": "no"}),
        (4, [3, 4], {**ROAD, "area": "yes"}),
        (5, [3, 4], {**ROAD, "access": "private"}),
        (6, [4, 5], {"building": "yes"}),
    ]
    _, report = import_plain(write_osm(tmp_path / "map.osm", nodes, ways))
    assert report.ways_read == 5 and report.ways_used == 2
    assert report.ways_skipped == {"no road": 1, "no access": 1, "area": 1}
    assert report.nonsense == {"maxspeed": 1}
    assert report.barriers == 1 and report.restricted == 1
    assert json.loads(json.dumps(report.as_dict()))["ways_skipped"] == report.ways_skipped
    assert report.seconds > 0 and report.processor.keys() == report.stages.keys()
    text = str(report)
    for part in ("8 nodes", "left out: ", "area 1", "1 barriers", "not understood: maxspeed 1"):
        assert part in text
    assert report.lines() == text.splitlines()


def test_progress_shows_nothing_for_a_moment(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)])
    assert arcs(read_plain(path, progress=True)) == arcs(read_plain(path))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "name", ["a.osm.pbf", "a.PBF", "a.osm", "a.osm.gz", "a.osm.bz2", "a.osm.xml", "dir.gr/a.osm.xml.gz"]
)
def test_names_of_extracts(name: str) -> None:
    assert is_extract(name) and is_extract(Path(name))


@pytest.mark.parametrize("name", ["a.gr", "a.osm.zip", "a.xml", "a.npz", "osm", "a.pbf/graph.npz", ""])
def test_names_of_other_files(name: str) -> None:
    assert not is_extract(name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.osm", b"", "is no OpenStreetMap extract, or a truncated one"),
        ("a.osm", b"<html></html>", "is no OpenStreetMap extract"),
        ("a.osm", b'<osm version="0.6"><node id="1" lat="1"', "is no OpenStreetMap extract, or a truncated one"),
        ("a.osm.pbf", b"", "is no OpenStreetMap extract"),
        ("a.osm.pbf", b"<html><body>Not found</body></html>" * 9, "is no OpenStreetMap extract"),
        ("a.osm.gz", b"plain text", "is no OpenStreetMap extract"),
        ("a.osm.bz2", b"plain text", "is no OpenStreetMap extract"),
        ("a.osm", b'<osm version="0.6"></osm>', "no road in .* that a car may use"),
        ("a.osm", osm_xml(LINE, [(1, [1, 2], {"highway": "footway"})]).encode(), "no road in .* that a car may use"),
        ("a.osm", osm_xml(LINE, [(1, [1, 99], ROAD)]).encode(), "no road in .* that a car may use"),
        ("a.osm", osm_xml({-1: (0.0, 0.0), -2: (0.0, 1.0)}, [(1, [-1, -2], ROAD)]).encode(), "osmium renumber"),
        ("a.zip", b"", "not named like an OpenStreetMap extract"),
    ],
)
def test_bad_files_are_one_clear_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        import_plain(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.osm\.pbf does not exist"):
        read_plain(tmp_path / "a.osm.pbf")
    (tmp_path / "b.osm").mkdir()
    with pytest.raises(FormatError, match="is not a file"):
        read_plain(tmp_path / "b.osm")
    with pytest.raises(QueryError, match="profile 'boat' is unknown"):
        read_plain(tmp_path / "a.osm.pbf", profile="boat")


def test_histories_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.osm.pbf"
    with osmium.SimpleWriter(osmium.io.File(str(path), "osh.pbf")) as writer:
        writer.add_node(Node(id=1, location=(0.0, 0.0)))
    with pytest.raises(FormatError, match="time-filter"):
        read_plain(path)


def test_saved_and_loaded_again(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path, LINE, [(1, [1, 2], {**ROAD, "name": "Straße"}), (2, [2, 3], {**ROAD, "access": "private"})]
    )
    graph.save(tmp_path / "map.npz")
    again = Graph.load(tmp_path / "map.npz")
    assert arcs(again) == arcs(graph)
    assert streets_of(again).names == streets_of(graph).names
