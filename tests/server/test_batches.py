"""Requests that wait for a device together: each gets the answer, byte for byte, that it gets alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.streetmaps import UNIT, street_map
from vkssp import Graph, Router, prepare
from vkssp.gpu.device import Device
from vkssp.server.app import Application, application
from vkssp.server.dataset import Dataset
from vkssp.server.metrics import Metrics

SIDE = 9
TOKEN = b"secret"


def grid_map() -> Graph:
    """Streets between the corners of a grid, of random weights, and one that they do not reach."""
    rng = np.random.default_rng(7)
    nodes = [(float(y), float(x)) for y in range(SIDE) for x in range(SIDE)]
    streets = [(node, node + 1, int(rng.integers(50, 200))) for node in range(SIDE**2) if node % SIDE < SIDE - 1]
    streets += [(node, node + SIDE, int(rng.integers(50, 200))) for node in range(SIDE * (SIDE - 1))]
    nodes += [(90.0, 0.0), (90.0, 1.0)]
    return street_map(nodes, [*streets, (SIDE**2, SIDE**2 + 1, 100)])  # type: ignore[list-item]


def urls() -> list[str]:
    rng = np.random.default_rng(11)

    def places(count: int) -> str:
        found = (SIDE - 1) * UNIT * rng.random((count, 2))
        return ";".join(f"{lon:.6f},{lat:.6f}" for lat, lon in found.tolist())

    found = [f"/route/v1/car/{places(2)}?steps=true&annotations=true" for _ in range(8)]
    found += [f"/route/v1/car/{places(4)}?overview=full", f"/route/v1/car/{places(2)}?alternatives=2"]
    found += [f"/table/v1/car/{places(3)}?annotations=duration,distance", f"/table/v1/car/{places(4)}"]
    found += [
        f"/isochrone/v1/car/{places(1)}?contours_minutes={minutes}" for minutes in ("0.2", "0.4,0.8", "1", "2", "3")
    ]
    found += [
        "/match/v1/car/0.0001,0;0.0008,0;0.0014,0",
        f"/trip/v1/car/{places(4)}",
        f"/nearest/v1/car/{places(1)}?number=3",
    ]
    far = f"0.5,{2 * SIDE * UNIT:.6f}?radiuses=1;1"
    return [
        *found,
        f"/route/v1/car/{places(1)};{far}",
        f"/route/v1/car/{places(1)};0,95",
        f"/table/v1/car/{places(1)};{far}",
    ]


async def asked(app: Application, path: str, body: Any = None) -> tuple[int, bytes]:
    """Return status and body of an answer."""
    route, _, query = path.partition("?")
    headers = [(b"content-type", b"application/json"), (b"authorization", b"Bearer " + TOKEN)]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "root_path": "",
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode()}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


async def burst(app: Application, router: Router, paths: Sequence[str], more: Any = None) -> list[tuple[int, bytes]]:
    """Return the answers to requests that come while the device is at work."""
    session: Any = router.solver.session  # type: ignore[union-attr]
    with session.lock.held():
        asking = [asyncio.ensure_future(asked(app, path)) for path in paths]
        waiting = -1
        while waiting < session.micro_batches.num_waiting or waiting < 5:
            waiting = session.micro_batches.num_waiting
            await asyncio.sleep(0.2)
        if more is not None:
            asking.append(asyncio.ensure_future(asked(app, *more)))
            await asyncio.sleep(0.1)
    return list(await asyncio.gather(*asking))


@pytest.fixture(scope="module")
def router(device: Device) -> Iterator[Router]:
    with Router(prepare(grid_map()), device=device) as made:
        yield made


def test_answers_are_the_same_together(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkssp.solver.session.NODES_OF_TREES", 0)  # as in large graphs
    dataset = Dataset(router)
    metrics = Metrics(batchings=dataset.batchings)
    app = application({"car": dataset}, threads=32, token=TOKEN.decode(), metrics=metrics)
    paths = urls()
    speeds = ("/speeds", {"profile": "car", "speeds": {str(way): 9 for way in range(100, 160)}})

    async def run() -> None:
        alone = [await asked(app, path) for path in paths]
        assert [status for status, _ in alone] == [200] * (len(paths) - 3) + [400] * 3
        assert await burst(app, router, paths) == alone
        *found, changed = await burst(app, router, paths, speeds)
        assert changed[0] == 200 and json.loads(changed[1])["arcs"] > 0
        later = [await asked(app, path) for path in paths]
        assert sum(one != other for one, other in zip(alone, later, strict=True)) > 8
        assert all(one in both for one, *both in zip(found, alone, later, strict=True))

    asyncio.run(run())
    figures = metrics.text()
    assert 'vkssp_batch_searches_bucket{le="16"}' in figures
    counts = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in figures.splitlines() if line[0] != "#"
    }
    assert counts["vkssp_batch_searches_sum"] > counts["vkssp_batch_searches_count"] > 0
    assert counts['vkssp_batch_searches_bucket{le="4"}'] < counts["vkssp_batch_searches_count"]
