"""Processes of a cluster that are killed while a table is written: it is complete and right, or goes on later."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import grid
from tests.support.paths import ROOT
from vkssp import ClusterError, Solver
from vkssp.dask import cluster as module

pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")
dask, zarr = pytest.importorskip("vkssp.dask"), pytest.importorskip("zarr")
pytestmark = pytest.mark.slow


@contextmanager
def working(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and end it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VKSSP_DEVICE": "cpu"}
    process = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_address() -> tuple[int, str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    return port, f"tcp://127.0.0.1:{port}"


@contextmanager
def cluster(port: int, address: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a scheduler and a worker; yield the scheduler."""
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    with (
        working("dask", "scheduler", *options) as scheduler,
        working("vkssp", "dask-worker", address, "--host", "127.0.0.1"),
    ):
        yield scheduler


def lines_of(manifest: Path) -> int:
    """Return the number of blocks that a manifest has."""
    return len(manifest.read_bytes().splitlines()) - 1 if manifest.exists() else 0


def test_workers_that_are_killed_in_a_loop(tmp_path: Path) -> None:
    graph = grid(60)
    graph.save(tmp_path / "grid.graph")
    killed, is_over, manifest = list[int](), threading.Event(), tmp_path / "t.zarr.partial" / "manifest.jsonl"
    with dask.local_cluster("cpu", workers=2) as local, dask.connected(local) as client:
        table = dask.table(tmp_path / "grid.graph", np.arange(3600), "all", rows=9, cluster=client)
        assert config.get("distributed.deploy.lost-worker-timeout") >= 600, "workers that start slowly are not given up"

        def kill() -> None:
            """Kill a worker, and then both, whenever some blocks more have been written."""
            while len(killed) < 5 and not is_over.wait(0.01):
                if lines_of(manifest) < 40 * (1 + len(killed)):
                    continue
                for nanny in list(local.workers.values())[: 1 + len(killed) % 2]:
                    if nanny.pid is not None:
                        os.kill(nanny.pid, signal.SIGKILL)
                        killed.append(nanny.pid)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            reached = table.write(tmp_path / "t.zarr")
        finally:
            is_over.set()
            killer.join()
    assert reached == 3600 * 3600 and len(killed) >= 3
    with Solver(graph, device="cpu") as solver:
        expected = solver.distances(np.arange(3600))
    assert np.array_equal(zarr.open_group(tmp_path / "t.zarr", mode="r")["weight"][:], expected)


def test_a_scheduler_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 8)
    graph, (port, address) = grid(60), free_address()
    graph.save(tmp_path / "grid.graph")
    path, errors = tmp_path / "t.zarr", list[BaseException]()
    with cluster(port, address) as scheduler:
        table = dask.table(tmp_path / "grid.graph", np.arange(3600), "all", rows=9, cluster=address)

        def write() -> None:
            try:
                table.write(path)
            except ClusterError as error:
                errors.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        manifest = tmp_path / "t.zarr.partial" / "manifest.jsonl"
        while lines_of(manifest) < 10 and writer.is_alive():
            time.sleep(0.05)
        scheduler.kill()
        writer.join(120)
        assert not writer.is_alive() and len(errors) == 1 and "scheduler" in str(errors[0])
    assert not path.exists()
    done = lines_of(manifest)
    with cluster(port, address):
        assert table.write(path, cluster=address) == 3600 * 3600 and 0 < done < 400
    with Solver(graph, device="cpu") as solver:
        assert np.array_equal(zarr.open_group(path, mode="r")["weight"][:], solver.distances(np.arange(3600)))


def test_a_scheduler_that_is_started_anew(tmp_path: Path) -> None:
    graph, (port, address) = grid(60), free_address()
    graph.save(tmp_path / "grid.graph")
    path, found = tmp_path / "t.zarr", list[int]()
    with cluster(port, address) as scheduler:
        table = dask.table(tmp_path / "grid.graph", np.arange(3600), "all", rows=9, cluster=address)
        writer = threading.Thread(target=lambda: found.append(table.write(path)))
        writer.start()
        manifest = tmp_path / "t.zarr.partial" / "manifest.jsonl"
        while lines_of(manifest) < 10 and writer.is_alive():
            time.sleep(0.02)
        scheduler.kill()
    with cluster(port, address):
        writer.join(120)
    assert found == [3600 * 3600]
    with Solver(graph, device="cpu") as solver:
        assert np.array_equal(zarr.open_group(path, mode="r")["weight"][:], solver.distances(np.arange(3600)))


def test_no_scheduler_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_S", 1)
    with pytest.raises(ClusterError, match=r"no scheduler of dask answers at .tcp://127\.0\.0\.1:9"):
        dask.table(grid(3), [1], cluster="tcp://127.0.0.1:9")
