"""Several workers of one address: connections, changes that all make, workers that die, the end."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

pytest.importorskip("uvicorn")
resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")

# An application whose answer is its process and the changes that it has made; it can be slow, and it can die.
PROGRAM = """
import asyncio, os, sys
from vkssp.server.processes import ChangeRefusedError, Serving, listen, serve

def make(ask, number):
    made = []
    async def change(content):
        if content == b"bad":
            raise ValueError("no such change")
        if content == b"refused":
            raise ChangeRefusedError("not this one")
        if b"slow" in content:
            await asyncio.sleep(0.5)
        made.append(content.decode())
        return content.upper()
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                kind = (await receive())["type"]
                await send({"type": kind + ".complete"})
            return
        path, status = scope["path"], 200
        if path == "/die":
            os._exit(3)
        if path == "/slow":
            os.write(1, b"begun\\n")
            await asyncio.sleep(1.0)
        if path.startswith("/change/"):
            try:
                name = path.removeprefix("/change/").encode()
                assert await ask(name) == name.upper()
            except (ChangeRefusedError, RuntimeError) as error:
                status, made_text = 400, f"{type(error).__name__} {error}"
        body = f"{os.getpid()} {','.join(made)}".encode() if status == 200 else made_text.encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
    return app, change

listening = listen("127.0.0.1", 0)
port = listening.getsockname()[1]
serving = Serving(workers=3, connections=int(sys.argv[1]), keep_alive_s=60, graceful_s=60)
serve(listening, make, serving, lambda: print(port, flush=True), lambda changes: [b"+".join(changes)] * bool(changes))
"""


@contextmanager
def running(connections: int, **options: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-c", PROGRAM, str(connections)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    with running(8) as found:
        yield found


def ask(port: int, path: str = "/") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def all_answers(port: int) -> list[str]:
    """Return the answers of six connections that are open at the same time."""
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(6)]
    found = []
    for connection in connections:
        connection.request("GET", "/")
        found.append(connection.getresponse().read().decode())
    for connection in connections:
        connection.close()
    return found


def test_connections_go_to_all_workers_and_changes_too(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(6)]
    seen = []
    for connection in connections:
        connection.request("GET", "/")
        seen.append(connection.getresponse().read().decode().split()[0])
    assert sorted(map(seen.count, set(seen))) == [2, 2, 2]  # that stay open, two each
    assert [ask(port, f"/change/{name}")[0] for name in "abc"] == [200] * 3
    assert ask(port, "/change/bad") == (400, "RuntimeError ValueError: no such change")
    assert ask(port, "/change/refused") == (400, "ChangeRefusedError not this one")
    for connection in connections:
        connection.request("GET", "/")
        assert connection.getresponse().read().decode().split()[1] == "a,b,c"
        connection.close()


def test_a_worker_that_dies_is_replaced_and_knows_the_changes(server: tuple[subprocess.Popen[str], int]) -> None:
    """Its successor makes the changes, joined, before it answers."""
    _, port = server
    ask(port, "/change/a")
    ask(port, "/change/slow")
    before = {answer.split()[0] for answer in all_answers(port)}
    assert len(before) == 3
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(port, "/die")
    end, new = time.monotonic() + 30, set[str]()
    while not new and time.monotonic() < end:
        time.sleep(0.1)
        new = {answer for answer in all_answers(port) if answer.split()[0] not in before}
    assert {answer.partition(" ")[2] for answer in new} == {"a+slow"}
    ask(port, "/change/b")
    assert {answer.partition(" ")[2] for answer in all_answers(port)} == {"a,slow,b", "a+slow,b"}


def test_no_connection_goes_to_a_worker_that_has_just_died() -> None:
    with running(64) as (process, port):
        dead = int(all_answers(port)[0].split()[0])
        process.send_signal(signal.SIGSTOP)
        waiting = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(9)]
        for connection in waiting:
            connection.request("GET", "/")
        os.kill(dead, signal.SIGKILL)
        while _is_running(dead):
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)  # it hears of the connections first
        found = [connection.getresponse() for connection in waiting]
        assert [answer.status for answer in found] == [200] * 9
        assert dead not in {int(answer.read().split()[0]) for answer in found}
        for connection in waiting:
            connection.close()


def test_connections_beyond_the_limit_are_told_to_come_again(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    held = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(8)]
    for connection in held:
        connection.request("GET", "/")
        connection.getresponse().read()
    assert ask(port) == (503, '{"code":"TooManyRequests","message":"Too many connections"}')
    for connection in held:
        connection.close()
    end = time.monotonic() + 30
    while ask(port)[0] == 503 and time.monotonic() < end:
        time.sleep(0.05)
    assert ask(port)[0] == 200


def test_no_worker_has_more_connections_than_files() -> None:
    """Connections beyond the files that the system allows are told to come again, too; no worker dies of them."""
    most = 100

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (80, most))

    with running(4096, preexec_fn=limit) as (_, port):
        before = {answer.split()[0] for answer in all_answers(port)}
        held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(4 * most)]
        statuses = Counter[str]()
        for link in held:
            with suppress(ConnectionError):  # it was refused before the request came
                link.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            statuses[link.recv(1 << 16)[9:12].decode()] += 1
        for link in held:
            link.close()
        assert (
            3 * (most - 64) - 6 <= statuses["200"] <= 3 * most
            and statuses.total() == 4 * most == statuses["200"] + statuses["503"]
        )
        end = time.monotonic() + 30
        # The workers may not have seen yet that these connections are closed.
        while (after := {answer.split()[0] for answer in all_answers(port)}) != before and time.monotonic() < end:
            time.sleep(0.05)
        assert after == before


def test_answers_that_have_begun_are_finished_at_the_end(server: tuple[subprocess.Popen[str], int]) -> None:
    process, port = server
    with ThreadPoolExecutor(4) as threads:
        slow = [threads.submit(ask, port, "/slow") for _ in range(4)]
        assert process.stdout is not None and [process.stdout.readline() for _ in slow] == ["begun\n"] * 4
        process.send_signal(signal.SIGTERM)
        assert [one.result()[0] for one in slow] == [200] * 4
    assert process.wait(60) == 0
    with pytest.raises(OSError):
        ask(port)


def test_workers_end_with_the_first_process(server: tuple[subprocess.Popen[str], int]) -> None:
    process, port = server
    workers = {int(answer.split()[0]) for answer in all_answers(port)}
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") and _is_running(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(_is_running(pid) for pid in workers)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
