"""Load a server for minutes with valid and invalid requests, changes of speeds and deaths of processes; check answers.

Usage: load_server.py GRAPH [--minutes 5] [--processes 2] [--connections 8] [--rate 150] [--kill-every SECONDS]

The server has two sets of speeds in turn. Each route and table has to be the one that `Router` finds under one of the
two sets, as a whole, and under the right one if speeds did not change while it was asked; the durations of steps and
legs have to sum up. A request may fail only if a process was killed, and succeeds when it is made again. Each minute,
one line has the memory and the open files of all processes. At the end, SIGTERM comes while requests are answered, all
of which have to be complete.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_server import Box, asked, message

from vkssp import Graph, Router, read_graph
from vkssp.server.dataset import SNAPPING

TOKEN = "secret"
#: Numbers of routes and tables whose answers are known, of places of a table, and of places of the longest route.
ROUTES, TABLES, OF_TABLE, OF_ROUTE = 150, 30, 6, 4
#: Share of the ways whose speeds change, and the speeds of both sets in km/h.
SHARE, SPEEDS = 0.3, (40.0, 9.0)
#: Seconds between changes, most seconds after a kill in which connections may break, seconds of an answer.
CHANGE_S, LOST_S, ANSWER_S = 2.0, 5.0, 60.0
#: Seconds after which a connection is not used again: the server ends connections without requests after 5.
IDLE_S = 2.0
#: Most failures that are printed.
SHOWN = 20
#: Requests without a known answer; all have status 200, or 400 if there is no route.
OTHERS = (
    "/nearest/v1/car/{a}?number=5",
    "/match/v1/car/{a};{b}?steps=true&annotations=true",
    "/trip/v1/car/{a};{b};{c};{d}?steps=true",
    "/route/v1/car/{a};{b}?alternatives=2&steps=true&geometries=polyline6&overview=full",
    "/isochrone/v1/car/{a}?contours_minutes=1,3",
    "/tile/v1/car/tile({tile}).mvt",
    "/table/v1/car/{a};{b};{c}?annotations=duration,distance&fallback_speed=10",
    "/metrics",
)


@dataclass(frozen=True)
class Known:
    """Request whose answer is known: of each set of speeds, the durations of legs, or of the cells of a table."""

    url: str
    expected: tuple[Any, Any]


@dataclass
class State:
    """What all threads share."""

    port: int
    deadline: float
    set_number: int | None = None  # the set of speeds that all processes have; None while they change
    version: int = 0
    kills: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str) -> None:
        """Count something."""
        with self.lock:
            self.counts[name] += 1

    def fail(self, text: str) -> None:
        """Note a failure."""
        with self.lock:
            self.failures.append(text)
            self.counts["failures"] += 1
            if len(self.failures) <= SHOWN:
                print(text[:2000], file=sys.stderr, flush=True)

    def setting(self) -> tuple[int, int | None]:
        """Return the number of changes so far, and the set of speeds that all processes have."""
        with self.lock:
            return self.version, self.set_number


def text_of(places: Any) -> str:
    return ";".join(f"{lon:.6f},{lat:.6f}" for lat, lon in places)


def known_answers(graph: Graph, rng: random.Random) -> tuple[list[Known], list[dict[str, float]]]:
    """Return requests with known answers, and the two sets of speeds by OSM ways."""
    assert graph.streets is not None and graph.lat is not None and graph.lon is not None
    lat, lon = graph.lat, graph.lon
    ways = sorted({int(way) for way in graph.streets.way if way > 0})
    changed = rng.sample(ways, max(1, int(SHARE * len(ways))))
    sets = [{str(way): speed for way in changed} for speed in SPEEDS]

    def places(count: int) -> list[tuple[float, float]]:
        nodes = [rng.randrange(graph.num_nodes) for _ in range(count)]
        return [(round(float(lat[node]), 6), round(float(lon[node]), 6)) for node in nodes]

    routes = [places(rng.randrange(2, OF_ROUTE + 1)) for _ in range(ROUTES)]
    tables = [places(OF_TABLE) for _ in range(TABLES)]
    found: list[list[Any]] = []
    with Router(graph, device="cpu", **SNAPPING) as router:
        for speeds in sets:
            router.set_speeds({int(way): speed for way, speed in speeds.items()})
            answers: list[Any] = []
            for begin, *via, end in routes:
                try:
                    answers.append([leg.duration_s for leg in router.route(begin, end, via=via).legs])
                except Exception:  # there is no route, which is no matter here
                    answers.append(None)
            answers += [next(iter(router.table(one, one, ["duration"]).read().values())) for one in tables]
            found.append(answers)
    urls = [f"/route/v1/car/{text_of(one)}?steps=true&annotations=duration" for one in routes]
    urls += [f"/table/v1/car/{text_of(one)}" for one in tables]
    known = [Known(url, both) for url, both in zip(urls, zip(*found, strict=True), strict=True) if both[0] is not None]
    return known, sets


def same(got: Any, expected: Any) -> bool:
    """Return whether durations are equal when rounded to tenths."""
    one, two = np.array(got, float), np.array(expected, float)
    return one.shape == two.shape and bool(np.allclose(one, two, rtol=0, atol=0.051, equal_nan=True))


def problem(known: Known, answer: dict[str, Any], number: int | None) -> str:
    """Return what is wrong with an answer, empty for nothing; `number` is that of the set of speeds, if it is sure."""
    if "routes" in answer:
        route = answer["routes"][0]
        got = [leg["duration"] for leg in route["legs"]]
        if abs(sum(got) - route["duration"]) > 0.051:
            return f"legs take {sum(got)} s, the route {route['duration']} s"
        for leg in route["legs"]:
            steps = sum(step["duration"] for step in leg["steps"])
            if abs(steps - leg["duration"]) > 0.051 * (len(leg["steps"]) + 1):
                return f"steps take {steps} s, the leg {leg['duration']} s"
            if sum(leg["annotation"]["duration"]) > leg["duration"] + 0.051 * (len(leg["annotation"]["duration"]) + 1):
                return "the pieces take longer than the leg"
    else:
        got = answer["durations"]
    fits = [same(got, expected) for expected in known.expected]
    if not any(fits):
        return f"{got} is neither {known.expected[0]} nor {known.expected[1]}"
    return "" if number is None or fits[number] else f"speeds of set {1 - number}, not {number}"


class Client(threading.Thread):
    """Client with a connection that it keeps; it asks until the deadline."""

    def __init__(self, state: State, known: list[Known], box: Box, pause: float, seed: int) -> None:
        super().__init__()
        self.state, self._known, self._box, self._pause = state, known, box, pause
        self._rng = random.Random(seed)
        self._connection: http.client.HTTPConnection | None = None
        self._used = 0.0

    def ask(self, url: str) -> tuple[int, bytes]:
        """Return status and body of an answer, over a connection that may be older."""
        if self._connection is not None and time.monotonic() - self._used > IDLE_S:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.state.port, timeout=ANSWER_S)
        try:
            self._connection.request("GET", url)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise
        finally:
            self._used = time.monotonic()

    def again(self, url: str) -> tuple[int, bytes] | None:
        """Return an answer; ask again while a process that was killed may be to blame."""
        while True:
            try:
                return self.ask(url)
            except (OSError, http.client.HTTPException) as error:
                if not any(0 <= time.monotonic() - kill < LOST_S for kill in self.state.kills):
                    self.state.fail(f"{url}: {error!r}")
                    return None
                self.state.count("lost")
                time.sleep(0.01)

    def run(self) -> None:
        """Ask until the deadline."""
        while time.monotonic() < self.state.deadline:
            began = time.monotonic()
            kind = self._rng.random()
            if kind < 0.55:
                self._ask_known()
            elif kind < 0.8:
                self._ask_other()
            else:
                self._ask_hostile()
            took = time.monotonic() - began
            self.state.slowest = max(self.state.slowest, took)
            time.sleep(max(0.0, self._pause * self._rng.uniform(0.5, 1.5) - took))
        if self._connection is not None:
            self._connection.close()

    def _ask_known(self) -> None:
        known = self._rng.choice(self._known)
        before = self.state.setting()
        got = self.again(known.url)
        after = self.state.setting()
        if got is None:
            return
        status, body = got
        self.state.count(str(status))
        if status != 200:
            self.state.fail(f"{known.url}: {status} {body[:200]!r}")
            return
        self.state.count("checked")
        number = before[1] if before == after else None
        self.state.counts["checked, set known"] += number is not None
        if wrong := problem(known, json.loads(body), number):
            self.state.fail(f"{known.url}: {wrong}")

    def _ask_other(self) -> None:
        places = [f"{lon:.6f},{lat:.6f}" for lat, lon in (self._box.place(self._rng) for _ in range(4))]
        zoom = self._rng.randrange(12, 18)
        lat, lon = self._box.place(self._rng)
        x = int((lon + 180) / 360 * 2**zoom)
        y = int((1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2 * 2**zoom)
        names = dict(zip("abcd", places, strict=True))
        url = self._rng.choice(OTHERS).format(**names, tile=f"{x},{y},{zoom}")
        if (got := self.again(url)) is None:
            return
        self.state.count(str(got[0]))
        if got[0] not in (200, 400):
            self.state.fail(f"{url}: {got[0]} {got[1][:200]!r}")

    def _ask_hostile(self) -> None:
        data, has_answer = message(self._rng, self._box)
        try:
            answer = asked(self.state.port, data, is_whole=has_answer)
        except OSError:
            answer = b""
        status = answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/1.1 ") else "none"
        self.state.count(f"hostile {status}")
        killed = any(0 <= time.monotonic() - kill < LOST_S for kill in self.state.kills)
        if status == "500" or (has_answer and status == "none" and not killed):
            self.state.fail(f"{data[:600]!r}: {answer[:300]!r}")


def change_speeds(state: State, sets: list[dict[str, float]], number: int) -> None:
    """Set one of the two sets of speeds."""
    with state.lock:
        state.set_number = None
    body = json.dumps({"profile": "car", "speeds": sets[number]})
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=ANSWER_S)
        try:
            connection.request("POST", "/speeds", body, headers)
            answer = connection.getresponse()
            status, told = answer.status, answer.read()
            break
        except (OSError, http.client.HTTPException) as error:
            if not any(0 <= time.monotonic() - kill < LOST_S for kill in state.kills):
                state.fail(f"/speeds: {error!r}")
                return
            state.count("lost")
            time.sleep(0.01)
        finally:
            connection.close()
    if status != 200:
        state.fail(f"/speeds: {status} {told[:200]!r}")
        return
    with state.lock:
        state.version += 1
        state.set_number = number
        state.counts["changes"] += 1


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def kibibytes(process: int) -> tuple[int, int]:
    """Return the memory of a process: its share of what it has (PSS), and what no other has (USS)."""
    told = Path(f"/proc/{process}/smaps_rollup").read_text()
    sizes = {name: int(size) for name, size in re.findall(r"(\w+):\s+(\d+) kB", told)}
    return sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def line(server: int, minute: float, state: State) -> tuple[int, int]:
    """Print a line about all processes; return their memory in KiB, and the number of their open files."""
    total, files, told = 0, 0, []
    for process in (server, *children(server)):
        try:
            (pss, uss), opened = kibibytes(process), len(os.listdir(f"/proc/{process}/fd"))
        except OSError:  # it has just been killed
            continue
        total, files = total + pss, files + opened
        told.append(f"{uss / 1024:.1f} MiB own, {opened} files")
    with state.lock:
        counts, state.slowest, slowest = dict(sorted(state.counts.items())), 0.0, state.slowest
    print(
        f"{minute:5.1f} min: {total / 1024:.1f} MiB, {files} files ({'; '.join(told)}), "
        f"slowest {slowest:.2f} s, {counts}",
        flush=True,
    )
    return total, files


def end_under_load(server: subprocess.Popen[bytes], state: State, known: list[Known]) -> None:
    """Send SIGTERM while long requests are answered; all have to be answered, and the server has to end."""
    tables = [one.url for one in known if one.url.startswith("/table")]
    places = ";".join(url.rpartition("/")[2] for url in tables)
    places = ";".join(places.split(";")[:100])
    request = f"GET /table/v1/car/{places}?annotations=duration,distance HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    first = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    links = [socket.create_connection(("127.0.0.1", state.port), timeout=ANSWER_S) for _ in range(8)]
    for link in links:
        link.sendall(first)
        told = b""  # a process has the connection when it has answered
        while not told.endswith(b"}"):
            told += link.recv(1 << 16)
    for link in links:
        link.sendall(request)
    time.sleep(0.2)
    server.send_signal(signal.SIGTERM)
    for link in links:
        answer = b""
        while part := link.recv(1 << 20):
            answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if not head.startswith(b"HTTP/1.1 200") or length is None or len(body) != int(length[1]):
            state.fail(f"at the end: {answer[:200]!r}")
        link.close()
    if server.wait(60) != 0:
        state.fail(f"the server ended with status {server.returncode}")


def load(graph_path: str, args: argparse.Namespace) -> State:
    """Load a server of its own."""
    rng = random.Random(args.seed)
    graph = read_graph(graph_path)
    known, sets = known_answers(graph, rng)
    assert graph.lat is not None and graph.lon is not None
    box = Box(float(graph.lat.min()), float(graph.lon.min()), float(graph.lat.max()), float(graph.lon.max()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vkssp", "serve", f"car={graph_path}", "--port", str(port), "--device", "cpu"]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [*command, "-q", "--processes", str(args.processes)],
            env={**os.environ, "VKSSP_SERVER_TOKEN": TOKEN},
            stderr=log,
        )
        try:
            _wait(server, port)
            state = State(port, time.monotonic() + 60 * args.minutes)
            change_speeds(state, sets, 0)
            pause = args.connections / args.rate
            clients = [Client(state, known, box, pause, args.seed + number) for number in range(args.connections)]
            for client in clients:
                client.start()
            lines = _watch(server.pid, state, sets, args)
            for client in clients:
                client.join()
            end_under_load(server, state, known)
        finally:
            server.kill()
            server.wait()
        log.seek(0)
        told = log.read().decode()
        logged = [one for one in told.splitlines() if one != "Invalid HTTP request received."]
        if len(logged) != len(state.kills) or not all("ended with status -9" in one for one in logged):
            state.fail(f"the server logged: {logged[:20]}")
    (begin, opened), (end, at_end) = lines[min(2, len(lines) - 1)], lines[-1]
    print(
        f"memory {begin / 1024:.1f} MiB in the third line, {end / 1024:.1f} MiB in the last; files {opened}, {at_end}"
    )
    return state


def _watch(server: int, state: State, sets: list[dict[str, float]], args: argparse.Namespace) -> list[tuple[int, int]]:
    """Change speeds, kill processes and print lines until the deadline; return the figures of the lines."""
    began, number, lines = time.monotonic(), 0, list[tuple[int, int]]()
    due: list[tuple[float, float, Callable[[], object]]] = []

    def change() -> None:
        nonlocal number
        number = 1 - number
        change_speeds(state, sets, number)

    def kill() -> None:
        state.kills.append(time.monotonic())
        os.kill(random.Random(len(state.kills)).choice(children(server)), signal.SIGKILL)

    due.append((began, 60.0 if args.minutes > 2 else 10.0, lambda: lines.append(line(server, _minutes(began), state))))
    due.append((began + CHANGE_S, CHANGE_S, change))
    if args.kill_every:
        due.append((began + args.kill_every, args.kill_every, kill))
    while time.monotonic() < state.deadline:
        due.sort(key=lambda one: one[0])
        at, every, action = due.pop(0)
        time.sleep(max(0.0, min(at, state.deadline) - time.monotonic()))
        action()
        due.append((max(at + every, time.monotonic()), every, action))
    lines.append(line(server, _minutes(began), state))
    return lines


def _minutes(began: float) -> float:
    return (time.monotonic() - began) / 60


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(1200):
        if server.poll() is not None:
            raise SystemExit("the server has ended")
        try:
            if asked(port, b"GET /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200"):
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the server is not ready after two minutes")


def main() -> None:
    """Load a server, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="graph of an extract, prepared or not")
    parser.add_argument("--minutes", type=float, default=5.0, help="minutes of load (default: 5)")
    parser.add_argument("--processes", type=int, default=2, help="processes of the server (default: 2)")
    parser.add_argument("--connections", type=int, default=8, help="connections at a time (default: 8)")
    parser.add_argument("--rate", type=float, default=150.0, help="most requests a second (default: 150)")
    parser.add_argument("--kill-every", type=float, default=0.0, help="seconds between kills (default: never)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what is random (default: 1)")
    args = parser.parse_args()
    state = load(args.graph, args)
    print(dict(sorted(state.counts.items())))
    sys.exit(f"{len(state.failures)} failures" if state.failures else 0)


if __name__ == "__main__":
    main()
