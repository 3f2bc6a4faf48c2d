"""Measurement of experiments; every distance is compared with the compiled Dijkstra's before a time counts."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import vkssp
from vkssp.algorithm import CPU, VULKAN
from vkssp.algorithms.choice import is_cpu, places_of
from vkssp.bench.experiment import Experiment, Run
from vkssp.bench.peers import PEERS
from vkssp.bench.timing import TimedPeer, TimedSolver, fill
from vkssp.cpu.device import CpuDevice, cpu_model
from vkssp.errors import DeviceError, QueryError, VksspError
from vkssp.gpu.device import Device
from vkssp.gpu.instance import list_devices
from vkssp.graph import Graph
from vkssp.graph.distance_type import Distances, unreachable_in
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.reading import read_graph
from vkssp.solver.solver import Solver
from vkssp.terminal import printable, progress_bar
from vkssp.tunables import changed

#: Version of the layout of result files; a change that affects readers increments it.
FORMAT = 1
# Number of draws per wanted source before a graph is given up.
_PATIENCE = 200


def measure(
    experiment: Experiment,
    device: Device | CpuDevice | int | str | None = None,
    *,
    progress: bool = False,
    each: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run an experiment and return its result, in the form that is written to files.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    device : Device, int or str, optional
        The device; see `vkssp.Solver`.
    progress : bool
        Whether to show a bar on the terminal.
    each : callable, optional
        Called with the result so far after each graph's reference and after each run, so that an interrupt does not
        lose hours of work.

    Returns
    -------
    dict
        Device, its tuned values, host, version, commit, experiment; for each graph its size, digest, sources and
        Dijkstra's times; for each run on it, and then for each peer, the place where it ran, the times of every search,
        counters, and an error if it could not be run. All times are of verified searches.

    Raises
    ------
    QueryError
        If numba, which compiles the reference, is not installed, or a graph has no sources that reach far.
    VksspError
        If a graph cannot be read, or the device cannot be opened.
    """
    result: dict[str, Any] = {}
    rows = {
        text: len(experiment.runs) + len(experiment.more.get(text, ())) + len(experiment.peers)
        for text in experiment.graphs
    }
    total = sum(1 + rows[text] for text in experiment.graphs)
    with progress_bar(shown=None if progress else False, total=total, unit="run", delay=0.0) as bar:
        for result in steps(experiment, device):
            graph = result["graphs"][-1]
            bar.set_description(printable(f"{graph['graph']} {len(graph['runs'])}/{rows[graph['graph']]}"))
            bar.update()
            if each is not None:
                each(result)
    return result


def steps(experiment: Experiment, device: Device | CpuDevice | int | str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the result of an experiment as it grows: after each graph's reference, and after each run."""
    opened = _opened(experiment, device)
    try:
        result = _head(experiment, opened)
        for text in experiment.graphs:
            graph = read_graph(text, **experiment.reading).plain()  # peers take whole weights
            # Kept, so that the runs share the results of sorting.
            renumbered = RenumberedGraph(graph, keep=True)
            expected, reference_ms = _references(renumbered, text, experiment)
            entry: dict[str, Any] = {
                "graph": text,
                "nodes": graph.num_nodes,
                "arcs": graph.num_arcs,
                "sha256": digest(graph),
                "sources": list(expected),
                "dijkstra_ms": reference_ms,
                "runs": [],
            }
            result["graphs"].append(entry)
            yield result
            entry["dijkstra_bytes"] = _memory(renumbered)
            for run in (*experiment.runs, *experiment.more.get(text, ())):
                entry["runs"].append(_measure_run(renumbered, run, expected, opened, experiment))
                yield result
            for name in experiment.peers:
                entry["runs"].append(_measure_peer(graph, name, expected, experiment))
                yield result
    finally:
        if opened is not device:
            opened.close()


def _opened(experiment: Experiment, device: Device | CpuDevice | int | str | None) -> Device | CpuDevice:
    """Return the device of an experiment; the CPU if it is chosen, or all there is, or if no run needs another."""
    if isinstance(device, Device | CpuDevice):
        return device
    runs = (*experiment.runs, *(run for more in experiment.more.values() for run in more))
    wanted = Device.selected() if device is None else device
    is_needed = device is not None or any(run.runs_on == VULKAN for run in runs)
    runs_there = any(run.runs_on == CPU or CPU in places_of(run.algorithm) for run in runs)
    if is_cpu(wanted) or not is_needed or (not wanted and runs_there and not _has_vulkan()):
        return CpuDevice()
    return Device(device)


def _has_vulkan() -> bool:
    """Return whether there is a Vulkan device; one that cannot be opened is an error, no reason to take the CPU."""
    try:
        return bool(list_devices())
    except DeviceError:  # no loader, or no driver
        return False


def _memory(graph: RenumberedGraph) -> int:
    """Return the bytes that Dijkstra's algorithm holds for a graph."""
    with Solver(graph, "dijkstra") as solver:
        return solver.memory_bytes


def digest(graph: Graph) -> str:
    """Return a hexadecimal SHA-256 of a graph's rows, heads and weights."""
    sha = hashlib.sha256()
    for array in (graph.first_out, graph.head, graph.weight):
        sha.update(np.ascontiguousarray(array, "<u4").data)
    return sha.hexdigest()


def commit() -> str:
    """Return the commit of the checkout that holds this package, marked if files differ; empty without a checkout."""
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return ""
    return done.stdout.strip()


def where_and_when(device: Device | CpuDevice) -> dict[str, Any]:
    """Return the common entries of all results: version, commit, date and time, device, its tuned values, and host."""
    info = device.info
    tuned = {} if isinstance(device, CpuDevice) else changed(device.tuned, is_software=info.kind == "cpu")
    return {
        "vkssp": vkssp.__version__,
        "commit": commit(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": {key: getattr(info, key) for key in ("name", "kind", "driver", "api_version")}
        | {"memory": getattr(info, "memory", None)},
        "tuned": tuned,  # constants of vkssp.tunables that are not at their defaults
        "host": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
    }


def _head(experiment: Experiment, device: Device | CpuDevice) -> dict[str, Any]:
    from vkssp.jit import require_numba

    require_numba()  # fails before large graphs are read
    return {
        "format": FORMAT,
        **where_and_when(device),
        "experiment": {
            "sources": experiment.sources,
            "seed": experiment.seed,
            "repetitions": experiment.repetitions,
            "warm_up_s": experiment.warm_up_s,
            "limit_s": experiment.limit_s,
            "reading": {name: str(value) for name, value in experiment.reading.items()},
        },
        "graphs": [],
    }


def _references(graph: RenumberedGraph, text: str, experiment: Experiment) -> tuple[dict[int, Distances], list[float]]:
    """Return the distances from random sources that reach far, and Dijkstra's milliseconds for each source."""
    expected: dict[int, Distances] = {}
    times: list[float] = []
    runs = (*experiment.runs, *experiment.more.get(text, ()))
    bits = min(run.distance_bits for run in runs)
    for source, found, milliseconds in far_sources(graph, experiment.sources, experiment.seed, f" of {text}", bits):
        expected[source] = found
        times.append(milliseconds)
        if sum(times) > 1e3 * experiment.limit_s:
            break
    return expected, times


def far_sources(
    graph: Graph | RenumberedGraph, count: int, seed: int, where: str = "", distance_bits: int = 32
) -> Iterator[tuple[int, Distances, float]]:
    """Yield different random nodes that reach more than a tenth of all nodes.

    Parameters
    ----------
    graph : Graph or RenumberedGraph
        The graph.
    count : int
        Number of nodes to yield; if the graph has fewer nodes, their number.
    seed : int
        Seed of the random choice.
    where : str
        Words about the graph for the error, such as " of rmat:20".
    distance_bits : int
        Bits of the distances.

    Yields
    ------
    tuple of int, numpy.ndarray and float
        The node, the distances from it, and the milliseconds that Dijkstra's algorithm took for them.

    Raises
    ------
    QueryError
        If too few such nodes are found, or numba is not installed.
    """
    rng, seen = np.random.default_rng(seed), set()
    with Solver(graph, "dijkstra", distance_bits=distance_bits) as solver:
        num_nodes = solver.graph.num_nodes
        for _ in range(_PATIENCE * count if num_nodes else 0):
            source = int(rng.integers(num_nodes))
            if source in seen:
                continue
            found = solver.distances(source)
            if np.count_nonzero(found != solver.unreachable) > num_nodes / 10:
                assert solver.last is not None
                seen.add(source)
                yield source, found, solver.last.device_ms
                if len(seen) == min(count, num_nodes):
                    return
    raise QueryError(f"hardly any node{where} reaches a tenth of the others; choose a graph that is connected")


def _row(name: str, parameters: Mapping[str, int | str], runs_on: str, version: str | None) -> dict[str, Any]:
    """Return a row without times."""
    return {
        "algorithm": name,
        "parameters": dict(parameters),
        "runs_on": runs_on,  # "vulkan", "cpu" or, for another library, "peer"
        "version": version,
        "sources": [],
        "verified": True,  # for all sources listed; a wrong distance is an error and has no time
        "device_ms": [],
        "call_ms": [],
        "download_ms": [],
        "counters": {},
        "memory_bytes": None,  # unknown for another library
        "chosen": name,  # the algorithm that auto chose
        "core_nodes": None,  # if the graph is reduced
        "error": None,
    }


def _measure_run(
    graph: RenumberedGraph, run: Run, expected: dict[int, Distances], device: Device | CpuDevice, experiment: Experiment
) -> dict[str, Any]:
    row = _row(run.algorithm, run.settings, run.runs_on, vkssp.__version__)
    try:
        with run.solver(graph, device) as solver:
            slow = fill(row, TimedSolver(solver), expected, experiment)
            row["setup_ms"], row["upload_ms"] = solver.timings.setup_ms, solver.timings.upload_ms
            row["chosen"] = solver.algorithm
            row["runs_on"] = VULKAN if isinstance(solver.device, Device) else CPU
            row["memory_bytes"], row["core_nodes"] = solver.memory_bytes, solver.core_nodes
            row["counters"] = {} if solver.last is None else solver.last.counters
        if not slow:
            with run.solver(graph, device, counters="totals") as solver:
                row["counters"] = solver.search([(row["sources"][0], 0)]).counters
    except VksspError as error:  # for example, the graph is too large; the other runs go on
        row["error"] = str(error)
    return row


def _measure_peer(graph: Graph, name: str, expected: dict[int, Distances], experiment: Experiment) -> dict[str, Any]:
    kind = PEERS[name]
    row = _row(name, {}, "peer", None)
    try:
        module = kind.load()
        row["version"] = kind.version()
        farthest = max(int(found[found != unreachable_in(found)].max()) for found in expected.values())
        if farthest > kind.LARGEST:
            raise QueryError(f"the largest distance is {farthest}, and it holds {kind.LARGEST} at most")
        began = time.perf_counter()
        peer = kind(module, graph, experiment.limit_s)
        row["setup_ms"] = 1e3 * (time.perf_counter() - began - peer.checked_s)
        row["upload_ms"] = 0.0
        fill(row, TimedPeer(peer), expected, experiment)
    except VksspError as error:
        row["error"] = str(error)
    except Exception as error:  # another library may raise anything; the other runs go on
        row["error"] = f"{type(error).__name__}: {error}"
    return row
