"""Extracts that are not as they should be: in any order, with objects listed twice, clipped, of other kinds."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.fuzz_corpus import town, write_extracts
from tests.support.mutations import blobs_damaged, blobs_of, bytes_damaged, fields_of, message_of, packed_blob, varint
from tests.support.osm_maps import LINE, RESIDENTIAL, ROAD, arcs, import_plain, osm_xml, streets_of, trip, write_osm
from tests.support.paths import ROOT
from tests.support.turn_maps import CROSS, ROADS, imported, restriction
from vkssp import FormatError, MemoryShortageError, memory, read_graph
from vkssp.osm import import_extract, is_extract
from vkssp.osm.pbf import has_zeros


def test_the_order_of_objects_does_not_matter(tmp_path: Path) -> None:
    nodes, ways, relations = town()
    first, *objects, last = osm_xml(nodes, ways, relations=relations).split("\n")
    path = tmp_path / "map.osm"
    path.write_text("\n".join([first, *objects, last]), encoding="utf-8")
    graph, report = import_extract(path, turns="costs")
    assert report.missing_nodes == 0 and report.restrictions["obeyed"] == 2
    for seed in range(20):
        random.Random(seed).shuffle(objects)
        path.write_text("\n".join([first, *objects, last]), encoding="utf-8")
        again, other = import_extract(path, turns="costs")
        assert arcs(again) == arcs(graph)
        assert other.restrictions == report.restrictions and other.missing_nodes == 0


def test_a_way_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    rules = [restriction("no_left_turn", 1, 0, 2)]
    graph, _ = imported(tmp_path, CROSS, ROADS, rules)
    again, report = imported(tmp_path, CROSS, [*ROADS, *ROADS[:2]], rules)
    assert arcs(again) == arcs(graph)
    assert report.restrictions == {"obeyed": 1} and report.ways_skipped == {"listed again": 2}
    assert report.ways_read == 6 and report.ways_used == 4


def test_of_a_way_that_is_listed_twice_the_last_counts(tmp_path: Path) -> None:
    """Where files were joined that overlap, or a history is not said to be one, that is the newest."""
    fast, closed = {"highway": "primary"}, {**ROAD, "access": "no"}
    for last, count in ((fast, 2), (closed, 0)):
        ways = [(1, [1, 2, 3], ROAD), (2, [3, 4], ROAD), (1, [1, 2], last)]
        graph, report = import_plain(write_osm(tmp_path / "map.osm", LINE, ways))
        assert graph.num_arcs == 2 + count and report.ways_skipped["listed again"] == 1
        assert trip(graph, LINE[3], LINE[4]) == RESIDENTIAL
        found = trip(graph, LINE[1], LINE[2])
        assert found is None if last is closed else found is not None and found < RESIDENTIAL
    _, report = imported(tmp_path, LINE, ways, [restriction("no_u_turn", 1, 3, 2)])
    assert report.restrictions == {"on ways closed anyway": 1}


@pytest.mark.parametrize("first", [2**32, 2**53, 2**62, 2**63 - 20])
def test_ids_may_have_63_bits(tmp_path: Path, first: int) -> None:
    nodes = {first + key: place for key, place in LINE.items()}
    rules = [restriction("no_straight_on", first, first + 2, first + 1)]
    ways = [(first, [first + 1, first + 2], ROAD), (first + 1, [first + 2, first + 3], ROAD)]
    graph, report = imported(tmp_path, nodes, ways, rules)
    assert report.restrictions == {"obeyed": 1}
    assert set(streets_of(graph).way.tolist()) == {first, first + 1}


@pytest.mark.parametrize("value", ["9223372036854775807", "99999999999999999999", "abc", "", "3.5"])
def test_ids_that_are_none(tmp_path: Path, value: str) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2, 3], ROAD)])
    path.write_text(path.read_text().replace('ref="3"', f'ref="{value}"'))
    with pytest.raises(FormatError, match="illegal id"):
        import_plain(path)


@pytest.mark.parametrize("place", ["", 'lat="1"', 'lat="91" lon="0"', 'lat="0" lon="181"', 'lat="-214" lon="214"'])
def test_nodes_that_are_nowhere(tmp_path: Path, place: str) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2, 8], ROAD)])
    path.write_text(path.read_text().replace("<way", f'<node id="8" version="1" {place}/><way', 1))
    graph, report = import_plain(path)
    assert graph.num_arcs == 2 and report.missing_nodes == 1


def test_poles_and_the_date_line_are_places(tmp_path: Path) -> None:
    nodes = {1: (90.0, 180.0), 2: (89.999, 180.0), 3: (-90.0, -180.0), 4: (-89.999, -180.0)}
    graph, report = import_plain(write_osm(tmp_path / "map.osm", nodes, [(1, [1, 2], ROAD), (2, [3, 4], ROAD)]))
    assert graph.num_arcs == 4 and report.missing_nodes == 0


def test_streets_over_the_date_line_are_as_long_as_others(tmp_path: Path) -> None:
    """Round the Earth it would be forty thousand kilometres."""
    graphs = []
    for name, shift in (("here", 0.0), ("there", 180.0)):
        nodes = {key: (lat, (lon - 0.004 + shift + 180) % 360 - 180) for key, (lat, lon) in LINE.items()}
        rules = [restriction("no_straight_on", 1, 5, 2)]
        ways = [(1, [1, 2, 3, 4, 5], ROAD), (2, [5, 6, 7], ROAD), (3, [3, 4], {"highway": "primary"})]
        path = write_osm(tmp_path / f"{name}.osm", nodes, ways, relations=rules)
        graphs.append(import_extract(path, turns="costs")[0])
    here, there = (sorted(zip(g.weight, streets_of(g).length, strict=True)) for g in graphs)
    assert np.allclose(here, there, rtol=1e-5) and here[-1][1] < 300


def test_names_that_are_not_utf8_in_xml(tmp_path: Path) -> None:
    path = tmp_path / "map.osm"
    data = osm_xml(LINE, [(1, [1, 2], {**ROAD, "name": "Stra?e"})]).encode().replace(b"?", b"\xdf")
    path.write_bytes(data)
    with pytest.raises(FormatError, match="not well-formed"):
        import_plain(path)
    path.write_bytes(b'<?xml version="1.0" encoding="ISO-8859-1"?>\n' + data)
    assert "Straße" in streets_of(import_plain(path)[0]).names


def test_text_that_is_not_utf8_in_pbf(tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    (_, header), *blobs = blobs_of(path.read_bytes())

    def rewritten(old: bytes, new: bytes) -> None:
        parts = [(b"OSMHeader", header.replace(old, new)), *((kind, data.replace(old, new)) for kind, data in blobs)]
        path.write_bytes(b"".join(packed_blob(*part) for part in parts))

    rewritten(b"via", b"v\xffa")
    _, report = import_extract(path, turns="costs")
    assert report.broken_restrictions == {"wrong number of members": 4}
    assert report.nonsense["text that is not UTF-8"] == 4
    rewritten(b"DenseNodes", b"\xffenseNodes")  # a feature that nobody knows
    with pytest.raises(FormatError, match="is no OpenStreetMap extract"):
        import_extract(path)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("filler", [b"", b"\n\x00" + b"\n\x7f" + b"x" * 127 + (b"\n\x7f" + b"y" * 127) * 300])
def test_a_zero_in_a_text_is_refused(tmp_path: Path, filler: bytes, compress: bool) -> None:
    """libosmium takes it for the end of the text, and goes on to read what is beyond the tags."""
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    (kind, header), *blobs = blobs_of(path.read_bytes())

    def rewritten(old: bytes, new: bytes) -> None:
        """Replace text, and lengthen the tables of strings, which come first, by strings that nothing uses."""
        parts = [packed_blob(kind, header, compress=compress)]
        for each, block in blobs:
            (_, table), *rest = fields_of(block.replace(old, new))
            assert isinstance(table, bytes)
            parts.append(packed_blob(each, message_of([(1, table + filler), *rest]), compress=compress))
        path.write_bytes(b"".join(parts))

    rewritten(b"no_straight_on", b"no_straight_on")
    assert not has_zeros(path)
    assert import_extract(path, turns="costs")[1].restrictions["obeyed"] == 2
    rewritten(b"no_straight_on", b"no_straigh\0_on")
    assert has_zeros(path)
    with pytest.raises(FormatError, match="a zero within a text"):
        import_extract(path, turns="costs")


def test_looking_for_zeros_leaves_other_damage_to_others(tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    data = path.read_bytes()
    found = set()
    for seed in range(600):
        path.write_bytes((blobs_damaged, bytes_damaged)[seed % 2](random.Random(seed), data))
        found.add(has_zeros(path))
    assert found == {True, False}
    # Tables that claim more than there can be.
    for size in (2**25, 2**31, 2**63 - 1, 2**64 - 1):
        path.write_bytes(packed_blob(b"OSMData", message_of([(1, b"")])[:1] + varint(size) + b"abc"))
        assert not has_zeros(path)


def test_other_compressions_are_no_damage(tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    (kind, header), (other, block), *_ = blobs_of(path.read_bytes())
    packed = message_of([(2, len(block)), (7, b"(\xb5/\xfd")])
    frame = message_of([(1, other), (3, len(packed))])
    path.write_bytes(packed_blob(kind, header) + len(frame).to_bytes(4, "big") + frame + packed)
    with pytest.raises(FormatError, match=r"compressed in a way .*zstd.*; write it anew by 'osmium cat -f pbf"):
        import_extract(path)


@pytest.mark.parametrize("name", ["a.osh", "a.osh.pbf", "a.OSH.bz2", "a.osc", "a.osc.gz", "a.osc.xml"])
def test_histories_and_changes_by_name(tmp_path: Path, name: str) -> None:
    assert is_extract(name)
    (tmp_path / name).write_text('<osmChange version="0.6"></osmChange>')
    with pytest.raises(FormatError, match="holds the history of a map, or changes to one") as caught:
        read_graph(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_changes_by_what_they_hold(tmp_path: Path) -> None:
    path = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)])
    path.write_text(path.read_text().replace('<osm version="0.6">', '<osmChange version="0.6"><create>'))
    path.write_text(path.read_text().replace("</osm>", "</create></osmChange>"))
    with pytest.raises(FormatError, match="osmium apply-changes"):
        import_plain(path)


def test_too_little_memory_is_said_before_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_extracts(tmp_path)[-1]
    monkeypatch.setattr(memory, "free_bytes", lambda: 10_000)
    monkeypatch.setattr(memory, "SMALL", 0)
    for turns in ("none", "costs"):
        with pytest.raises(MemoryShortageError, match="GiB of memory") as caught:
            import_extract(path, turns=turns)
        assert str(path) in str(caught.value)
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    assert import_extract(path)[0].num_nodes


def test_large_extracts_are_made_of_small_ones(tmp_path: Path, andorra_path: Path) -> None:
    script = ROOT / "scripts" / "tile_extract.py"
    target = tmp_path / "big.osm.pbf"
    nodes, ways, relations = town()
    source = write_osm(tmp_path / "map.osm", nodes, ways, relations=relations)
    command = [sys.executable, str(script), str(source), str(target), "--nodes", str(3 * len(nodes))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{3 * len(nodes)} nodes\n"), done.stderr
    one, few = import_extract(source, turns="costs")
    three, many = import_extract(target, turns="costs")
    assert (three.num_nodes, three.num_arcs) == (3 * one.num_nodes, 3 * one.num_arcs)
    assert sorted(three.weight.tolist()) == sorted(3 * one.weight.tolist())
    assert many.restrictions == {reason: 3 * count for reason, count in few.restrictions.items()}
    done = subprocess.run([*command[:-3], str(source), *command[-2:]], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "needed for something else" in done.stderr
