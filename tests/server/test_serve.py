"""``vkssp serve`` with several processes: speeds and figures of all of them, processes that die, the end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.streetmaps import street_map
from vkssp import prepare

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="finds processes as Linux names them")

ROUTE = "/route/v1/car/0,0;0.001,0?overview=false"
CHANGES = {"Authorization": "Bearer secret", "Content-Type": "application/json"}


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server of two processes with a street of two parts, 100 and 200 tenths of a second long, on a device."""
    on = getattr(request, "param", "cpu")
    if on != "cpu":
        on = request.getfixturevalue("device").info.name
    file = tmp_path / "street.graph"
    prepare(street_map([(0, 0), (0, 1), (0, 3)], [(0, 1, 100), (1, 2, 200)])).save(file)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "vkssp", "serve", str(file), "--device", on, "--processes", "2"]
    environment = {**os.environ, "VKSSP_SERVER_TOKEN": "secret"}
    process = subprocess.Popen([*command, "--port", str(port)], env=environment)
    try:
        while process.poll() is None:  # where kernels have to be compiled first, it takes minutes
            with closing(connected(port)) as connection, suppress(ConnectionError):
                assert ask(connection, "/ready")[0] == 200
                break
            time.sleep(0.1)
        yield process, port
    finally:
        process.kill()
        process.wait()


def connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def ask(connection: http.client.HTTPConnection, path: str, body: Any = None) -> tuple[int, bytes]:
    if body is None:
        connection.request("GET", path)
    else:
        connection.request("POST", path, json.dumps(body), CHANGES)
    answer = connection.getresponse()
    return answer.status, answer.read()


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, or for a minute."""
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize("server", ["cpu", "vulkan"], indirect=True)
def test_speeds_and_figures_are_those_of_all_processes(server: tuple[subprocess.Popen[bytes], int]) -> None:
    process, port = server
    connections = [connected(port) for _ in range(4)]  # two of each process
    first = {json.loads(ask(one, ROUTE)[1])["routes"][0]["duration"] for one in connections}
    status, told = ask(connections[0], "/speeds", {"speeds": {"100": 20.0, "7": 50.0}})
    assert (status, json.loads(told)) == (200, {"code": "Ok", "arcs": 2, "ways": 2, "unknown": 1})
    then = {json.loads(ask(one, ROUTE)[1])["routes"][0]["duration"] for one in connections}
    assert first == {10.0} and list(then) == [pytest.approx(111.2 / 20 * 3.6, abs=0.1)]
    assert ask(connections[1], "/speeds", {"speeds": {"100": -1}})[0] == 400
    lines = ask(connections[3], "/metrics")[1].decode().splitlines()
    assert 'vkssp_requests_total{service="route",code="Ok"} 8' in lines
    dead = workers_of(process)[0]
    os.kill(dead, signal.SIGKILL)
    for one in connections:
        one.close()
    until(lambda: dead not in (pids := workers_of(process)) and len(pids) == 2)
    time.sleep(0.5)  # in which it makes the changes anew
    again = [connected(port) for _ in range(4)]
    assert {json.loads(ask(one, ROUTE)[1])["routes"][0]["duration"] for one in again} == then
    assert 'vkssp_requests_total{service="route",code="Ok"} 12' in ask(again[0], "/metrics")[1].decode()
    for one in again:
        one.close()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--device", "no such", "no such"),
        ("--traffic", "speeds.csv", "way 100"),
        ("--max-waiting", "-1", "max_waiting is -1"),
        ("--seconds", "nan", "seconds is nan"),
    ],
)
def test_what_cannot_be_served_is_one_error(tmp_path: Path, option: str, value: str, told: str) -> None:
    file = tmp_path / "street.graph"
    prepare(street_map([(0, 0), (0, 1), (0, 3)], [(0, 1, 100), (1, 2, 200)])).save(file)
    (tmp_path / "speeds.csv").write_text("way,speed_kmh\n100,-1\n")
    command = [sys.executable, "-m", "vkssp", "serve", str(file), option, value, "--processes", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_process_that_dies_loses_only_what_it_answers(server: tuple[subprocess.Popen[bytes], int]) -> None:
    process, port = server
    ended, seen, dead = threading.Event(), Counter[str](), workers_of(process)[0]
    lock = threading.Lock()

    def client() -> None:
        connection = connected(port)
        while not ended.is_set():
            try:
                status, body = ask(connection, ROUTE)
                what = "right" if status == 200 and json.loads(body)["routes"][0]["duration"] == 10.0 else "wrong"
            except (OSError, http.client.HTTPException):
                connection.close()
                what = "lost"
                until(lambda: dead not in workers_of(process))
            with lock:
                seen[what] += 1
        connection.close()

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    until(lambda: seen["right"] > 8)
    os.kill(dead, signal.SIGKILL)
    until(lambda: seen["lost"] > 0 and dead not in (pids := workers_of(process)) and len(pids) == 2)
    before = seen["right"]
    until(lambda: seen["right"] > before + 8)
    ended.set()
    for one in clients:
        one.join()
    assert 0 < seen["lost"] <= len(clients) and seen["wrong"] == 0 and seen["right"] > before + 8
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
