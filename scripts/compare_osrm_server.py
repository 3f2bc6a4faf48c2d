"""Compare the rates at which `vkssp serve` and osrm-routed answer the same requests, in turn, on the same machine.

Both serve the same extract: osrm-routed the files that osrm-extract and osrm-contract made of it, `vkssp serve` the
graph that `vkssp import` with turn costs and `vkssp prepare` made of it. The places of requests are near random nodes
of the graph. Before any is timed, requests are asked of both servers: those that one of them does not answer with
status 200 are left out, and durations of routes are compared. The load comes from wrk, or if that is not installed from
a small client in Python, which itself takes more time.

Beside the rates there is the processor time of each server for one request, which other work on the machine changes
less. Its ratio is that of OSRM to vkssp, so that both ratios are above 1 if vkssp is faster.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from vkssp import Graph, read_graph

#: Services and parameters, and the numbers of coordinates and of different requests.
KINDS = {
    "route": ("route", "?overview=false", 2, 1000),
    "route, steps and geometry": ("route", "?overview=full&steps=true", 2, 1000),
    "nearest": ("nearest", "", 1, 1000),
    "table, 25 places": ("table", "", 25, 100),
    "table, 100 places": ("table", "", 100, 100),
}
#: Requests of each kind that are asked of both servers first; seconds in which a server has to start.
CHECKED, START_S = 100, 300.0
#: Degrees by which places lie beside the nodes of the graph.
BESIDE = 2e-4
_LUA = """
local paths = {}
for line in io.lines(os.getenv("REQUESTS")) do paths[#paths + 1] = line end
local i = 0
request = function() i = i % #paths + 1; return wrk.format("GET", paths[i]) end
"""


def requests_of(graph: Graph, service: str, parameters: str, places: int, count: int, seed: int) -> list[str]:
    """Return random requests between places near nodes of the graph."""
    assert graph.lat is not None and graph.lon is not None
    rng = np.random.default_rng(seed)
    nodes = rng.integers(graph.num_nodes, size=(count, places))
    lat, lon = (degrees[nodes] + BESIDE * rng.normal(size=nodes.shape) for degrees in (graph.lat, graph.lon))
    rows = (";".join(f"{x:.6f},{y:.6f}" for y, x in zip(*row, strict=True)) for row in zip(lat, lon, strict=True))
    return [f"/{service}/v1/driving/{row}{parameters}" for row in rows]


@contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """Run a server, which is ready once it answers; yield its process id."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START_S
        while time.monotonic() < end and process.poll() is None:
            try:
                ask(port, "/nearest/v1/driving/0,0")
                break
            except OSError:
                time.sleep(0.2)
        else:
            raise SystemExit(f"{command[0]} does not answer at port {port}")
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def ask(port: int, path: str) -> tuple[int, Any]:
    """Return status and answer of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def answerable(paths: list[str], ports: list[int]) -> tuple[list[str], float | None]:
    """Return the requests that both servers answer, and the share of durations that differ by a second and 1 %."""
    kept, differ, compared = [], 0, 0
    for number, path in enumerate(paths):
        if number >= CHECKED and "table" not in path:
            break
        answers = [ask(port, path) for port in ports]
        if {status for status, _ in answers} != {200}:
            continue
        kept.append(path)
        if "routes" in answers[0][1]:
            one, two = (answer["routes"][0]["duration"] for _, answer in answers)
            compared += 1
            differ += abs(one - two) > max(1.0, 0.01 * max(one, two))
    if not kept:
        raise SystemExit(f"no request such as {paths[0]} is answered by both servers")
    return kept, differ / compared if compared else None


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of all processes that it has started, which still run."""
    ticks, parents = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(folder.name)], ticks[int(folder.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    found, more = set[int](), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in found} - found
    return sum(ticks.get(one, 0) for one in found) / os.sysconf("SC_CLK_TCK")


def rate(port: int, paths: list[str], connections: int, seconds: float) -> float:
    """Return the answers a second."""
    if shutil.which("wrk"):
        with tempfile.TemporaryDirectory() as folder:
            script, file = Path(folder, "load.lua"), Path(folder, "paths.txt")
            script.write_text(_LUA)
            file.write_text("\n".join(paths))
            told = subprocess.run(
                ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", str(script), f"http://127.0.0.1:{port}"],
                env={**os.environ, "REQUESTS": str(file)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        if "Non-2xx" in told:  # that a connection ends is no error: osrm-routed ends each after 512 answers
            raise SystemExit(f"requests failed under load:\n{told}")
        return float(told.partition("Requests/sec:")[2].split()[0])
    return asyncio.run(_asked(port, paths, connections, seconds))


async def _asked(port: int, paths: list[str], connections: int, seconds: float) -> float:
    end, count = time.perf_counter() + seconds, 0

    async def client(number: int) -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            if reader.at_eof():  # osrm-routed ends connections after 512 answers
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {paths[number % len(paths)]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b" 200 " not in head.partition(b"\r\n")[0]:
                raise SystemExit(f"a request failed under load: {paths[number % len(paths)]}")
            await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
            count, number = count + 1, number + 1
        writer.close()

    await asyncio.gather(*(client(number * len(paths) // connections) for number in range(connections)))
    return count / seconds


def free_port() -> int:
    """Return a port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def main() -> None:
    """Compare, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="prepared graph with turn costs")
    parser.add_argument("osrm", help="files of OSRM: the path before their endings, such as iceland.osrm")
    parser.add_argument("--osrm-routed", default="osrm-routed", help="the executable")
    parser.add_argument("--algorithm", default="CH", choices=("CH", "MLD"), help="algorithm of OSRM")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="processes, and threads of OSRM")
    parser.add_argument("--connections", type=int, default=8, help="connections at a time")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind; the servers take turns")
    parser.add_argument("--seconds", type=int, default=4, help="seconds of a round")
    parser.add_argument(
        "--kinds", nargs="*", choices=tuple(KINDS), default=tuple(KINDS), help="requests; all by default"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random places")
    args = parser.parse_args()
    graph, own, other = read_graph(args.graph), free_port(), free_port()
    count, turns = str(args.processes), range(args.rounds)
    ours = [sys.executable, "-m", "vkssp", "serve", args.graph, "--device", "cpu", "--processes", count]
    theirs = [
        args.osrm_routed,
        args.osrm,
        "-a",
        args.algorithm,
        "-t",
        count,
        "--max-table-size",
        "200",
        "-p",
        str(other),
    ]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    print(f"{platform.processor() or platform.machine()}, {args.processes} cores, commit {commit.strip()}, {graph}")
    print("\n| requests a second | vkssp | OSRM | ratio | ms of a processor | ratio | durations that differ |")
    print("|---|---|---|---|---|---|---|")
    with running([*ours, "--port", str(own)], own) as our_pid, running(theirs, other) as their_pid:
        for name in args.kinds:
            service, parameters, places, number = KINDS[name]
            paths = requests_of(graph, service, parameters, places, number, args.seed)
            paths, differ = answerable(paths, [own, other])
            rounds = [
                [measured(port, pid, paths, args) for port, pid in ((own, our_pid), (other, their_pid))] for _ in turns
            ]
            rates, times = np.array(rounds).transpose(2, 0, 1)
            cells = [f"{median(side):,.0f} ({side.min():,.0f} to {side.max():,.0f})" for side in rates.T]
            taken = " and ".join(f"{1e3 * median(side):.3g}" for side in times.T)
            told = "" if differ is None else f"{100 * differ:.0f} %"
            print(
                f"| {name} | {cells[0]} | {cells[1]} | {median(rates[:, 0] / rates[:, 1]):.2f} | {taken} | "
                f"{median(times[:, 1] / times[:, 0]):.2f} | {told} |",
                flush=True,
            )


def measured(port: int, pid: int, paths: list[str], args: argparse.Namespace) -> tuple[float, float]:
    """Return the answers a second, and the seconds of processor time for each."""
    began, before = time.perf_counter(), processor_seconds(pid)
    found = rate(port, paths, args.connections, args.seconds)
    count = found * (time.perf_counter() - began)
    return found, (processor_seconds(pid) - before) / count


if __name__ == "__main__":
    main()
