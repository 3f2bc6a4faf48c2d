"""Tables that tasks of dask write in place: they are complete and right, whatever stops a run or ends a worker."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import ClusterError, FormatError, Graph, QueryError, Solver
from vkssp.dask import blocks as blocks_module
from vkssp.dask import table_store
from vkssp.dask.blocks import Blocks
from vkssp.dask.cluster import threads_of
from vkssp.dask.manifest import Manifest
from vkssp.dask.worker_solvers import WorkerSolvers

pytest.importorskip("distributed")
dask, zarr = pytest.importorskip("vkssp.dask"), pytest.importorskip("zarr")
dataset = pytest.importorskip("pyarrow.dataset")
ENDINGS = [".zarr", ".parquet"]


@pytest.fixture
def graph() -> Graph:
    """A grid, and a node that nothing leads to."""
    whole = grid(8)
    first_out = np.append(whole.first_out, whole.first_out[-1])
    return Graph(first_out, whole.head, whole.weight)


@pytest.fixture(autouse=True)
def blocks_made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The blocks that workers have made, in the order in which they have begun."""
    made, block = list[tuple[int, int]](), WorkerSolvers.block

    def counted(self: WorkerSolvers, question: Any, first: int, end: int) -> Any:
        made.append((first, end))
        return block(self, question, first, end)

    monkeypatch.setattr(WorkerSolvers, "block", counted)
    return made


def values_in(path: Path, shape: tuple[int, int]) -> Any:
    """Return the weights that a table has."""
    if path.suffix == ".zarr":
        return zarr.open_group(path, mode="r")["weight"][:]
    found = dataset.dataset(path).to_table().sort_by([("origin_id", "ascending"), ("destination_id", "ascending")])
    assert found.column_names == ["origin_id", "destination_id", "weight"]
    return found["weight"].to_numpy(zero_copy_only=False).astype(object)


def check(path: Path, graph: Graph, sources: Any, targets: Any) -> None:
    with Solver(graph, device="cpu") as solver:
        expected = solver.table(sources, targets)
    found = values_in(path, expected.shape)
    if path.suffix == ".parquet":
        missing = np.array([value is None or value != value for value in found])
        found = np.where(missing, 2**32 - 1, found).astype(np.uint32).reshape(expected.shape)
    assert np.array_equal(found, expected) and (expected == 2**32 - 1).any()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_was_stopped_goes_on(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks_made: Any, ending: str
) -> None:
    path, sources, targets = tmp_path / f"t{ending}", np.arange(30), np.arange(20, 65)
    ask, add = dask.table(graph, sources, targets, rows=4, cluster=client).write, Manifest.add

    def stop(self: Manifest, first: int, end: int, facts: Any) -> None:
        add(self, first, end, facts)
        if len(self.done) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Manifest, "add", stop)
    with pytest.raises(KeyboardInterrupt):
        ask(path)
    monkeypatch.setattr(Manifest, "add", add)
    partial = tmp_path / f"t{ending}.partial"
    assert [one.name for one in tmp_path.iterdir()] == [partial.name], "what is not complete has another name"
    lines = (partial / "manifest.jsonl").read_bytes()
    done = {json.loads(line)["first"] for line in lines.splitlines()[1:]}
    assert len(done) == 3
    # Another question, another division into blocks, and a line that a dying process has torn.
    with pytest.raises(FormatError, match="has the beginning of another result, whose question"):
        dask.table(graph, sources[1:], targets, cluster=client).write(path)
    (partial / "manifest.jsonl").write_bytes(lines + b'{"first": 1')
    blocks_made.clear()
    again = dask.table(graph, sources, targets, rows=7, cluster=client)
    reached = again.write(path)
    assert {first for first, end in blocks_made if end <= 30} >= {*range(0, 30, 4)} - done
    assert reached == 30 * 44 and [one.name for one in tmp_path.iterdir()] == [path.name]
    check(path, graph, sources, targets)
    blocks_made.clear()
    assert again.write(path) == reached and not blocks_made, "it is there already"
    assert dask.table(graph, sources, targets[:9], cluster=client).write(path) == 30 * 9, "another one replaces it"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_tasks_of_a_run_that_was_stopped_do_not_write_into_another_result(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Dask cancels tasks that have not begun; those that have go on, and may end after the next run has begun."""
    path, sources, targets = tmp_path / f"t{ending}", np.arange(12), np.arange(50, 65)
    held, goes_on, has_ended = threading.Event(), threading.Event(), threading.Event()
    write, close = table_store.TableStore.write, table_store.TableStore.close

    def wait_and_write(self: Any, block: Any, first: int, end: int) -> int:
        if first > 0:
            return write(self, block, first, end)
        held.set()
        goes_on.wait(60)
        try:
            return write(self, block, first, end)
        finally:
            has_ended.set()

    def stop(self: Manifest, first: int, end: int, facts: Any) -> None:
        assert held.wait(60)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(table_store.TableStore, "write", wait_and_write)
        patched.setattr(Manifest, "add", stop)
        with pytest.raises(KeyboardInterrupt):
            dask.table(graph, sources, targets, rows=3, cluster=client).write(path)

    def let_it_end(self: Any, told: Any) -> None:
        goes_on.set()
        assert has_ended.wait(60)
        close(self, told)

    while (tmp_path / f"{path.name}.partial").exists():  # other tasks may write to it meanwhile
        shutil.rmtree(f"{path}.partial", ignore_errors=True)
    monkeypatch.setattr(table_store.TableStore, "close", let_it_end)
    dask.table(graph, sources[::-1], targets, rows=3, cluster=client).write(path)
    check(path, graph, sources[::-1], targets)


@pytest.mark.parametrize("ending", ENDINGS)
def test_blocks_whose_files_are_lost_are_made_again(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path, sources, targets = tmp_path / f"t{ending}", np.arange(12), np.arange(50, 65)
    table, close = dask.table(graph, sources, targets, rows=3, cluster=client), table_store.TableStore.close

    def fail(self: Any, told: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(table_store.TableStore, "close", fail)
    with pytest.raises(FormatError, match="Input/output error"):
        table.write(path)
    monkeypatch.setattr(table_store.TableStore, "close", close)
    (folder,) = (tmp_path / f"t{ending}.partial").glob(f"*{ending}")
    lost = folder / ("weight/c/2/0" if ending == ".zarr" else "rows-000000000006.parquet")
    lost.unlink()
    assert table.write(path) == 12 * 14
    check(path, graph, sources, targets)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_an_error_and_the_rest_is_written_later(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path, sources, targets = tmp_path / f"t{ending}", np.arange(20), np.arange(40, 65)
    fsync, number = os.fsync, [0]

    def full(handle: int) -> None:
        number[0] += 1
        if number[0] > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    table = dask.table(graph, sources, targets, rows=2, cluster=client)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FormatError, match="No space left on device"):
        table.write(path)
    monkeypatch.setattr(os, "fsync", fsync)
    assert not path.exists()
    assert table.write(path, cluster=client) == 20 * 24
    check(path, graph, sources, targets)


def test_names_and_what_else_is_there(client: Any, graph: Graph, tmp_path: Path) -> None:
    table = dask.table(graph, [0, 1, 2], [3, 4], cluster=client)
    with pytest.raises(FormatError, match=r"by many tasks: its name must end in one of \.zarr, \.parquet"):
        table.write(tmp_path / "t.csv")
    (tmp_path / "t.parquet").write_text("other")
    with pytest.raises(FormatError, match="there is something else"):
        table.write(tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="File name too long"):
        table.write(tmp_path / f"{300 * 'a'}.zarr")
    with pytest.raises(QueryError, match="is a name that no file can hold"):
        table.write(tmp_path / "n.zarr", ["a", "b", "\ud800"], ["x", "y"])
    for damaged in ("[]", '{"zarr_format": 3, "node_type": "group", "attributes": []}'):
        (tmp_path / "d.zarr").mkdir(exist_ok=True)
        (tmp_path / "d.zarr" / "zarr.json").write_text(damaged)
        assert table_store.told_by(tmp_path / "d.zarr") == {}
    names = ["a", "b", "c"], ["x", "y"]
    table.write(tmp_path / "n.parquet", *names)
    assert dataset.dataset(tmp_path / "n.parquet").to_table()["origin_id"].to_pylist() == list("aabbcc")
    table.write(tmp_path / "n.zarr", *names)
    group = zarr.open_group(tmp_path / "n.zarr", mode="r")
    assert group["source"][:].tolist() == names[0] and group["weight"].shape == (3, 2)
    partial = tmp_path / "m.zarr.partial"
    partial.mkdir()
    with (
        Manifest.opened(partial / "manifest.jsonl", {"question": "1"}, Blocks(3, 1, 1)),
        pytest.raises(FormatError, match="another process is writing"),
    ):
        table.write(tmp_path / "m.zarr")


def test_what_is_beside_a_table(client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the caller is left alone, and what a manifest does not tell of does not count."""
    table, path = dask.table(graph, range(6), rows=2, cluster=client), tmp_path / "t.parquet"
    aside = tmp_path / "t.parquet.partial"
    aside.mkdir()
    (aside / "thesis.txt").write_text("unique")
    with pytest.raises(FormatError, match=r"t\.parquet\.partial is something else; remove it"):
        table.write(path)
    assert (aside / "thesis.txt").read_text() == "unique"
    (aside / "thesis.txt").unlink()
    other = dask.table(graph, range(5), rows=2, cluster=client)  # takes the place of a complete one
    assert other.write(tmp_path / "v.parquet") == 25
    (tmp_path / "v.parquet.partial").mkdir()
    (tmp_path / "v.parquet.partial" / "thesis.txt").write_text("unique")
    with pytest.raises(FormatError, match=r"v\.parquet\.partial is something else; remove it"):
        table.write(tmp_path / "v.parquet")
    assert (tmp_path / "v.parquet.partial" / "thesis.txt").read_text() == "unique"
    (aside / "manifest.jsonl").write_text(
        '{"format": "vks'
    )  # a run that ended with its first line, and what others left
    (aside / path.name).mkdir()
    for stray in ("rows-000000000001.parquet", ".rows-000000000002.parquet.0.part"):
        (aside / path.name / stray).write_text("")
    assert table.write(path) == 36
    assert sorted(one.name for one in path.iterdir())[1:] == [f"rows-{at:012}.parquet" for at in (0, 2, 4)]
    lock, manifest = pytest.importorskip("fcntl"), tmp_path / "u.parquet.partial" / "manifest.jsonl"
    monkeypatch.setattr(lock, "flock", lambda handle, how: manifest.unlink())
    with pytest.raises(FormatError, match="another process has just written"):
        table.write(tmp_path / "u.parquet")


@pytest.mark.parametrize(
    ("line", "text", "error"),
    [
        (0, "[]", "is damaged"),
        (0, '{"rows": 4}', "is damaged"),
        (0, '{"chunk": 0}', "is damaged"),
        (0, '{"format": "other"}', "has the beginning of another result, whose format is 'other'"),
        (0, '{"vkssp": "0.1"}', r"whose vkssp is '0\.1'"),
        (0, '{"graph": "0"}', "whose graph, or its weights, are others"),
        (1, "7", "is damaged"),
        (1, '{"reached": "all"}', None),
        (1, '{"end": 7}', None),
        (1, '{"first": 9000}', None),
    ],
)
def test_a_manifest_that_is_damaged_or_foreign(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, text: str, error: str | None
) -> None:
    table, path = dask.table(graph, range(6), rows=2, cluster=client), tmp_path
    with monkeypatch.context() as patch, pytest.raises(ClusterError):
        patch.setattr(table_store.TableStore, "close", stop)
        table.write(path / "t.zarr")
    manifest = path / "t.zarr.partial" / "manifest.jsonl"
    lines = manifest.read_text().splitlines()
    changed = json.loads(text)
    lines[line] = json.dumps({**json.loads(lines[line]), **changed}) if isinstance(changed, dict) else text
    manifest.write_text("\n".join([*lines, ""]))
    if error is None:
        assert table.write(path / "t.zarr") == 36
        return
    with pytest.raises(FormatError, match=error):
        table.write(path / "t.zarr")
    assert manifest.read_text().splitlines() == lines, "it is left as it is"


def stop(self: Any, told: Any) -> None:
    raise ClusterError("the scheduler has ended")


def test_chunks_of_a_block_are_written_together(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one waits for the disk, another one is compressed."""
    monkeypatch.setattr(blocks_module, "CHUNK_BYTES", 3 * 4 * 65)
    fsync, both = os.fsync, threading.Barrier(2)

    def together(handle: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            both.wait(20)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", together)
    table, path = dask.table(graph, range(24), "all", rows=24, cluster=client), tmp_path / "t.zarr"
    assert table.write(path) == 24 * 64
    check(path, graph, range(24), range(65))
    assert zarr.open_group(path, mode="r")["weight"].chunks == (3, 65)


def test_tasks_whose_workers_die_are_repeated_a_few_times(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed.scheduler import KilledWorker

    table, block, deaths = dask.table(graph, range(6), rows=2, cluster=client), WorkerSolvers.block, [3]

    def die(self: WorkerSolvers, question: Any, first: int, end: int) -> Any:
        if first == 2 and deaths[0]:
            deaths[0] -= 1
            raise KilledWorker("rows", SimpleNamespace(address="tcp://other"), 3)
        return block(self, question, first, end)

    monkeypatch.setattr(WorkerSolvers, "block", die)
    assert table.write(tmp_path / "t.zarr") == 36
    deaths[0] = 100
    with pytest.raises(ClusterError, match="4 attempts of a task have failed"):
        table.write(tmp_path / "u.zarr")


def test_a_worker_that_lacks_something(
    client: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = dask.table(graph, range(6), rows=2, cluster=client)

    def lack(self: Any, *given: Any) -> None:
        raise QueryError("Zarr arrays need zarr, which is not installed")

    with monkeypatch.context() as patch, pytest.raises(QueryError, match=r"on the worker at .*: Zarr arrays need zarr"):
        patch.setattr(table_store.TableStore, "write", lack)
        table.write(tmp_path / "t.zarr")
    with (
        monkeypatch.context() as patch,
        pytest.raises(FormatError, match=r"on the worker at .*cannot write .*such file"),
    ):
        patch.setattr(table_store.TableStore, "make", lambda self, blocks, anew: None)  # as if on another disk
        table.write(tmp_path / "u.zarr")

    def refuse(self: Any, *given: Any, **named: Any) -> None:
        raise ModuleNotFoundError("No module named 'vkssp'")

    monkeypatch.setattr(type(client), "register_plugin", refuse)
    with pytest.raises(ClusterError, match=r"cannot start vkssp \(.*No module named.*install the same version"):
        dask.table(graph, range(6), cluster=client)
    monkeypatch.setattr(type(client), "scheduler_info", lambda self, n_workers: {"workers": {}})
    assert threads_of(client) == 1 and "the cluster has no workers now" in caplog.text
