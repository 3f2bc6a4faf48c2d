"""Tables in files, the files that name sources and targets, and the command that goes from one to the other."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from tests.support.graphs import grid, scipy_dijkstra
from vkssp import UNREACHABLE, FormatError, Graph, QueryError, Router, Solver, read_graph
from vkssp.cli import main
from vkssp.files import atomic_write
from vkssp.gpu.device import Device
from vkssp.routing.places_file import read_ends
from vkssp.solver import table_file
from vkssp.solver.table import Table
from vkssp.solver.table_file import Block, write_table
from vkssp.solver.table_maker import table_of_nodes

PLACES = [(42.5075, 1.5218), (42.5430, 1.7340), (42.55, 1.52)]


def parts() -> Graph:
    """Two parts that no way joins."""
    return Graph.from_edges([0, 1, 2, 3], [1, 0, 3, 2], [4, 5, 6, 2**32 - 2], lat=[0, 0, 1, 1], lon=[0, 1, 0, 1])


def test_arrays(device: Device, tmp_path: Path) -> None:
    one, two = tmp_path / "one.npy", tmp_path / "two.npy"
    with Solver(parts(), "near_far", device) as solver:
        table = table_of_nodes(solver, [3, 0, 0], [2, 1])
        assert write_table(one, table) == 3
        assert np.load(one).tolist() == [[2**32 - 2, 2**32 - 1], [2**32 - 1, 4], [2**32 - 1, 4]]
        table = table_of_nodes(solver, [3, 0, 0], [2, 1], ["distance", "weight"])
        write_table(two, table)
        whole = np.load(two)
        assert whole.dtype.names == ("distance_m", "weight") and whole.shape == (3, 2)
        assert np.array_equal(whole["weight"], np.load(one))
        assert np.array_equal(np.isnan(whole["distance_m"]), whole["weight"] == 2**32 - 1)
    assert sorted(tmp_path.iterdir()) == [one, two]


def test_lines(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with Solver(parts(), "near_far", device) as solver:
        write_table(path, table_of_nodes(solver, [0, 3], [1], ["weight", "distance"]), ["a,b", "c"], [7])
    with path.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [(line["source"], line["target"], line["weight"]) for line in lines] == [("a,b", "7", "4"), ("c", "7", "")]
    assert lines[1]["distance_m"] == "" and float(lines[0]["distance_m"]) == pytest.approx(111_000, rel=0.01)


def test_parquet(device: Device, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    graph = grid(8, seed=1)
    with Solver(graph, "near_far", device) as solver:
        whole = table_of_nodes(solver, range(64), [5, 9], ["weight", "distance"])
        pieces = [piece for block in whole for piece in halves(block)]
        write_table(path, Table(whole.shape, whole.metrics, lambda *_: iter(pieces)), targets=["x", "y"])
        expected = whole.read()
    found = parquet.read_table(path)
    assert parquet.ParquetFile(path).num_row_groups == len(pieces)
    assert found["source"].to_pylist() == np.repeat(range(64), 2).tolist()
    assert found["target"].to_pylist() == ["x", "y"] * 64
    assert found["weight"].to_pylist() == expected["weight"].reshape(-1).tolist()
    assert found["distance_m"].to_pylist() == expected["distance"].reshape(-1).tolist()
    with Solver(parts(), "near_far", device) as solver:
        write_table(path, table_of_nodes(solver, [0, 3], [1]))
    assert parquet.read_table(path)["weight"].to_pylist() == [4, None]


@pytest.mark.parametrize("chunk_bytes", [1, 3 * 8, 10**9])
def test_zarr(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr(table_file, "CHUNK_BYTES", chunk_bytes)
    path = tmp_path / "t.zarr"
    with Solver(parts(), "near_far", device) as solver:
        write_table(path, table_of_nodes(solver, [3, 0], [1]), ["north", "south"])  # is replaced
        whole = table_of_nodes(solver, [3, 0, 0, 2, 1], [2, 1], ["distance", "weight"])
        pieces = [piece for block in whole for piece in halves(block)]
        write_table(path, Table(whole.shape, whole.metrics, lambda *_: iter(pieces)), targets=["x", "y"])
        expected = whole.read()
    assert list(tmp_path.iterdir()) == [path]
    found = zarr.open_group(path, mode="r")
    assert np.array_equal(found["weight"][:], expected["weight"])
    assert np.array_equal(found["distance_m"][:], expected["distance"], equal_nan=True)
    assert found["source"][:].tolist() == [0, 1, 2, 3, 4] and found["target"][:].tolist() == ["x", "y"]
    (tmp_path / "other.zarr").mkdir()
    (tmp_path / "other.zarr" / "letters.txt").write_text("dear")
    with pytest.raises(FormatError, match=r"other\.zarr: there is something else; choose another name"):
        write_table(tmp_path / "other.zarr", whole)
    assert (tmp_path / "other.zarr" / "letters.txt").read_text() == "dear"


def test_a_disk_that_is_full_while_several_threads_write_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    from zarr.storage import LocalStore

    monkeypatch.setattr(table_file, "CHUNK_BYTES", 2 * 4 * 1000)
    monkeypatch.setattr(table_file, "num_cores", lambda: 4)
    written, put, computed = list[str](), LocalStore.set, list[int]()

    async def full(self: Any, key: str, value: Any) -> None:
        if "weight/c" in key:
            written.append(key)
            if len(written) >= 20:
                raise OSError(errno.ENOSPC, "No space left on device")
        await put(self, key, value)

    def blocks(first: int, end: int) -> Iterator[Block]:
        for row in range(first, end):
            computed.append(row)
            yield {"weight": np.full((1, 1000), row, np.uint32)}

    monkeypatch.setattr(LocalStore, "set", full)
    with pytest.raises(FormatError, match="No space left on device"):
        write_table(tmp_path / "t.zarr", Table((1000, 1000), ("weight",), blocks))
    assert not list(tmp_path.iterdir()) and len(computed) < 80, "no more rows than wait for the threads"
    monkeypatch.setattr(LocalStore, "set", put)
    assert write_table(tmp_path / "t.zarr", Table((101, 1000), ("weight",), blocks)) == 101_000
    found = pytest.importorskip("zarr").open_group(tmp_path / "t.zarr", mode="r")["weight"]
    assert found.chunks == (2, 1000) and np.array_equal(found[:, 7], np.arange(101))


@pytest.mark.usefixtures("may_use_vulkan")
def test_from_many_nodes_to_all_within_a_limit(device: Device, tmp_path: Path) -> None:
    graph = grid(12, seed=3)
    rows, limit = np.stack([scipy_dijkstra(graph, node) for node in (5, 143, 5)]), 300
    within = np.where(rows <= limit, rows, UNREACHABLE)
    for algorithm in ("block_resident", "near_far", "dijkstra"):
        with Solver(graph, algorithm, None if algorithm == "dijkstra" else device) as solver:
            assert np.array_equal(solver.distances([5, 143, 5]), rows)
            assert np.array_equal(solver.distances(np.array([5, 143, 5]), limit=limit), within)
            assert np.array_equal(solver.distances(np.int64(143), limit=limit), within[1])
            reached = solver.write_table(tmp_path / "t.npy", [5, 143, 5], np.arange(144), limit=limit)
            assert np.array_equal(np.load(tmp_path / "t.npy"), within) and reached == (within <= limit).sum()
            with pytest.raises(QueryError, match=r"limit is -1; give a weight, 0 to \d+, or leave it out"):
                solver.distances(5, limit=-1)
            with pytest.raises(QueryError, match=r"sources\[1\] is 144; node ids of this graph go from 0 to 143"):
                solver.distances([5, 144])
    graph.save(tmp_path / "g.npz")
    (tmp_path / "s.csv").write_text("5\n143\n5\n")
    options = ["--sources", str(tmp_path / "s.csv"), "--targets", "all", "--limit", str(limit)]
    out = ["--output", str(tmp_path / "u.npy"), "--algorithm", "block_resident"]
    assert main(["table", str(tmp_path / "g.npz"), *options, *out]) == 0
    assert np.array_equal(np.load(tmp_path / "u.npy"), within)


def halves(block: Block) -> list[Block]:
    middle = len(next(iter(block.values()))) // 2
    return [{name: values[part] for name, values in block.items()} for part in (slice(middle), slice(middle, None))]


@pytest.mark.parametrize("ending", table_file.ENDINGS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, QueryError])
def test_what_ends_early_leaves_nothing(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, error: type[BaseException]
) -> None:
    if ending in (".parquet", ".zarr"):
        pytest.importorskip({".parquet": "pyarrow", ".zarr": "zarr"}[ending])
    with Solver(grid(4), "near_far", device) as solver:
        table = table_of_nodes(solver, range(16))

        def blocks(*_: int) -> object:
            yield next(iter(table))
            raise error("enough")

        broken = Table((32, 16), table.metrics, blocks)  # type: ignore[arg-type]
        with pytest.raises(error):
            write_table(tmp_path / f"t{ending}", broken)
    assert list(tmp_path.iterdir()) == []


def test_names_of_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table((1, 1), ("weight",), lambda *_: iter([]))
    with pytest.raises(FormatError, match=r"must end in one of .npy, .zarr, .csv, .parquet"):
        write_table(tmp_path / "t.txt", table)
    with pytest.raises(QueryError, match="names for 2 sources and 1 targets"):
        write_table(tmp_path / "t.csv", table, [1, 2])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(QueryError, match=r"pip install 'vkssp\[table\]'"):
        write_table(tmp_path / "t.parquet", table)
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(QueryError, match=r"Zarr arrays need zarr.* pip install 'vkssp\[table\]'"):
        write_table(tmp_path / "t.zarr", table)


@pytest.mark.parametrize(
    ("name", "content", "places", "nodes", "ids"),
    [
        ("a.csv", "lat,lon\n1.5,2\n3,4\n", [(1.5, 2), (3, 4)], None, [0, 1]),
        ("a.csv", '\ufeffname,Lon,LAT,id\nx,2,1,"q, r"\n\ny,4,3,s\n', [(1, 2), (3, 4)], None, ["q, r", "s"]),
        ("a.csv", "node\n7\n3\n", None, [7, 3], [7, 3]),
        ("a.csv", "id,node\na,7\nb,7\n", None, [7, 7], ["a", "b"]),
        ("a.txt", "7\n3\n", None, [7, 3], [7, 3]),
        ("a.json", '{"type":"Point","coordinates":[2,1]}', [(1, 2)], None, [0]),
        (
            "a.geojson",
            json.dumps(
                {
                    "type": "FeatureCollection",
                    "features": [
                        {"type": "Feature", "id": 9, "geometry": {"type": "Point", "coordinates": [2, 1, 5]}},
                        {
                            "type": "Feature",
                            "properties": {"id": 8},
                            "geometry": {"type": "Point", "coordinates": [4, 3]},
                        },
                    ],
                }
            ),
            [(1, 2), (3, 4)],
            None,
            [9, 8],
        ),
    ],
)
def test_ends(tmp_path: Path, name: str, content: str, places: object, nodes: object, ids: object) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    ends = read_ends(path)
    assert ends.places == places and ends.ids == ids
    assert (None if ends.nodes is None else ends.nodes.tolist()) == nodes


def test_ends_in_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([3, 1], np.uint32))
    nodes = read_ends(path).nodes
    assert nodes is not None and nodes.tolist() == [3, 1]
    np.save(path, np.array([[1.5, 2]]))
    assert read_ends(path).places == [(1.5, 2.0)]
    for wrong in (np.zeros(3), np.zeros((2, 3)), np.array(["a"]), np.zeros(0, np.int64)):
        np.save(path, wrong)
        with pytest.raises(FormatError, match=r"neither integers|has no places|is no NumPy array"):
            read_ends(path)


def array_file(header: str, data: bytes = b"", version: int = 1) -> bytes:
    """Return a .npy file of some header."""
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (array_file("{'descr': '<i8', 'fortran_order': False, 'shape': (1125899906842624,), }"), "in 0 bytes"),
        (array_file("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2), }", bytes(16)), "no array of numbers"),
        (array_file("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", bytes(8)), "no array of numbers"),
        (array_file("{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 9000, b""), "no array of numbers"),
        (array_file(" " * 70_000, b"", 2), "does not begin like a NumPy array"),
        (array_file("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", b"\xff" * 8), "1844.*no node id"),
    ],
    ids=["size", "sign", "object", "nesting", "length", "node"],
)
def test_arrays_of_ends_that_are_none_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "places.npy"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(FormatError, match=rf"places\.npy.*{message}"):
        read_ends(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_arrays_of_ends_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "places.npy"
    header = "{'shape': (1L, 2L), 'fortran_order': False, 'descr': '<f8'}"
    path.write_bytes(array_file(header, np.array([1.5, 2.0]).tobytes(), 2))
    assert read_ends(path).places == [(1.5, 2.0)]
    np.save(path, np.asfortranarray([[1, 2], [3, 4], [5, 6]]))
    assert read_ends(path).places == [(1, 2), (3, 4), (5, 6)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "no columns lat,lon or node"),
        ("a.csv", "lat,lon\n", "no places or nodes in it"),
        ("a.csv", "x,y\n1,2\n", "no columns lat,lon or node in its first line; it has x,y"),
        ("a.csv", "lat;lon\n1;2\n", "no columns lat,lon or node .*; the line is separated by semicolons; use commas"),
        ("a.csv", "lat,lon\n1,2\n3\n", "line 3: '3' has not a latitude and a longitude"),
        ("a.csv", "lat,lon\n1,nan\n", "line 2"),
        ("a.txt", "99999999999999999999999\n", "cannot|can be read"),
        ("a.npy", "no array", "is no NumPy array"),
        ("a.json", "{", "is no GeoJSON file"),
        ("a.json", "[1]", "feature 0 is no GeoJSON point"),
        ("a.json", f'{{"type":"Point","coordinates":[1{"0" * 400},2]}}', "feature 0 is no GeoJSON point"),
        ("a.json", '{"type":"Point","coordinates":"12"}', "feature 0 is no GeoJSON point"),
        ("a.json", '{"type":"LineString","coordinates":[[1,2],[3,4]]}', "feature 0 is no GeoJSON point"),
        ("a.json", '{"features":[]}', "no places or nodes in it"),
    ],
)
def test_what_names_no_ends(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_ends(path)
    with pytest.raises(FormatError, match="does not exist; check the path"):
        read_ends(tmp_path / "missing.csv")


@pytest.mark.parametrize(("name", "content"), [("a.csv", "node\n1.5\n"), ("a.txt", "1\ntwo\n")])
def test_texts_are_names_of_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str) -> None:
    path, text = tmp_path / name, content.split()[-1]
    path.write_text(content)
    nodes = read_ends(path).nodes
    assert nodes is not None and nodes.tolist()[-1] == text
    assert main(["table", "road:8", "--sources", str(path), "--output", str(tmp_path / "t.npy")]) == 2
    assert f"{path}, line 2: '{text}' has not a node id" in capsys.readouterr().err


def test_the_command(andorra_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, places, output = tmp_path / "a.graph", tmp_path / "places.csv", tmp_path / "out.npy"
    read_graph(andorra_path).save(graph)
    places.write_text("id,lat,lon\n" + "".join(f"p{i},{lat},{lon}\n" for i, (lat, lon) in enumerate(PLACES)))
    base = ["table", str(graph), "--algorithm", "dijkstra", "--sources", str(places)]
    assert main([*base, "--output", str(output), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["sources"], result["targets"], result["reached"], result["metrics"]) == (3, 3, 9, ["duration"])
    with Router(Graph.load(graph), "dijkstra") as router:
        expected = router.table(PLACES).read()["duration"]
        way = int(router.graph.streets.way[router.route(PLACES[0], PLACES[1]).arcs[50]])  # type: ignore[union-attr]
    assert np.array_equal(np.load(output), expected)
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("5\n900\n")
    assert main([*base, "--targets", str(nodes), "--output", str(output)]) == 2
    assert "give two of one kind" in capsys.readouterr().err
    lines = tmp_path / "out.csv"
    arguments = ["--sources", str(nodes), "--metrics", "duration,distance", "--output", str(lines)]
    assert main([*base, *arguments]) == 0
    assert "of 4 pairs have a path" in capsys.readouterr().out
    assert lines.read_text().startswith("source,target,duration_s,distance_m\n5,5,0.0,0.0\n")
    # Slow traffic on a street of the way from the first to the second.
    traffic = tmp_path / "traffic.csv"
    traffic.write_text(f"way,speed_kmh\n{way},1\n1,5\n")
    assert main([*base, "--traffic", str(traffic), "--output", str(output)]) == 0
    assert "1 of the 2 ways" in capsys.readouterr().err
    assert np.load(output)[0, 1] > expected[0, 1]
    for wrong in (["--output", str(places)], ["--output", str(tmp_path / "t.xls")], ["--traffic", str(places)]):
        assert main([*base, "--output", str(output), *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit, match="2"):
        main([*base, "--output", str(output), "--metrics", "duration,fuel"])
    assert "choose some of duration, distance, weight" in capsys.readouterr().err


@pytest.mark.parametrize("ending", table_file.ENDINGS)
def test_blocks_are_written_while_others_are_made(tmp_path: Path, ending: str) -> None:
    """In order, by one thread; what goes wrong on either side ends both, and leaves no file."""
    values = np.arange(60, dtype=np.uint32).reshape(12, 5)

    def blocks(fails_at: int) -> Iterator[Block]:
        for row in range(12):
            if row == fails_at:
                raise QueryError("no more rows")
            yield {"weight": values[row : row + 1].copy()}

    path = tmp_path / f"t{ending}"
    with pytest.raises(QueryError, match="no more rows"):
        write_table(path, Table((12, 5), ("weight",), lambda *_: blocks(7)))
    assert not list(tmp_path.iterdir())
    assert write_table(path, Table((12, 5), ("weight",), lambda *_: blocks(12))) == 60
    if ending == ".npy":
        assert np.array_equal(np.load(path), values)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vkssp-table")]


def test_a_disk_that_is_full_ends_the_making_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def blocks(*_: int) -> Iterator[Block]:
        for row in range(50):
            made.append(row)
            yield {"weight": np.zeros((1, 3), np.uint32)}

    @contextmanager
    def full(path: Path) -> Iterator[IO[bytes]]:
        with atomic_write(path) as stream:

            class Full(io.BytesIO):
                fileno = stream.fileno

                def write(self, data: Any) -> int:
                    if isinstance(data, bytes):
                        return super().write(data)  # the header
                    raise OSError(errno.ENOSPC, "No space left on device")

            yield Full()

    monkeypatch.setattr(table_file, "atomic_write", full)
    with pytest.raises(FormatError, match="No space left"):
        write_table(tmp_path / "t.npy", Table((50, 3), ("weight",), blocks))
    assert len(made) < 5 and not list(tmp_path.iterdir())


def test_what_the_disk_complains_of_on_the_way_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complain(number: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync" if hasattr(os, "fdatasync") else "fsync", complain)
    table = Table((4, 3), ("weight",), lambda *_: ({"weight": np.zeros((1, 3), np.uint32)} for _ in range(4)))
    with pytest.raises(FormatError, match="Input/output"):
        write_table(tmp_path / "t.npy", table)
    assert not list(tmp_path.iterdir())


_BLOCKS = """
import sys, threading, time
import numpy as np
from vkssp.solver.table import Table
from vkssp.solver.table_file import write_table

values = np.arange(1 << 16, dtype=np.uint32).reshape(1, -1)

def blocks(*_):
    for number in range(40):
        if "late" in sys.argv and number == 2:
            ended.wait(60)
            time.sleep(0.2)
        yield {"weight": values}

ended = threading.Event()
table = Table((40, 1 << 16), ("weight",), blocks)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("ending", [".npy", ".csv"])
def test_ctrl_c_while_nobody_reads_from_a_pipe(tmp_path: Path, ending: str) -> None:
    """As when a pager waits for its user."""
    path = tmp_path / f"t{ending}"
    os.mkfifo(path)
    code = f"{_BLOCKS}\ntry:\n    write_table(sys.argv[1], table)\nexcept KeyboardInterrupt:\n    sys.exit(130)"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)])
    try:
        with path.open("rb", buffering=0) as stream:
            assert stream.read(1)  # it has begun
            time.sleep(1)  # and fills the pipe
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()


#: Writes a table with a stand-in for zarr, which makes files in a thread of its own, and goes on when Ctrl-C comes.
_ZARR = """
import os, signal, sys, threading, time
from vkssp.solver import table_file
from vkssp.solver.table import Table

class Zarr:
    def open_group(folder, mode):
        threading.Thread(target=make, args=[folder]).start()
        made.wait()

def make(folder):
    time.sleep(0.2)  # until it is waited for
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.5)
    folder.mkdir(parents=True, exist_ok=True)
    made.set()

made = threading.Event()
sys.modules["zarr"] = Zarr
try:
    table_file.write_table(sys.argv[1], Table((1, 1), ("weight",), lambda *_: iter([])))
except KeyboardInterrupt:
    made.wait()
    sys.exit(130)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_while_zarr_makes_files(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ZARR, str(tmp_path / "t.zarr")], timeout=60, check=False)
    assert done.returncode == 130 and list(tmp_path.iterdir()) == []


def test_a_thread_that_outlives_the_main_one_writes_its_table(tmp_path: Path) -> None:
    """Executors take nothing more then."""
    path = tmp_path / "t.npy"
    code = f"{_BLOCKS}\nthreading.Thread(target=lambda: write_table(sys.argv[1], table)).start()\n"
    code += "threading._register_atexit(ended.set)"  # called before other threads are waited for
    done = subprocess.run([sys.executable, "-c", code, str(path), "late"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr
    assert np.array_equal(np.load(path), np.tile(np.arange(1 << 16, dtype=np.uint32), (40, 1)))
