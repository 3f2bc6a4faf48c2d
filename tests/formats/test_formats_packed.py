"""Graph files that are compressed or in archives, and the files of coordinates beside them."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.graph_files import CO, GR, GR_ARCS, METIS, MTX, arcs, written
from vkssp import FormatError, read_graph
from vkssp.formats import read_file, stream
from vkssp.terminal import progress_bar

PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def archive(members: dict[str, str], packing: str = ".gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return PACKINGS[packing](buffer.getvalue())


@pytest.mark.parametrize("packing", PACKINGS)
def test_packings(tmp_path: Path, packing: str) -> None:
    for name, text in (("a.gr", GR), ("a.graph", METIS), ("a.mtx", "4 4 3\n2 1\n3 2\n4 3\n")):
        plain = read_file(written(tmp_path, name, text)).graph
        packed = read_file(written(tmp_path, name + packing, PACKINGS[packing](text.encode()))).graph
        # What it is packed with is no matter of its name; what format it is in may be.
        renamed = read_file(written(tmp_path, f"x{name}", PACKINGS[packing](text.encode()))).graph
        inside = read_file(written(tmp_path, "a.tar" + packing, archive({f"x/{name}": text}, packing))).graph
        assert arcs(plain) == arcs(packed) == arcs(renamed) == arcs(inside)


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".xz"])
def test_truncated_and_damaged_packings(tmp_path: Path, packing: str) -> None:
    text = GR.replace("p sp 3 4", "p sp 3 3004") + "a 1 2 3\n" * 3000
    for name, data in (("a.gr", PACKINGS[packing](text.encode())), ("a.tgz", archive({"x/x.gr": text}, packing))):
        assert read_file(written(tmp_path, name, data)).graph.num_arcs == 3004
        for cut in (7, len(data) // 2, len(data) - 5):
            path = written(tmp_path, name, data[:cut])
            with pytest.raises(FormatError, match="is truncated or damaged") as caught:
                read_file(path)
            assert str(path) in str(caught.value)
        middle = len(data) // 2
        with pytest.raises(FormatError, match="truncated or damaged"):
            read_file(written(tmp_path, name, data[:middle] + bytes(40) + data[middle + 40 :]))


def test_damage_at_the_beginning(tmp_path: Path) -> None:
    path = written(tmp_path, "a.gr.gz", gzip.compress(GR.encode())[:10] + b"\xff" * 30)
    with pytest.raises(FormatError, match="truncated or damaged"):
        read_file(path)


def test_the_graph_of_an_archive(tmp_path: Path) -> None:
    other = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
    several = {
        "x/README.txt": "read me",
        "x/x_b.mtx": other,
        "x/x.mtx": MTX.format("pattern", "general") + "1 2\n2 3\n3 1\n",
    }
    assert read_file(written(tmp_path, "a.tgz", archive(several))).graph.num_arcs == 3
    places = "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3.5\n4\n5\n6\n"
    graph = read_file(written(tmp_path, "a.tgz", archive({**several, "x/x_coord.mtx": places}))).graph
    assert graph.lon is not None and graph.lat is not None
    assert (graph.lon.tolist(), graph.lat.tolist()) == ([1, 2, 3.5], [4, 5, 6])
    for members, words in (
        ({"x/a.mtx": other, "x/b.mtx": other}, "2 graphs (x/a.mtx, x/b.mtx); unpack it"),
        ({"x/README.txt": other}, "no graph among 1 files; unpack it"),
    ):
        path = written(tmp_path, "b.tgz", archive(members))
        with pytest.raises(FormatError) as caught:
            read_file(path)
        assert words in str(caught.value)
    beside = {"x/a.mtx": other, "x/a_coord.mtx": places.replace("3 2", "2 2").replace("5\n6\n", "")}
    assert read_file(written(tmp_path, "b.tgz", archive(beside))).graph.lat is not None
    path = written(tmp_path, "c.tgz", archive({"x/a.gr": "p sp 2 1\na 1 3 1\n"}))
    with pytest.raises(FormatError) as caught:
        read_file(path)
    assert str(caught.value).startswith(f"x/a.gr in {path}, line 2: node 3")


@pytest.mark.parametrize("graph_name", ["x-d.N.gr", "x-d.N.gr.gz", "x-t.N.gr.xz"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_coordinates_beside_a_dimacs_graph(tmp_path: Path, graph_name: str, packing: str) -> None:
    path = written(tmp_path, graph_name, PACKINGS[Path(graph_name).suffix.replace(".gr", "")](GR.encode()))
    assert read_file(path).graph.lat is None
    written(tmp_path, f"x-d.N.co{packing}", PACKINGS[packing](CO.encode()))
    graph = read_file(path).graph
    assert graph.lat is not None and graph.lon is not None and arcs(graph) == GR_ARCS
    assert graph.lat.tolist() == [41.085396, 1e-6, -90] and graph.lon.tolist() == [-73.530767, 0, 180]
    assert read_file(path, coordinates=False).graph.lat is None


def test_coordinates_that_are_given(tmp_path: Path) -> None:
    places = written(tmp_path, "places", CO)
    pairs = written(tmp_path, "p.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6\n")
    for name, text, given in (
        ("a.gr", GR, places),
        ("b.gr", "p tw 3 0\n", places),
        ("c.graph", "3 0\n\n\n\n", places),
        ("d.mtx", "3 3 0\n", pairs),
        ("e.mtx", "3 3 0\n", places),
        ("f.graph", "3 0\n\n\n\n", pairs),
    ):
        graph = read_file(written(tmp_path, name, text), coordinates=str(given)).graph
        assert graph.lat is not None and graph.lat.tolist() == ([4, 5, 6] if given == pairs else [41.085396, 1e-6, -90])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.co", CO.replace("co 3", "co 4"), "line 2: has coordinates of 4 nodes, but the graph has 3"),
        ("a.co", CO.replace("v 2", "v 3"), "has no line for node 2, and two for another"),
        ("a.co", CO.replace("180000000", "180000001"), "line 4: 180000001 millionths of a degree are more than 180"),
        ("a.co", CO.replace("v 2 0 1\n", ""), "line 4: ends after 2 of the 3 lines 'v NODE X Y'"),
        ("a.co", CO.replace("v 2 0 1", "v 2 0 1.5"), "line 5: '1.5' is not a whole number"),
        ("a.co", GR, "where 'p aux sp co NODES' is due"),
        (
            "a.mtx",
            "%%MatrixMarket matrix array real general\n3 2\n181\n2\n3\n4\n5\n6\n",
            "no two columns of longitudes",
        ),
        ("a.mtx", "%%MatrixMarket matrix array real general\n3 3\n" + "1\n" * 9, "no two columns of longitudes"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n", "line 7: ends after 5 of the 6"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n2\nx\n4\n5\n6\n", "line 5: 'x' is not a number"),
        (
            "a.mtx",
            "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
            "coordinates of 2 nodes, but the graph has 3",
        ),
        ("a.mtx", "p xx 3 2\n1\n2\n3\n4\n", "line 1: is 'p xx 3 2' where 'p aux sp co NODES' is due"),
        ("a.mtx", MTX.format("pattern", "general"), "line 1: is not '%%MatrixMarket matrix array real general'"),
    ],
)
def test_malformed_coordinates(tmp_path: Path, name: str, text: str, message: str) -> None:
    places = written(tmp_path, name, text)
    graph = ("g.gr", GR) if name == "a.co" else ("g.mtx", "3 3 0\n")
    with pytest.raises(FormatError) as caught:
        read_file(written(tmp_path, *graph), coordinates=places)
    assert message in str(caught.value) and str(places) in str(caught.value)


def test_drawings_beside_a_matrix_are_no_coordinates(tmp_path: Path) -> None:
    graph = written(tmp_path, "x.mtx", "3 3 0\n")
    written(tmp_path, "x_coord.mtx", "%%MatrixMarket matrix array real general\n3 2\n1000\n2\n3\n4\n5\n6\n")
    assert read_file(graph).graph.lat is None
    written(tmp_path, "x_coord.mtx", "%%MatrixMarket matrix array real general\n3 2\n100\n2\n3\n4\n5\n6\n")
    assert read_file(graph).graph.lat is not None


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("is_archive", [False, True])
def test_progress_counts_bytes_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str, is_archive: bool
) -> None:
    comments = "".join(f"c {number}\n" for number in random.Random(1).choices(range(10**15), k=10**4))
    name, text = ("x/a.gr", comments + GR) if is_archive else ("a.gr", comments + GR)
    data = archive({name: text}, packing) if is_archive else PACKINGS[packing](text.encode())
    path = written(tmp_path, f"a\n.gr{packing}", data)
    shown = io.StringIO()
    at_once = functools.partial(progress_bar, delay=0.0, mininterval=0.0, file=shown)
    monkeypatch.setattr(stream, "progress_bar", at_once)
    assert arcs(read_graph(path)) == GR_ARCS and not shown.getvalue()
    assert arcs(read_graph(path, progress=True)) == GR_ARCS
    parts = [int(part) for part in re.findall(r"Reading a\\n\.gr\S*: +(\d+)%", shown.getvalue())]
    passes = [parts] if not is_archive else [parts[: parts.index(100) + 1], parts[parts.index(100) + 1 :]]
    for one in passes:  # the members of an archive are looked for first
        rising = sorted(set(one))
        assert len(rising) > 2 and rising[0] < 50 and rising[-1] > 90


def test_a_bar_is_drawn_while_few_bytes_unpack_to_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.gr.gz", gzip.compress(("c nothing\n" * 10**5 + GR).encode()))
    shown = io.StringIO()
    at_once = functools.partial(progress_bar, delay=0.0, mininterval=0.0, file=shown)
    monkeypatch.setattr(stream, "progress_bar", at_once)
    monkeypatch.setattr(stream, "BLOCK", 1 << 14)
    read_graph(path, progress=True)
    assert path.stat().st_size < 8192 and shown.getvalue().count("Reading") > 50
