from __future__ import annotations

import copy
import dataclasses
import io
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.support.graphs import grid, random_graphs
from tests.support.paths import ROOT
from tests.support.saved_graphs import npy, rewritten, same
from vkssp import FormatError, Graph, GraphError, MemoryShortageError, Streets, memory
from vkssp.bench.result import save_csv, save_result
from vkssp.features.geojson import write_features
from vkssp.files import atomic_folder, atomic_write, check_writable
from vkssp.graph import storage
from vkssp.routing.map import write_isochrone_map
from vkssp.routing.value_map import write_value_map


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


@given(random_graphs())
def test_what_is_saved_is_loaded(tmp_path: Path, graph: Graph) -> None:
    graph.save(tmp_path / "a graph")
    assert same(graph, Graph.load(tmp_path / "a graph"))


def test_one_thread_opens_the_parts_that_several_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that open parts of one archive read from wrong places before Python 3.13."""
    with_streets().save(tmp_path / "a graph")
    monkeypatch.setattr(storage, "LARGE", 0)
    monkeypatch.setattr("vkssp.cores.num_cores", lambda: 2)
    opened, read, met = zipfile.ZipFile.open, storage.read_npy, threading.Barrier(2)
    openers, readers = set[int](), list[int]()

    def opening(*args: Any) -> Any:
        openers.add(threading.get_ident())
        return opened(*args)

    def reading(*args: Any) -> Any:
        readers.append(threading.get_ident())
        if len(readers) > 1 and readers[1:].count(readers[-1]) == 1:  # the first part is the header
            met.wait(60)
        return read(*args)

    monkeypatch.setattr(zipfile.ZipFile, "open", opening)
    monkeypatch.setattr(storage, "read_npy", reading)
    assert same(with_streets(), Graph.load(tmp_path / "a graph"))
    assert openers == {threading.get_ident()} and len(set(readers)) == 2


def test_streets_are_kept(tmp_path: Path) -> None:
    graph = with_streets()
    graph.save(tmp_path / "g")
    loaded = Graph.load(tmp_path / "g")
    assert loaded.streets is not None and graph.streets is not None
    assert loaded.streets.names == graph.streets.names
    assert loaded.streets.seconds_per_weight == 0.1
    for name in Streets.PER_ARC + Streets.SHARED:
        assert np.array_equal(getattr(loaded.streets, name), getattr(graph.streets, name))
    assert loaded.streets.points_along(np.array([1])).tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_what_may_be_missing_is_kept_where_it_is_there(tmp_path: Path) -> None:
    graph = with_streets()
    assert graph.streets is not None
    more = {
        "turn": np.array([0, 1, 2], np.uint32),
        "turn_bonus": np.array([3, 0, 0], np.uint32),
        "ref": np.array([1, 0, 1], np.uint32),
        "roundabout": np.array([True, False, False]),
        "link": np.array([False, False, True]),
        "snappable": np.array([True, True, False]),
        "road_class": np.array([0, 5, 255], np.uint8),
        "num_lanes": np.array([0, 2, 3], np.uint8),
        **{name: np.array([1, 0, 1], np.uint32) for name in ("lanes", "destinations", "exits", "pronunciation")},
        "mode": np.array([0, 3, 1], np.uint8),
        "classes": np.array([0, 3, 1], np.uint32),
        "left_hand": np.array([False, True, False]),
        "junction": np.array([0, 1, 1], np.uint32),
        "memory": np.array([0, 2, 3], np.uint32),
        "layer": np.array([0, 1, 2], np.uint8),
        "seconds": np.array([0.5, 1.5, 2.5], np.float32),
        "turn_seconds": np.array([0.0, 1.0, 2.0], np.float32),
        "node": np.array([5_000_000_000, 0, 7]),
    }
    assert set(more) == set(Streets.PER_ARC_OR_NONE + Streets.PER_NODE_OR_NONE)
    ids = np.arange(len(graph.streets.points)) + 2**40
    texts = {"weight_name": "routability", "class_names": ("toll", "ferry")}
    streets = replace(graph.streets, seconds_per_weight=0.0, **more, **texts, point_node=ids)  # type: ignore[arg-type]
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
    assert np.array_equal(loaded.nodes_along(np.array([1])), ids[[1, 0]])
    with pytest.raises(GraphError, match=r"streets\.point_node has shape \(4,\); give one id per point, 5"):
        Graph.from_csr(*rows, lat=graph.lat, lon=graph.lon, streets=replace(streets, point_node=ids[:-1]))
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


def untouched() -> Iterator[Any]:
    raise AssertionError("the features were asked for")
    yield


@pytest.mark.parametrize(
    ("write", "wrong", "known"),
    [
        (lambda path: grid(2).save(path), "g.osm.pbf", ".graph or .npz"),
        (lambda path: write_features(path, untouched()), "r.gpx", ".geojson or .json"),
        (lambda path: write_isochrone_map(path, grid(2), []), "r.geojson", ".html or .htm"),
        (lambda path: write_value_map(path, grid(2), {}), "r.csv", ".html or .htm"),
        (lambda path: save_result(path, {}), "r.csv", ".json"),
        (lambda path: save_csv(path, {}), "r.json", ".csv"),
    ],
)
def test_no_file_is_named_like_what_it_is_not(
    tmp_path: Path, write: Callable[[str], None], wrong: str, known: str
) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(wrong)} as .*: its name must end in {re.escape(known)}$"):
        write(str(tmp_path / wrong))
    with pytest.raises(FormatError, match=r"the name of the file for .* is empty"):
        write("")
    assert os.listdir(tmp_path) == []


def test_endings_in_any_case_and_names_of_open_files(tmp_path: Path) -> None:
    write_features(tmp_path / "R.GeoJSON", [])
    command = [sys.executable, "-c", "from vkssp.features.geojson import *; write_features('/dev/stdout', [])"]
    with (tmp_path / "redirected").open("wb") as stream:
        subprocess.run(command, stdout=stream, check=True, cwd=ROOT)
    assert (tmp_path / "redirected").read_bytes() == (tmp_path / "R.GeoJSON").read_bytes()


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_follows_the_umask_and_a_replaced_one_stays_as_private_as_it_was(tmp_path: Path, umask: int) -> None:
    (tmp_path / "far").mkdir()
    for name, mode in (("private", 0o600), ("shared", 0o664), ("far/g", 0o640)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "g")
    (tmp_path / "dangling").symlink_to(tmp_path / "far" / "new")
    before = os.umask(umask)
    try:
        for name in ("private", "shared", "link", "dangling", "fresh"):
            grid(3).save(tmp_path / name)
    finally:
        os.umask(before)
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("private", "shared", "far/g")}
    assert modes == {"private": 0o600, "shared": 0o664, "far/g": 0o640}
    for name in ("far/new", "fresh"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~umask
    assert (tmp_path / "link").is_symlink() and (tmp_path / "dangling").is_symlink()
    assert all(Graph.load(tmp_path / name).num_nodes == 9 for name in ("link", "dangling", "private"))


def test_a_replaced_folder_stays_as_private_as_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        with atomic_folder(tmp_path / "t.zarr", ("zarr.json",)) as folder:
            (folder / "zarr.json").touch()
        (tmp_path / "t.zarr").chmod(0o700)
    with atomic_folder(tmp_path / "t.zarr", ("zarr.json",)):
        pass
    assert stat.S_IMODE((tmp_path / "t.zarr").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_owner_and_group_stay_where_that_is_permitted() -> None:
    with tempfile.TemporaryDirectory() as name:  # others may enter it, unlike tmp_path
        folder = Path(name)
        folder.chmod(0o777)
        for file, mode, owner in (("theirs", 0o640, 65534), ("open", 0o676, 0), ("protected", 0o644, 0)):
            (folder / file).touch()
            (folder / file).chmod(mode)
            os.chown(folder / file, owner, owner)
        grid(3).save(folder / "theirs")
        found = (folder / "theirs").stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (65534, 65534, 0o640)
        os.setegid(65534)
        os.seteuid(65534)
        try:
            grid(3).save(folder / "open")
            with pytest.raises(FormatError, match=r"cannot write .*protected: Permission denied"):
                grid(3).save(folder / "protected")
        finally:
            os.seteuid(0)
            os.setegid(0)
        # Another group gets no more than what everybody had.
        assert (folder / "open").stat().st_mode & 0o777 == 0o666
        assert (folder / "protected").stat().st_size == 0 and len(os.listdir(folder)) == 3


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


HUGE_UNIT = b'{"format": "vkssp graph", "version": 1, "seconds_per_weight": 1%s}' % (b"0" * 400)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("weight.npy", npy(np.array([1, 1, 1], np.uint32)))
    with pytest.raises(FormatError, match="two of its parts have the same name"):
        Graph.load(path)


def test_a_graph_that_there_is_no_memory_for_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    with monkeypatch.context() as patch:
        patch.setattr(storage, "read_npy", lambda *_: bytearray(2**60))
        with pytest.raises(MemoryError):
            Graph.load(path)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_bytes", lambda: 100)
    with pytest.raises(MemoryShortageError, match=r"g: a graph of 0\.0 GiB"):
        Graph.load(path)


@pytest.mark.parametrize("claim", ["(1152921504606846976,)", "(4294967296,)", "(2,)", "(-1,)", "(3, 3)"])
def test_an_array_that_claims_another_size_is_refused(tmp_path: Path, claim: str) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    rewritten(path, "head.npy", npy(np.array([1, 0, 2], np.uint32), claim))
    tracemalloc.start()
    with pytest.raises(FormatError, match="damaged"):
        Graph.load(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_what_would_unpack_to_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    rewritten(path, "weight.npy", npy(np.zeros(10**6, np.uint32)), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5
    with pytest.raises(FormatError, match="packed by another program"):
        Graph.load(path)


def test_members_that_are_the_same_bytes_are_refused(tmp_path: Path) -> None:
    """Each is no larger than the file, but many of them are."""
    path = tmp_path / "g"
    with_streets().save(path)
    rewritten(path, "head.npy", npy(np.zeros(10**5, np.uint32)))
    with zipfile.ZipFile(path, "a") as archive:
        for i in range(9):
            again = copy.copy(archive.getinfo("head.npy"))
            again.filename = f"a{i}.npy"
            archive.filelist.append(again)
        archive.comment = b"many"  # so that the list is written again
    with pytest.raises(FormatError, match="smaller than what it holds"):
        Graph.load(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("header", b"\x93NUMPY\x01", "damaged"),
        ("header", npy(np.frombuffer(b"[" * 10**5, np.uint8)), "damaged"),
        ("header", npy(np.frombuffer(b"[1]", np.uint8)), "not a graph saved by vkssp"),
        ("head", b"no array", "damaged"),
        ("head", npy(np.array(["1", "2", "3"])), "head.npy is no array of numbers"),
        ("streets_length", npy(np.array([1, 2, 3])), "streets.length has dtype int64; give float32"),
        ("streets_length", npy(np.array([1, np.nan, 3], np.float32)), r"streets\.length\[1\] is nan; give metres"),
        ("streets_length", npy(np.array([1, 3e38, 3], np.float32)), r"streets\.length\[1\] is 3e\+38; give metres"),
        ("streets_polyline", npy(np.array([0, 0, 1], ">u4")), "streets.polyline has dtype >u4; give uint32"),
        ("streets_backward", npy(np.array([0, 7, 0], np.uint8).view(np.bool_)), "neither true nor false"),
        ("streets_points", npy(np.full((5, 2), 2**31 - 1, np.int32)), "holds one that is not on the Earth"),
        ("streets_points", npy(np.full((5, 2), -(2**31), np.int32)), "holds one that is not on the Earth"),
        ("streets_names", npy(np.frombuffer(b"a\0b\0", np.uint8)), "streets.names begins with a name"),
        ("streets_names", npy(np.frombuffer(b"", np.uint8)), "streets.name holds an index outside"),
        ("lat", npy(np.array([0, 91.0, 0])), "lat.1. is 91.0"),
        ("lat", npy(np.array([0, 1j, 0])), "lat.npy is no array of numbers"),
        # What bytes() would make 8 GiB of.
        ("header", npy(np.array(2**33)), "header has dtype int64 and 0 dimensions"),
        ("streets_names", npy(np.array(2**33)), "streets.names has dtype int64 and 0 dimensions"),
        ("head", npy(np.array([], "V0")), "head.npy is no array of numbers"),
        ("head", npy(np.array([1, 0, 2], np.uint32))[:-4], "claims to have the shape"),
        ("header", npy(np.frombuffer(HUGE_UNIT, np.uint8)), "damaged .*int too large to convert to float"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    rewritten(path, f"{name}.npy", content)
    with pytest.raises(FormatError, match=message) as caught:
        Graph.load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


UNITS = {"format": "vkssp graph", "version": 3, "seconds_per_weight": 0.1, "scale": 0.5, "weight_error": 0.25}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 0}, "scale is 0; give"),
        ({"scale": -1.0}, "scale is -1.0; give"),
        ({"scale": "auto"}, "scale 'auto'; make the graph again"),
        ({"scale": [1]}, "scale is "),
        ({"scale": 1e308}, "scale is 1e\\+308; give"),
        ({"weight_error": -1}, "weight_error is -1"),
        ({"weight_error": float("nan")}, "weight_error is nan"),
        ({"weight_error": "large"}, "weight_error is 'large'"),
        ({"scale": None}, "weight_error is 0.25 and scale None"),
    ],
)
def test_units_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "g"
    with_streets().save(path)
    for header, is_good in ((UNITS, True), ({**UNITS, **changes}, False)):
        rewritten(path, "header.npy", npy(np.frombuffer(json.dumps(header).encode(), np.uint8)))
        if is_good:
            loaded = Graph.load(path)
            assert (loaded.scale, loaded.weight_error) == (0.5, 0.25)
        else:
            with pytest.raises(FormatError, match=message):
                Graph.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.frombuffer(b'["a", "b"]', np.uint8)), "names has 2 entries; give one per node, 3"),
        (npy(np.frombuffer(b'["a", "b", "a"]', np.uint8)), "names.2. is 'a', as another one is"),
        (npy(np.frombuffer(b'["a", "b", null]', np.uint8)), "names.2. is None, which stands for a missing value"),
        (npy(np.frombuffer(b'["a", "b", {"c": 1}]', np.uint8)), "damaged .'bytes'"),
        (npy(np.frombuffer(b'["a", "b", {"bytes": "x"}]', np.uint8)), "damaged"),
        (npy(np.frombuffer(b'{"a": 1}', np.uint8)), "names are no list"),
        (npy(np.frombuffer(b'["a"', np.uint8)), "damaged"),
        (npy(np.frombuffer(b"[" * 10**5, np.uint8)), "damaged"),
        (npy(np.array([1, 2, 2])), "names.2. is 2, as another one is"),
        (npy(np.array([1, 2])), "names has 2 entries"),
        (npy(np.array([0.5, 1, 2])), "names has dtype float64 and 1 dimensions"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "g"
    graph = with_streets()
    names = ["a", "b", "c"]
    Graph.from_csr(graph.first_out, graph.head, graph.weight, names=names).save(path)
    rewritten(path, "names.npy", content)
    with pytest.raises(FormatError, match=message) as caught:
        Graph.load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_graphs_of_whole_weights_are_saved_as_before(tmp_path: Path) -> None:
    for graph, version in (
        (with_streets(), 1),
        (Graph.from_edges([0], [1], [0.5]), 3),
        (Graph.from_edges([0], [1], [5], names=["a", "b"]), 3),
    ):
        graph.save(tmp_path / "g")
        with zipfile.ZipFile(tmp_path / "g") as archive:
            header = json.loads(np.lib.format.read_array(io.BytesIO(archive.read("header.npy"))).tobytes())
        assert header["version"] == version and ("scale" in header) == (version == 3)


def test_turns_that_take_longer_than_their_arcs_are_refused() -> None:
    graph = with_streets()
    assert graph.streets is not None
    streets = dataclasses.replace(graph.streets, turn=np.array([10, 11, 0], np.uint32))
    with pytest.raises(GraphError, match=r"streets.turn\[1\] is 11, more than the arc's weight, 10"):
        Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=streets)
    for seconds in (-1.0, np.nan, np.inf, 5e-324, 1e308):
        with pytest.raises(GraphError, match="seconds_per_weight"):
            dataclasses.replace(graph.streets, seconds_per_weight=seconds).check(3)


def test_a_folder_that_cannot_take_its_place_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, replace_file = tmp_path / "t.zarr", os.replace

    def write(text: str) -> None:
        with atomic_folder(target, ("zarr.json",)) as folder:
            (folder / "zarr.json").write_text(text)

    write("one")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o777 & ~mask
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def failing(source: Path, to: Path, error: BaseException = error) -> None:
            if (Path(source) / "zarr.json").is_file() and (Path(source) / "zarr.json").read_text() == "two":
                raise error
            replace_file(source, to)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", failing)
            with pytest.raises(FormatError if isinstance(error, OSError) else KeyboardInterrupt):
                write("two")
        assert list(tmp_path.iterdir()) == [target] and (target / "zarr.json").read_text() == "one"
    write("three")
    assert list(tmp_path.iterdir()) == [target] and (target / "zarr.json").read_text() == "three"
    for name in ("t.zarr", "T.ZARR"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "zarr.json").touch()
        check_writable(folder)
