"""Whether there is memory: what the system tells, and what readers refuse without it."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest

from tests.support import graph_files as formats
from vkssp import FormatError, MemoryShortageError, memory, read_graph
from vkssp.cli import main
from vkssp.formats import stream

linux = pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="needs Linux")


@linux
def test_memory_is_free() -> None:
    total = next(line.split() for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    swap = next(line.split() for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("SwapTotal"))
    free = memory.free_bytes()
    assert free is not None and 0 < free <= (int(total[1]) + int(swap[1])) * 1024
    memory.require(1, "a byte")
    with pytest.raises(MemoryShortageError, match=r"a planet: that takes about 1073741824\.0 GiB of memory"):
        memory.require(2**60, "a planet")


@linux
def test_a_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (100 << 20)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    free = memory.free_bytes()
    assert free is not None and free < 200 << 20


@linux
@pytest.mark.parametrize(("most", "free"), [("1000000000", 300_000_000), ("max", None)])
def test_a_limit_of_a_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: str, free: int | None
) -> None:
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    before = memory.free_bytes()
    assert before is not None and before > 300_000_000
    (tmp_path / "memory.max").write_text(most + "\n")
    (tmp_path / "memory.current").write_text("900000000\n")
    (tmp_path / "memory.stat").write_text("anon 700000000\ninactive_file 200000000\n")
    assert (memory.free_bytes() == free) == (free is not None)


def test_where_the_system_does_not_tell_all_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "limits", lambda: iter(()))
    memory.require(2**60, "a planet")


@linux
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.gr", "p sp 2000000000 1\na 1 2 3\n", 1),
        ("b.gr", "c\np tw 3 2147483647\n1 2\n", 2),
        ("c.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n1 2\n", 2),
        ("d.metis", "2000000000 1\n2\n1\n", 1),
    ],
)
def test_a_header_that_claims_too_much_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, text: str, line: int
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 << 30)
    path = formats.written(tmp_path, name, text)
    assert main(["info", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}, line {line}: a graph of " in error and "GiB of memory, and 8.0 are free" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("header", ["p sp 3 {}", "p sp {} 3", "p tw {} 3", "p tw 3 {}"])
def test_a_header_that_no_graph_can_have_is_refused(tmp_path: Path, header: str) -> None:
    for size in (2**60, 2**63, 10**30):
        with pytest.raises(FormatError, match="line 1"):
            read_graph(formats.written(tmp_path, "g.gr", header.format(size) + "\n"))


def test_a_file_that_unpacks_to_more_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = formats.written(tmp_path, "g.txt.gz", gzip.compress(b"1 2\n" * 10**6))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "free_bytes", lambda: 5 << 20)
    with pytest.raises(MemoryShortageError, match=r"g\.txt\.gz: a table of more than \d+ lines"):
        read_graph(path)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"p sp 3 1\na 1 2 " + b"1" * (8 << 20) + b"\n"
    path = formats.written(tmp_path, "g.gr.gz", gzip.compress(text))
    monkeypatch.setattr(stream, "LONGEST_LINE", 4 << 20)
    with pytest.raises(FormatError, match="line 2: is longer than 4194304 bytes"):
        read_graph(path)
