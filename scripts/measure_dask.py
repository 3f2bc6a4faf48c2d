#!/usr/bin/env python3
"""Tables by tasks of dask beside those of SolverPool, written to Zarr on this machine.

  python scripts/measure_dask.py                                   # all GPUs, or the CPU
  python scripts/measure_dask.py --devices 0 0,1 --pairs 20000 20000
  python scripts/measure_dask.py --devices cpu --workers 1 2 4 --cores 2 --graph road:128 --pairs 2000 2000

For each choice of devices (or number of workers on the CPU) the table is written by SolverPool and by a local cluster,
and the two are compared, bit for bit. Then the script tells the time of a task with hardly any work, and the bytes that
went over the network of this machine for each byte of results that are computed lazily, and for each that is written.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import vkssp
import vkssp.dask
from vkssp import Graph, SolverPool
from vkssp.algorithms.choice import is_cpu
from vkssp.cores import limit_cores, num_cores
from vkssp.gpu.instance import hardware_devices

#: Nodes of the graph and number of tasks that tell the time of a task.
TINY, TASKS = "road:16", 1000


def sent_bytes() -> int:
    """Return the bytes that the loopback device has sent so far; 0 where the system does not tell."""
    try:
        lines = Path("/proc/net/dev").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split(":")[1].split()[8]) for line in lines if line.strip().startswith("lo:"))


def same(one: Path, other: Path) -> bool:
    """Return whether two tables are the same, a part at a time."""
    import zarr

    left, right = (zarr.open_group(path, mode="r")["weight"] for path in (one, other))
    if left.shape != right.shape:
        return False
    step = max(1, (256 << 20) // (4 * left.shape[1]))
    return all(np.array_equal(left[at : at + step], right[at : at + step]) for at in range(0, left.shape[0], step))


def selected(text: str) -> Any:
    """Return devices as `SolverPool` takes them."""
    return "cpu" if is_cpu(text) else [int(number) for number in text.split(",")]


def measure_table(
    path: Path, folder: Path, ends: tuple[Any, Any], devices: str, workers: int | None, cores: int | None
) -> dict[str, Any]:
    """Write one table by a pool and by a cluster; return the seconds of both."""
    sources, targets = ends
    graph, found = Graph.load(path), dict[str, Any](devices=devices, workers=workers)
    by_pool, by_dask = folder / "pool.zarr", folder / "dask.zarr"
    with SolverPool(graph, devices=selected(devices)) as pool:
        found["algorithm"] = pool.algorithm
        pool.table(sources[:64], targets)  # compiles and allocates
        began = time.perf_counter()
        pool.write_table(by_pool, sources, targets)
        found["pool_s"] = time.perf_counter() - began
    began = time.perf_counter()
    with (
        vkssp.dask.local_cluster(selected(devices), workers, cores, memory_limit=0) as cluster,
        vkssp.dask.connected(cluster) as client,
    ):
        found["cluster_s"] = time.perf_counter() - began
        # Each worker has the graph, and has compiled what it needs, before the time begins.
        count = 4 * len(client.scheduler_info()["workers"])
        first = vkssp.dask.table(path, sources[: 64 * count], targets, "weight", rows=64, cluster=client)
        first.write(folder / "first.zarr")
        began = time.perf_counter()
        table = vkssp.dask.table(path, sources, targets, "weight", cluster=client)
        found["plan_s"], found["block_rows"] = time.perf_counter() - began, table.block_rows
        began, sent = time.perf_counter(), sent_bytes()
        table.write(by_dask)
        found["dask_s"] = time.perf_counter() - began
        found["sent_a_byte"] = (sent_bytes() - sent) / (4 * len(sources) * len(targets))
    found["same"] = same(by_pool, by_dask)
    for one in folder.glob("*.zarr"):
        shutil.rmtree(one)
    return found


def measure_tasks(folder: Path) -> dict[str, Any]:
    """Return the milliseconds of a task with hardly any work, and the bytes sent for each byte of a lazy result."""
    path = folder / "tiny.graph"
    graph = vkssp.read_graph(TINY)
    graph.save(path)
    with vkssp.dask.local_cluster("cpu", 1) as cluster, vkssp.dask.connected(cluster) as client:
        nodes = np.arange(TASKS) % graph.num_nodes
        table = vkssp.dask.table(path, nodes, [0, 1, 2], "weight", rows=1, cluster=client)
        client.compute(table.to_array()).result()

        def timed(work: Callable[[], object]) -> tuple[float, float]:
            """Return the milliseconds of a task, and those of processors in all processes of the cluster."""
            spent = time.process_time() + sum(client.run(time.process_time).values())
            began = time.perf_counter()
            work()
            ended = time.perf_counter()
            spent = time.process_time() + sum(client.run(time.process_time).values()) - spent
            return 1e3 * (ended - began) / TASKS, 1e3 * spent / TASKS

        lazy = timed(lambda: client.compute(table.to_array()).result())
        written = timed(lambda: table.write(folder / "tiny.zarr"))
        large = vkssp.dask.distances(path, np.arange(20 * TASKS) % graph.num_nodes, cluster=client)
        sent = sent_bytes()
        client.compute(large).result()
        sent = sent_bytes() - sent
    return {
        "task_ms": lazy[0],
        "task_processor_ms": lazy[1],
        "written_task_ms": written[0],
        "written_task_processor_ms": written[1],
        "lazy_sent_a_byte": sent / large.nbytes,
    }


def told(one: dict[str, Any], rows: int) -> str:
    """Return a line on the table of some devices."""
    workers = f" x {one['workers']} workers" if one["workers"] else ""
    pool, dask = one["pool_s"], one["dask_s"]
    return (
        f"{one['devices']}{workers}, {one['algorithm']}: pool {pool:.2f} s ({rows / pool:,.0f} rows/s), "
        f"dask {dask:.2f} s ({rows / dask:,.0f} rows/s, {100 * dask / pool:.0f}%), blocks of {one['block_rows']} rows, "
        f"{one['sent_a_byte']:.4f} bytes sent a byte, cluster {one['cluster_s']:.1f} s, plan {one['plan_s']:.2f} s, "
        f"{'same' if one['same'] else 'DIFFERENT'}"
    )


def main() -> int:
    """Measure, and print a line for each measurement; return 1 if any result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="road:512", help="a graph, or what generates one (default: road:512)")
    parser.add_argument("--pairs", nargs=2, type=int, default=[20_000, 20_000], metavar=("S", "T"))
    parser.add_argument("--devices", nargs="*", help="devices, such as 0 0,1 (default: one GPU, and all; or the CPU)")
    parser.add_argument("--workers", nargs="*", type=int, help="numbers of workers on the CPU")
    parser.add_argument("--cores", type=int, help="cores of each worker on the CPU, and of the pool for each of them")
    parser.add_argument("--no-tasks", action="store_true", help="do not measure the time of a task")
    parser.add_argument("--json", help="file for all figures")
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="measure-dask-") as name:
        folder = Path(name)
        graph = vkssp.read_graph(args.graph)
        if graph.hierarchy is None:
            began = time.perf_counter()
            graph = vkssp.prepare(graph)
            print(f"prepared {graph!r} in {time.perf_counter() - began:.1f} s", flush=True)
        path = folder / "measured.graph"
        graph.save(path)
        rng = np.random.default_rng(1)
        ends = tuple(rng.integers(0, graph.num_nodes, count) for count in args.pairs)
        numbers = [str(info.index) for info in hardware_devices()]
        choices = args.devices or list(dict.fromkeys([numbers[0], ",".join(numbers)] if numbers else ["cpu"]))
        for devices in choices:
            for workers in args.workers or [None] if is_cpu(devices) else [None]:
                if args.cores and workers:
                    limit_cores(min(args.cores * workers, num_cores()))  # of the pool, in this process
                one = measure_table(path, folder, (ends[0], ends[1]), devices, workers, args.cores)
                found.append(one)
                print(told(one, args.pairs[0]), flush=True)
        if not args.no_tasks:
            tasks = measure_tasks(folder)
            found.append(tasks)
            print(
                f"a task: {tasks['task_ms']:.2f} ms lazy ({tasks['task_processor_ms']:.2f} ms of processors), "
                f"{tasks['written_task_ms']:.2f} ms written ({tasks['written_task_processor_ms']:.2f} ms); "
                f"{tasks['lazy_sent_a_byte']:.2f} bytes sent for each byte of a lazy result"
            )
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0 if all(one.get("same", True) for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
