#!/usr/bin/env python3
"""Tables by tasks of dask beside those of SolverPool, written to Zarr on this machine.

  python scripts/measure_dask.py                                   # all GPUs, or the CPU
  python scripts/measure_dask.py --devices 0 0,1 --pairs 20000 20000
  python scripts/measure_dask.py --devices cpu --workers 1 2 4 --cores 4 --graph road:512 --pairs 40000 20000
  python scripts/measure_dask.py --graph iceland.osm.pbf --places 5000 5000 --parquet --no-tasks

For each choice of devices (or number of workers on the CPU) the table is written by SolverPool and by a local cluster.
The two are compared, bit for bit: parts of up to 2 GiB that are spread over all of it, and some of their rows also with
Dijkstra's algorithm on the CPU. Only one of the two is on the disk at a time. With --places the cluster alone writes a
table between places on streets, and some rows are compared with those of a Router. For each table the script tells
what the tasks have spent their time on, in seconds of all of their threads together: waiting for a device, searching,
and writing; and of the threads that write chunks, compressing them (measured by one chunk), storing them, compression
included, and waiting for the disk. Of several numbers of workers it tells the efficiency: rows a second of a worker,
beside those with the first number. Then the script tells the time of a
task with hardly any work, and the bytes that went over the network of this machine for each byte of results that
are computed lazily, and for each that is written.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

import vkssp
import vkssp.dask
from vkssp import Graph, Router, Solver, SolverPool
from vkssp.algorithms.choice import is_cpu
from vkssp.dask import step_times
from vkssp.gpu.instance import hardware_devices
from vkssp.solver.table_file import COLUMNS

#: Nodes of the graph and number of tasks that tell the time of a task.
TINY, TASKS = "road:16", 1000
#: Bytes of a table that are compared with another one, and rows that are compared with other algorithms.
SAMPLED_BYTES, CHECKED = 2 << 30, 8
#: Seconds after which workers have told their scheduler what they have counted.
HEARTBEAT_S = 2.0


def sent_bytes() -> int:
    """Return the bytes that the loopback device has sent so far; 0 where the system does not tell."""
    try:
        lines = Path("/proc/net/dev").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split(":")[1].split()[8]) for line in lines if line.strip().startswith("lo:"))


def weights(path: Path) -> Any:
    """Return the array of a table in Zarr."""
    import zarr

    return zarr.open_group(path, mode="r")["weight"]


def sample(path: Path) -> dict[int, Any]:
    """Return parts of a table in Zarr, spread over all of it, by their first rows."""
    array = weights(path)
    rows, step = array.shape[0], array.chunks[0]
    parts = max(1, min(-(-rows // step), SAMPLED_BYTES // (4 * step * array.shape[1])))
    firsts = np.unique(np.linspace(0, (rows - 1) // step, parts).astype(int)) * step
    return {int(first): array[first : first + step] for first in firsts}


def is_right(graph: Graph, parts: dict[int, Any], sources: Any, targets: Any) -> bool:
    """Return whether some rows of parts of a table are those that Dijkstra's algorithm finds."""
    with Solver(graph, "dijkstra", "cpu") as solver:
        chosen = list(parts.items())[:: max(1, len(parts) // CHECKED)]
        return all(np.array_equal(solver.distances(int(sources[at]))[targets], rows[0]) for at, rows in chosen)


def size_of(path: Path) -> int:
    """Return the bytes of all files of a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def step_seconds(client: Any) -> dict[str, float]:
    """Return the seconds that the tasks of a cluster have spent on each of their steps so far."""
    time.sleep(HEARTBEAT_S)  # workers tell the scheduler
    known = client.run_on_scheduler(lambda dask_scheduler: dict(dask_scheduler.cumulative_worker_metrics))
    found = dict.fromkeys((step_times.WAIT, step_times.SEARCH, step_times.WRITE, *step_times.OF_CHUNKS), 0.0)
    for key, value in known.items():
        for step in found.keys() & set(key):
            found[step] += value
    return found


def compress_seconds(parts: dict[int, Any], rows: int) -> float:
    """Return about how many seconds one core needs to compress a table, given parts of it: chunks by first rows."""
    import zarr

    chunk = next(iter(parts.values()))
    began = time.perf_counter()
    with zarr.config.set({"array.write_empty_chunks": True}):
        zarr.create_array({}, shape=chunk.shape, chunks=chunk.shape, dtype=chunk.dtype)[:] = chunk
    return (time.perf_counter() - began) * rows / len(chunk)


def pin(allowed: list[int]) -> None:
    """Let all threads of this process, and those that it will start, run on some cores only (Linux)."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), allowed)


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
    expected, found["stored_bytes"] = sample(by_pool), size_of(by_pool)
    found["compress_s"] = compress_seconds(expected, len(sources))
    found["right"] = is_right(graph, expected, sources, targets)
    shutil.rmtree(by_pool)
    began = time.perf_counter()
    with (
        vkssp.dask.local_cluster(selected(devices), workers, cores, memory_limit=0) as cluster,
        vkssp.dask.connected(cluster) as client,
    ):
        found["cluster_s"] = time.perf_counter() - began
        # Each worker has the graph, and has compiled what it needs, before the time begins.
        addresses = list(client.scheduler_info()["workers"])
        if workers and cores:
            available = sorted(os.sched_getaffinity(0))
            for number, address in enumerate(addresses):
                client.run(pin, available[number * cores :][:cores], workers=[address])
        count = 4 * len(addresses)
        first = vkssp.dask.table(path, sources[: 64 * count], targets, "weight", rows=64, cluster=client)
        first.write(folder / "first.zarr")
        began = time.perf_counter()
        table = vkssp.dask.table(path, sources, targets, "weight", cluster=client)
        found["plan_s"], found["block_rows"] = time.perf_counter() - began, table.block_rows
        before, sent = step_seconds(client), sent_bytes()
        began = time.perf_counter()
        table.write(by_dask)
        found["dask_s"] = time.perf_counter() - began
        found["sent_a_byte"] = (sent_bytes() - sent) / (4 * len(sources) * len(targets))
        found["steps_s"] = {step: seconds - before[step] for step, seconds in step_seconds(client).items()}
    made = weights(by_dask)  # whose chunks may have other sizes
    found["same"] = found["right"] and all(
        np.array_equal(made[at : at + len(rows)], rows) for at, rows in expected.items()
    )
    for one in folder.glob("*.zarr"):
        shutil.rmtree(one)
    return found


def measure_places(path: Path, folder: Path, counts: tuple[int, int], devices: str, ending: str) -> dict[str, Any]:
    """Write a table between places by a cluster; return its seconds, and whether some of its rows are a router's."""
    graph, rng, found = Graph.load(path), np.random.default_rng(2), dict[str, Any](devices=devices, places=counts)
    assert graph.lat is not None and graph.lon is not None
    # Of small components, such as those of islands, a trip may not begin or end.
    _, component = connected_components(graph.to_scipy(), connection="strong")
    main = np.flatnonzero(component == np.bincount(component).argmax())
    chosen = (main[rng.integers(0, len(main), count)] for count in counts)
    begin, end = (np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1) for nodes in chosen)
    written = folder / f"places{ending}"
    with (
        vkssp.dask.local_cluster(selected(devices), memory_limit=0) as cluster,
        vkssp.dask.connected(cluster) as client,
    ):
        vkssp.dask.table(path, begin[:64], end, rows=16, cluster=client).write(folder / f"first{ending}")
        began = time.perf_counter()
        table = vkssp.dask.table(path, begin, end, cluster=client)
        found["plan_s"], found["block_rows"] = time.perf_counter() - began, table.block_rows
        began = time.perf_counter()
        found["reached"] = table.write(written)
        found["dask_s"] = time.perf_counter() - began
    found["stored_bytes"], rows = size_of(written), np.linspace(0, counts[0] - 1, CHECKED).astype(int)
    with Router(graph, "dijkstra", "cpu") as router:
        expected = router.table(begin[rows], end).read()[table.metrics[0]]
    if ending == ".zarr":
        import zarr

        made = zarr.open_group(written, mode="r")[COLUMNS[table.metrics[0]]]
        found["same"] = all(
            np.array_equal(made[row], one, equal_nan=True) for row, one in zip(rows, expected, strict=True)
        )
    else:
        from pyarrow import dataset

        whole = dataset.dataset(written)
        found["same"] = whole.count_rows() == counts[0] * counts[1]
        for row, one in zip(rows, expected, strict=True):
            lines = whole.to_table(filter=dataset.field("origin_id") == int(row)).to_pandas()
            values = lines.sort_values("destination_id")[COLUMNS[table.metrics[0]]].to_numpy()
            found["same"] = found["same"] and np.array_equal(values, one, equal_nan=True)
    shutil.rmtree(written)
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
    steps = ", ".join(f"{step.removeprefix('vkssp-')} {seconds:.2f}" for step, seconds in one["steps_s"].items())
    efficiency = f", efficiency {one['efficiency']:.2f}" if "efficiency" in one else ""
    return (
        f"{one['devices']}{workers}, {one['algorithm']}: pool {pool:.2f} s ({rows / pool:,.0f} rows/s), "
        f"dask {dask:.2f} s ({rows / dask:,.0f} rows/s, {100 * dask / pool:.0f}%{efficiency}), "
        f"blocks of {one['block_rows']} rows, "
        f"{one['stored_bytes'] / 1e9:.2f} GB stored, {one['sent_a_byte']:.4f} bytes sent a byte, "
        f"cluster {one['cluster_s']:.1f} s, plan {one['plan_s']:.2f} s, {'same' if one['same'] else 'DIFFERENT'}\n"
        f"  thread seconds: {steps}; compress {one['compress_s']:.2f}"
    )


def told_of_places(one: dict[str, Any]) -> str:
    """Return a line on the table between places."""
    pairs, seconds = one["places"][0] * one["places"][1], one["dask_s"]
    return (
        f"{one['devices']}: {pairs:,} pairs of places in {seconds:.2f} s ({pairs / seconds / 1e6:.2f} million/s), "
        f"{one['reached']:,} have a path, {one['stored_bytes'] / 1e9:.2f} GB stored, "
        f"blocks of {one['block_rows']} rows, plan {one['plan_s']:.2f} s, {'same' if one['same'] else 'DIFFERENT'}"
    )


def main() -> int:
    """Measure, and print a line for each measurement; return 1 if any result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="road:512", help="a graph, or what generates one (default: road:512)")
    parser.add_argument("--pairs", nargs=2, type=int, default=[20_000, 20_000], metavar=("S", "T"))
    parser.add_argument("--devices", nargs="*", help="devices, such as 0 0,1 (default: one GPU, and all; or the CPU)")
    parser.add_argument("--workers", nargs="*", type=int, help="numbers of workers on the CPU")
    parser.add_argument(
        "--cores", type=int, help="pin each worker on the CPU to so many cores, and the pool to those of all"
    )
    parser.add_argument("--places", nargs=2, type=int, metavar=("S", "T"), help="a table between places instead")
    parser.add_argument("--parquet", action="store_true", help="write the table between places as Parquet")
    parser.add_argument("--no-tasks", action="store_true", help="do not measure the time of a task")
    parser.add_argument("--json", help="file for all figures")
    args = parser.parse_args()
    available = sorted(os.sched_getaffinity(0)) if args.cores else []
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
            if args.places:
                one = measure_places(path, folder, tuple(args.places), devices, ".parquet" if args.parquet else ".zarr")
                found.append(one)
                print(told_of_places(one), flush=True)
                continue
            single = 0.0  # seconds of workers with the first number of them
            for workers in args.workers or [None] if is_cpu(devices) else [None]:
                if args.cores and workers:
                    if args.cores * workers > len(available):
                        parser.error(
                            f"--cores: {workers} workers of {args.cores} exceed the {len(available)} there are"
                        )
                    pin(available[: args.cores * workers])  # the pool, in this process
                one = measure_table(path, folder, (ends[0], ends[1]), devices, workers, args.cores)
                if args.cores and workers:
                    pin(available)
                if workers:
                    single = single or one["dask_s"] * workers
                    one["efficiency"] = single / (one["dask_s"] * workers)
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
