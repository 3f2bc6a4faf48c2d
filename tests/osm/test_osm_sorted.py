"""Sorted .osm.pbf files, which compiled code reads: the same graphs and errors as by pyosmium, bit for bit."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pytest

from tests.support.fuzz_corpus import write_extracts
from tests.support.mutations import blobs_damaged, bytes_damaged, fields_of, message_of, varint
from tests.support.osm_maps import ANDORRA, EXTRACTS
from tests.support.paths import ROOT
from tests.support.pbf_blocks import blocks_of, joined, reblocked
from vkssp import VksspError
from vkssp.osm import import_extract, reader
from vkssp.osm.extract import Extract
from vkssp.osm.nodes import node_attributes, node_keys
from vkssp.osm.profile import PROFILES
from vkssp.osm.ways import way_attributes, way_keys

Blobs = list[tuple[bytes, bytes]]
#: Small extracts by several programs.
_SMALL = [path for name in ("monaco", "helsinki") for path in sorted(EXTRACTS.glob(f"{name}*.osm.pbf"))]


def described(path: Path, **options: Any) -> list[Any]:
    """Return all that an import says and makes, but the time that it took, as values to compare."""
    graph, report = import_extract(path, **options)
    assert graph.streets is not None
    counts = report.as_dict()
    del counts["seconds"], counts["stages"], counts["processor"]
    shapes = graph.streets.basemap
    arrays = {**vars(graph), **vars(graph.streets), **({} if shapes is None else vars(shapes))}
    return [
        [(name, list(value.items()) if isinstance(value, dict) else value) for name, value in counts.items()],
        *((name, str(a.dtype), a.tobytes()) for name, a in sorted(arrays.items()) if isinstance(a, np.ndarray)),
        graph.streets.names,
        None if shapes is None else (shapes.surrounded, shapes.place_names),
    ]


def digest(values: list[Any]) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()


def by_pyosmium(monkeypatch: pytest.MonkeyPatch, path: Path, **options: Any) -> list[Any]:
    with monkeypatch.context() as patch:
        patch.setattr(reader, "SMALLEST", 1 << 60)
        return described(path, **options)


def compiled(monkeypatch: pytest.MonkeyPatch, path: Path, **options: Any) -> list[Any]:
    def fail(extract: Extract) -> Iterator[Any]:
        raise AssertionError("read by pyosmium")

    with monkeypatch.context() as patch:
        patch.setattr(reader, "SMALLEST", 0)
        patch.setattr(Extract, "__iter__", fail)
        return described(path, **options)


def outcome(monkeypatch: pytest.MonkeyPatch, path: Path, smallest: int) -> Any:
    """Return what an import makes, or its error."""
    with monkeypatch.context() as patch:
        patch.setattr(reader, "SMALLEST", smallest)
        try:
            return described(path, turns="costs")
        except VksspError as error:
            return type(error), str(error)


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
@pytest.mark.parametrize("profile", list(PROFILES))
def test_andorra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, turns: str) -> None:
    path = tmp_path / "andorra.osm.pbf"
    data = ANDORRA.read_bytes()
    path.write_bytes(data)
    expected = by_pyosmium(monkeypatch, path, profile=profile, turns=turns)
    assert compiled(monkeypatch, path, profile=profile, turns=turns) == expected
    if profile == "car":
        path.write_bytes(reblocked(data, 500))
        assert compiled(monkeypatch, path, profile=profile, turns=turns) == expected


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in _SMALL])
def test_extracts(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    assert compiled(monkeypatch, path) == by_pyosmium(monkeypatch, path)


@pytest.mark.slow
@pytest.mark.skipif(not EXTRACTS.is_dir(), reason="needs real extracts")
@pytest.mark.parametrize("turns", ["none", "costs"])
def test_iceland(monkeypatch: pytest.MonkeyPatch, turns: str) -> None:
    path = EXTRACTS / "iceland-latest.osm.pbf"
    assert compiled(monkeypatch, path, turns=turns) == by_pyosmium(monkeypatch, path, turns=turns)


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_any_number_of_cores_finds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int) -> None:
    path = tmp_path / "andorra.osm.pbf"
    path.write_bytes(reblocked(ANDORRA.read_bytes(), 200))
    expected = compiled(monkeypatch, path, turns="costs")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from vkssp import cores\n"
        "cores.num_cores = lambda: int(sys.argv[2])\n"
        "from tests.osm.test_osm_sorted import described, digest, reader\n"
        "from vkssp.osm import sorted_reader\n"
        "reader.SMALLEST, sorted_reader.BYTES_AT_ONCE = 0, 1 << 14\n"
        "print(digest(described(Path(sys.argv[1]), turns='costs')))\n"
    )
    command = [sys.executable, "-c", script, str(path), str(cores)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.strip() == digest(expected), done.stderr


def test_damage_has_the_same_outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    whole = path.read_bytes()
    small = reblocked(whole, 7)
    for seed in range(150):
        rng = random.Random(seed)
        damaged = blobs_damaged if seed % 5 else bytes_damaged
        path.write_bytes(damaged(rng, rng.choice((whole, small))))
        assert outcome(monkeypatch, path, 0) == outcome(monkeypatch, path, 1 << 60), seed


def block_with(block: bytes, changes: dict[int, Callable[[bytes], bytes]]) -> bytes:
    """Return a block of nodes with changed columns."""
    (_, table), (_, group), *rest = fields_of(block)
    assert isinstance(group, bytes)
    ((kind, message),) = fields_of(group)
    assert isinstance(message, bytes)
    columns = {field: value for field, value in fields_of(message) if isinstance(value, bytes)}
    for field, change in changes.items():
        columns[field] = change(columns.get(field, b""))
    return message_of([(1, table), (2, message_of([(kind, message_of(list(columns.items())))])), *rest])


def shuffled(blobs: Blobs) -> Blobs:
    return [blobs[0], *random.Random(1).sample(blobs[1:], len(blobs) - 1)]


def with_ways_first(blobs: Blobs) -> Blobs:
    return [blobs[0], *blobs[-7:], *blobs[1:-7]]


def with_ways_twice(blobs: Blobs) -> Blobs:
    return [*blobs[:-2], blobs[-3], *blobs[-2:]]


def with_nodes_twice(blobs: Blobs) -> Blobs:
    return [*blobs[:2], *blobs[1:]]


def with_header(old: bytes, new: bytes) -> Callable[[Blobs], Blobs]:
    return lambda blobs: [(blobs[0][0], blobs[0][1].replace(old, new)), *blobs[1:]]


def with_first_nodes(field: int, change: Callable[[bytes], bytes]) -> Callable[[Blobs], Blobs]:
    return lambda blobs: [blobs[0], (blobs[1][0], block_with(blobs[1][1], {field: change})), *blobs[2:]]


def with_coarse_coordinates(blobs: Blobs) -> Blobs:
    return [blobs[0], *((kind, block + message_of([(17, 1000)])) for kind, block in blobs[1:])]


def with_text(old: bytes, new: bytes) -> Callable[[Blobs], Blobs]:
    return lambda blobs: [(kind, block.replace(old, new)) for kind, block in blobs]


#: Changes that pyosmium has to deal with.
UNUSUAL = {
    "shuffled": shuffled,
    "ways first": with_ways_first,
    "ways twice": with_ways_twice,
    "nodes twice": with_nodes_twice,
    "a history": with_header(b"DenseNodes", b"HistoricalInformation"),
    "unknown features": with_header(b"DenseNodes", b"SparseNode"),
    "negative ids": with_first_nodes(1, lambda column: b"\x01" * 7),
    "ids that are 0": with_first_nodes(1, lambda column: b"\0" * 7),
    "a node too few": with_first_nodes(1, lambda column: column + b"\x02"),
    "nodes nowhere": with_first_nodes(8, lambda column: b"\xff\xff\xff\xff\x7f" + column[5:]),
    "deleted nodes": with_first_nodes(5, lambda column: message_of([(1, b"\x01" * 7), (6, b"\0" * 7)])),
    "coarse coordinates": with_coarse_coordinates,
    "text that is not UTF-8": with_text(b"Long Street", b"Long \xfftreet"),
    "text with a zero": with_text(b"Long Street", b"Long \0treet"),
    "a truncated number": lambda blobs: [*blobs[:-1], (blobs[-1][0], blobs[-1][1][:-1] + b"\xff")],
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_files_are_left_to_pyosmium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    blobs = blocks_of(path.read_bytes(), 7)
    path.write_bytes(joined(blobs))
    compiled(monkeypatch, path, turns="costs")
    path.write_bytes(joined(UNUSUAL[name](blobs)))
    with pytest.raises(AssertionError, match="read by pyosmium"):
        compiled(monkeypatch, path, turns="costs")
    assert outcome(monkeypatch, path, 0) == outcome(monkeypatch, path, 1 << 60)


def test_blocks_of_nodes_and_ways(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    expected = by_pyosmium(monkeypatch, path, turns="costs")
    blocks = blocks_of(path.read_bytes(), 8)
    # The last of 49 nodes has no tags, so that it needs no strings.
    (_, nodes), (kind, ways) = blocks[7:9]
    table, group = fields_of(ways)
    blocks[7:9] = [(kind, message_of([table, fields_of(nodes)[1], group]))]
    path.write_bytes(joined(blocks))
    assert compiled(monkeypatch, path, turns="costs") == expected == by_pyosmium(monkeypatch, path, turns="costs")


def relation(number: int, tags: list[bytes], ways: list[int]) -> tuple[bytes, bytes]:
    """Return a block with a relation, whose tags are keys and values by turns, and whose members are ways."""
    table = message_of([(1, text) for text in (b"", b"outer", *tags)])
    keys, values = (bytes(range(first, 2 + len(tags), 2)) for first in (2, 3))
    steps = b"".join(varint(2 * (way - before)) for before, way in pairwise([0, *ways]))
    members: list[tuple[int, int | bytes]] = [(8, b"\x01" * len(ways)), (9, steps), (10, b"\x01" * len(ways))]
    fields = message_of([(1, number), (2, keys), (3, values), *members])
    return b"OSMData", message_of([(1, table), (2, message_of([(4, fields)]))])


def test_blocks_without_objects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They may be anywhere, also where the first block with relations is looked for by bisection."""
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    blobs = blocks_of(path.read_bytes(), 7)
    around = [500, 501, 512, 513, 514, 515, 526, 527]
    lake = relation(1000, [b"type", b"multipolygon", b"natural", b"water"], around)
    others = [relation(1001 + number, [b"type", b"site"], around) for number in range(20)]
    for at in range(1, len(blobs) + 20):
        made = [*blobs, lake, *others]
        made.insert(at, (b"OSMData", message_of([(1, b"")])))
        path.write_bytes(joined(made))
        assert outcome(monkeypatch, path, 0) == outcome(monkeypatch, path, 1 << 60), at


def test_nodes_that_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = next(path for path in write_extracts(tmp_path) if path.suffix == ".pbf")
    header, _, *others = blocks_of(path.read_bytes(), 7)
    path.write_bytes(joined([header, *others]))
    found = compiled(monkeypatch, path, turns="costs")
    assert found == by_pyosmium(monkeypatch, path, turns="costs")
    assert ("missing_nodes", 7) in found[0]


class Asked(dict[str, str]):
    """Tags that note which keys are asked for."""

    def __init__(self, tags: dict[str, str]) -> None:
        super().__init__(tags)
        self.keys_asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.keys_asked.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> str:
        self.keys_asked.add(key)
        return super().__getitem__(key)


@pytest.mark.parametrize("name", list(PROFILES))
def test_all_keys_that_matter_are_known(name: str) -> None:
    """Tags with other keys are dropped before the meaning of an object is looked up."""
    profile, rng = PROFILES[name], random.Random(name)
    real = [dict(item.tags) for item in osmium.FileProcessor(str(ANDORRA)) if not item.is_relation() and item.tags]
    values: dict[str, list[str]] = {}
    for tags in real:
        for key, value in tags.items():
            values.setdefault(key, []).append(value)
    more = ["yes", "no", "private", "destination", "dismount", "gate", "height_restrictor", "30", "reversible"]
    for attributes, keys in ((way_attributes, way_keys(profile)), (node_attributes, node_keys(profile))):
        asked: set[str] = set()
        drawn = (
            {key: rng.choice(values.get(key, more) + more) for key in {"highway", *rng.choices(sorted(keys), k=5)}}
            for _ in range(3000)
        )
        for tags in (*real, *drawn):
            told = Asked(tags)
            attributes(told, profile)
            asked |= told.keys_asked
        assert asked <= keys
        assert len(keys - asked) < 8


def test_the_bar_knows_the_end(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reader, "SMALLEST", 0)
    import_extract(ANDORRA, progress=True)
    assert "Reading andorra.osm.pbf:   0%" in capfd.readouterr().err
