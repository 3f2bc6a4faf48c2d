"""Clients of others, against a server of ours."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.streetmaps import street_map

routers: Any = pytest.importorskip("routingpy.routers")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = Path(tmp_path_factory.mktemp("served")) / "map.graph"
    street_map([(0, 0), (0, 1), (0, 3), (2, 3)], [(0, 1, 100), (1, 2, 200), (2, 3, 200)]).save(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vkssp", "serve", f"car={path}", "--port", str(port), "--device", "cpu", "-q"]
    server = subprocess.Popen([*command, "--processes", "1"])
    base = f"http://127.0.0.1:{port}"
    try:
        while server.poll() is None:  # where kernels have to be compiled first, it takes minutes
            with suppress(OSError), urlopen(f"{base}/ready") as answer:
                if answer.status == 200:
                    break
            time.sleep(0.1)
        yield base
    finally:
        server.terminate()
        server.wait(60)


def test_routingpy_asks_as_of_osrm(url: str) -> None:
    client = routers.OSRM(base_url=url)
    route = client.directions([[0, 0], [0.003, 0]], profile="car", overview="full")
    assert (route.duration, route.distance) == (30, pytest.approx(333, abs=1))
    assert list(map(list, route.geometry)) == [[0.0, 0.0], [0.001, 0.0], [0.003, 0.0]]
    table = client.matrix([[0, 0], [0.001, 0], [0.003, 0]], profile="car", annotations=["duration", "distance"])
    assert table.durations == [[0, 10, 30], [10, 0, 20], [30, 20, 0]]


def test_routingpy_asks_for_isochrones_as_of_valhalla(url: str) -> None:
    client = routers.Valhalla(base_url=url)
    (area,) = client.isochrones([[0, 0]], profile="car", intervals=[15])
    east = max(lon for lon, _ in area.geometry[0])
    assert area.interval == 15 and 0.0015 < east < 0.0022
