"""The protocol that writes short answers at once: clients receive what they do without it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.streetmaps import street_map
from vkssp import Router, prepare
from vkssp.server.app import Application, application
from vkssp.server.dataset import Dataset
from vkssp.server.protocol import MOST_HEAD_BYTES, at_once

uvicorn = pytest.importorskip("uvicorn")
NEAREST, ROUTE = b"/nearest/v1/car/0.0005,0", b"/route/v1/car/0,0;0.001,0?overview=false"


@pytest.fixture(scope="module")
def app() -> Application:
    graph = prepare(street_map([(0, 0), (0, 1), (0, 3)], [(0, 1, 100), (1, 2, 200)]))
    return application({"car": Dataset(Router(graph, device="cpu"))}, in_loop=True)


def exchanged(app: Any, sent: list[bytes], *, quickly: bool) -> bytes:
    """Return what a server answers to pieces of bytes, until it closes the connection."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    async def run() -> bytes:
        kind: Any = at_once(AutoHTTPProtocol, app) if quickly else AutoHTTPProtocol
        config = uvicorn.Config(app, lifespan="off", http=kind, log_config=None, access_log=False, date_header=False)
        config.load()
        state = uvicorn.Server(config).server_state

        def make() -> Any:
            return config.http_protocol_class(config=config, server_state=state, app_state={})

        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for piece in sent:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        received = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        server.close()
        return received

    return asyncio.run(run())


def get(path: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join((b"GET " + path + b" HTTP/1.1", b"Host: a", *headers, b"", b""))


LAST = get(NEAREST, b"Connection: close")


@pytest.mark.parametrize(
    "sent",
    [
        [get(NEAREST), get(ROUTE), LAST],
        [get(NEAREST) + get(ROUTE) + get(b"/health") + get(NEAREST) + LAST],
        [get(ROUTE + b"&alternatives=2"), get(NEAREST), LAST],
        [get(NEAREST)[:25], get(NEAREST)[25:], LAST],
        [get(NEAREST[:-2]), get(NEAREST + b"?number=0"), get(NEAREST + b"?number=9"), LAST],
        [get(NEAREST, b"Content-Length: 5"), b"12", b"345" + get(ROUTE), LAST],
        [get(NEAREST).replace(b"GET", b"HEAD"), get(NEAREST), LAST],
        [get(NEAREST + b"?"), get(NEAREST + b"#a"), get(NEAREST + b"%20"), get(b"http://a" + NEAREST), LAST],
        [get(NEAREST).replace(b"1.1", b"1.0")],
        [get(NEAREST), b"GET  \0\r\n\r\n"],
        [get(NEAREST, b"Connection: Upgrade", b"Upgrade: h2c"), LAST],
    ],
)
def test_answers_are_the_same(app: Application, sent: list[bytes]) -> None:
    received = exchanged(app, sent, quickly=True)
    assert received == exchanged(app, sent, quickly=False) and received.startswith(b"HTTP/1.1 ")


def test_short_requests_are_answered_at_once(app: Application) -> None:
    head, body = app.at_once(NEAREST, "here") or (b"", b"")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n") and b'"name":"Street 0"' in body
    for url in (b"/route/v1/car/0,0;0.001,0?alternatives=1", b"/health", b"/tile/v1/car/tile(1,1,12).mvt", b"/"):
        assert app.at_once(url, "here") is None
    assert b" 400 " in (app.at_once(b"/nearest/v1/car/", "here") or (b"", b""))[0]


@pytest.mark.parametrize("piece", [b"a", b"X: " + b"a" * 997 + b"\r\n"])
def test_headers_without_an_end_are_refused(app: Application, piece: bytes) -> None:
    start, much = get(NEAREST)[:-2], piece * (MOST_HEAD_BYTES // len(piece))
    received = exchanged(app, [get(NEAREST) + start, *([b"Y: "] * (piece == b"a")), much, piece], quickly=True)
    assert received.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 400 " in received and received.endswith(b"bytes.")
    short = [start + piece * 9 + b"\r\n\r\n"] if piece != b"a" else [start + b"Y: aa\r\n\r\n"]
    body = get(NEAREST, b"Content-Length: %d" % (2 * MOST_HEAD_BYTES)), b"a" * (2 * MOST_HEAD_BYTES)
    assert exchanged(app, [*short, *body, LAST], quickly=True).count(b"HTTP/1.1 200 ") == 3
