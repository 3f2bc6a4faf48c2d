"""Several workers of one address: connections, changes that all make, workers that die, the end."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")

# An application whose answer is its process and the changes that it has made; it can be slow, and it can die.
PROGRAM = """
import asyncio, os, sys
from vkssp.server.processes import Serving, listen, serve

def make(ask, number):
    made = []
    async def change(content):
        if content == b"bad":
            raise ValueError("no such change")
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
            await asyncio.sleep(1.0)
        if path.startswith("/change/"):
            try:
                name = path.removeprefix("/change/").encode()
                assert await ask(name) == name.upper()
            except RuntimeError as error:
                status, made_text = 400, str(error)
        body = f"{os.getpid()} {','.join(made)}".encode() if status == 200 else made_text.encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
    return app, change

listening = listen("127.0.0.1", 0)
port = listening.getsockname()[1]
serve(listening, make, Serving(workers=3, connections=8, graceful_s=5), lambda: print(port, flush=True))
"""


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    yield process, port
    process.kill()
    process.wait()
    process.stdout.close()


def ask(port: int, path: str = "/") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def all_answers(port: int) -> list[str]:
    """Return the answers of six connections that are open at the same time."""
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(6)]
    found = []
    for connection in connections:
        connection.request("GET", "/")
        found.append(connection.getresponse().read().decode())
    for connection in connections:
        connection.close()
    return found


def test_connections_go_to_all_workers_and_changes_too(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(6)]
    seen = []
    for connection in connections:
        connection.request("GET", "/")
        seen.append(connection.getresponse().read().decode().split()[0])
    assert sorted(map(seen.count, set(seen))) == [2, 2, 2]  # that stay open, two each
    assert [ask(port, f"/change/{name}")[0] for name in "abc"] == [200] * 3
    assert ask(port, "/change/bad") == (400, "ValueError: no such change")
    for connection in connections:
        connection.request("GET", "/")
        assert connection.getresponse().read().decode().split()[1] == "a,b,c"
        connection.close()


def test_a_worker_that_dies_is_replaced_and_knows_the_changes(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    ask(port, "/change/a")
    before = {answer.split()[0] for answer in all_answers(port)}
    assert len(before) == 3
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(port, "/die")
    ask(port, "/change/b")
    end = time.monotonic() + 30
    while len(now := {tuple(answer.split()) for answer in all_answers(port)}) < 3 and time.monotonic() < end:
        time.sleep(0.1)
    assert {made for _, made in now} == {"a,b"} and len({pid for pid, _ in now} - before) == 1


def test_connections_beyond_the_limit_are_told_to_come_again(server: tuple[subprocess.Popen[str], int]) -> None:
    _, port = server
    held = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(8)]
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


def test_answers_that_have_begun_are_finished_at_the_end(server: tuple[subprocess.Popen[str], int]) -> None:
    process, port = server
    with ThreadPoolExecutor(4) as threads:
        slow = [threads.submit(ask, port, "/slow") for _ in range(4)]
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert [one.result()[0] for one in slow] == [200] * 4
    assert process.wait(20) == 0
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
