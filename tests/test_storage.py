from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.graphs import grid, random_graphs
from vkssp import FormatError, Graph, GraphError, Streets
from vkssp.storage import atomic_write


def with_streets() -> Graph:
    graph = Graph.from_edges([0, 1, 1], [1, 0, 2], [10, 10, 20], lat=[0, 0, 1], lon=[0, 1, 1])
    streets = Streets(
        length=np.array([1.5, 1.5, 2.5], np.float32),
        way=np.array([7, 7, 2**40], np.int64),
        carried=np.array([False, False, True]),
        name=np.array([1, 1, 0], np.uint32),
        names=("", 'Rúa "Nova" 道路'),
        polyline=np.array([0, 0, 1], np.uint32),
        backward=np.array([False, True, False]),
        polyline_first=np.array([0, 2, 5], np.uint32),
        points=np.array([[0, 0], [0, 10**7], [0, 10**7], [5, 5], [10**7, 10**7]], np.int32),
        seconds_per_weight=0.1,
    )
    return Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)


def same(one: Graph, other: Graph) -> bool:
    arrays = ["first_out", "head", "weight"] + (["lat", "lon"] if one.lat is not None else [])
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and (
        (one.lat is None) == (other.lat is None) and (one.streets is None) == (other.streets is None)
    )


@given(random_graphs())
def test_what_is_saved_is_loaded(tmp_path: Path, graph: Graph) -> None:
    graph.save(tmp_path / "a graph")
    assert same(graph, Graph.load(tmp_path / "a graph"))


def test_streets_are_kept(tmp_path: Path) -> None:
    graph = with_streets()
    graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert loaded.streets is not None and graph.streets is not None
    assert loaded.streets.names == graph.streets.names
    assert loaded.streets.seconds_per_weight == 0.1
    for name in Streets.PER_ARC + Streets.SHARED:
        assert np.array_equal(getattr(loaded.streets, name), getattr(graph.streets, name))
    assert loaded.streets.arc_points(1).tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_what_may_be_missing_is_kept_where_it_is_there(tmp_path: Path) -> None:
    graph = with_streets()
    assert graph.streets is not None
    more = {
        "turn": np.array([0, 1, 2], np.uint32),
        "ref": np.array([1, 0, 1], np.uint32),
        "roundabout": np.array([True, False, False]),
        "link": np.array([False, False, True]),
        "junction": np.array([0, 1, 1], np.uint32),
        "memory": np.array([0, 2, 3], np.uint32),
        "layer": np.array([0, 1, 2], np.uint8),
    }
    assert set(more) == set(Streets.PER_ARC_OR_NONE + Streets.PER_NODE_OR_NONE)
    streets = replace(graph.streets, **more)  # type: ignore[arg-type]
    rows = graph.first_out, graph.head, graph.weight
    Graph.from_csr(*rows, lat=graph.lat, lon=graph.lon, streets=streets).save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g").streets
    assert loaded is not None and loaded.arc_ref(0) == 'Rúa "Nova" 道路' and loaded.arc_ref(1) == ""
    for name, array in more.items():
        assert np.array_equal(getattr(loaded, name), array)
        short = replace(streets, **{name: array[:-1]})  # type: ignore[arg-type]
        what = "arc" if name in Streets.PER_ARC_OR_NONE else "node"
        with pytest.raises(GraphError, match=rf"streets\.{name} has shape \(2,\); give one entry per {what}, 3"):
            Graph.from_csr(*rows, lat=graph.lat, lon=graph.lon, streets=short)
    wrong = replace(streets, ref=np.array([1, 0, 9], np.uint32))
    with pytest.raises(GraphError, match=r"streets\.ref holds an index outside streets\.names"):
        Graph.from_csr(*rows, lat=graph.lat, lon=graph.lon, streets=wrong)


def test_a_damaged_file_is_an_error_or_the_same_graph(tmp_path: Path) -> None:
    """Every truncation and every bit flip that we try; a checksum guards each array."""
    graph = with_streets()
    path = tmp_path / "g"
    graph.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    damaged = [content[:end] for end in range(0, len(content), 37)]
    for position in rng.integers(0, len(content), 400):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(flipped))
    refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            loaded = Graph.load(path)
        except FormatError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            assert same(graph, loaded)
    assert refused > len(damaged) // 2


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"not a graph at all", b"\x93NUMPY\x01\x00"])
def test_what_is_no_graph_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "g"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"not a saved graph|not a graph"):
        Graph.load(path)


def test_other_archives_and_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(FormatError, match="not a graph saved by vkssp"):
        Graph.load(path)
    np.save(tmp_path / "g.npy", np.zeros(3))
    with pytest.raises(FormatError, match="not a saved graph"):
        Graph.load(tmp_path / "g.npy")
    header = json.dumps({"format": "vkssp graph", "version": 99}).encode()
    np.savez(path, header=np.frombuffer(header, np.uint8))
    with pytest.raises(FormatError, match="format version 99"):
        Graph.load(path)


def test_a_saved_graph_with_negative_weights_is_refused(tmp_path: Path) -> None:
    header = json.dumps({"format": "vkssp graph", "version": 1}).encode()
    arrays = {"first_out": np.array([0, 1]), "head": np.array([0]), "weight": np.array([-4])}
    np.savez(tmp_path / "g.npz", header=np.frombuffer(header, np.uint8), **arrays)
    with pytest.raises(FormatError, match=r"weight.0. is -4; weights must not be negative"):
        Graph.load(tmp_path / "g.npz")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        Graph.load(tmp_path / "none")
    with pytest.raises(FormatError, match="choose a place that exists"):
        grid(3).save(tmp_path / "none" / "g")
    with pytest.raises(FormatError, match="cannot read"):
        Graph.load(tmp_path)


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), atomic_write(path) as stream:
        stream.write(b"half")
        raise RuntimeError("stop")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["g"]


def test_saved_files_may_be_read_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    grid(3).save(tmp_path / "g")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "g")}
    assert len(modes) == 1


def test_a_link_stays_one_and_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "g")
    grid(3).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert same(grid(3), Graph.load(tmp_path / "far" / "g"))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(tmp_path / "pipe") as stream:
        stream.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_says_so() -> None:
    with pytest.raises(FormatError, match="cannot write /dev/full: No space left on device"):
        grid(40).save("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_pipe_is_written_to_as_it_is(andorra_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "vkssp",
        "distances",
        str(andorra_path),
        "--source",
        "3",
        "--output",
        "/dev/stdout",
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    found = np.load(io.BytesIO(done.stdout))
    assert found.dtype == np.uint32 and found[3] == 0
