"""Answers in flatbuffers: the same values as JSON, at the numbers of OSRM's fields, read by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.streetmaps import street_map
from vkssp import Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset

pytest.importorskip("flatbuffers")
KIND = "application/x-flatbuffers;schema=osrm.engine.api.fbresult"
PLACES = "0.0005,0.0001;0.003,0.0015"


class Table:
    """Table of a flatbuffer, read by the numbers of its fields."""

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self.data, self.at = data, self._go(data, 0) if at is None else at

    @staticmethod
    def _go(data: bytes, at: int) -> int:
        return at + int(struct.unpack_from("<I", data, at)[0])

    def field(self, number: int) -> int | None:
        where = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        size = struct.unpack_from("<H", self.data, where)[0]
        offset = struct.unpack_from("<H", self.data, where + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
        return self.at + offset if offset else None

    def numbers(self, number: int, form: str) -> Any:
        at = self.field(number)
        if at is None:
            return None
        assert at % struct.calcsize(form[-1]) == 0
        found = struct.unpack_from(f"<{form}", self.data, at)
        return found[0] if len(found) == 1 else found

    def vector(self, number: int, form: str) -> Any:
        at = self.field(number)
        if at is None:
            return None
        begin = self._go(self.data, at)
        count, size = struct.unpack_from("<I", self.data, begin)[0], struct.calcsize(f"<{form}")
        assert (begin + 4) % struct.calcsize(form[-1]) == 0
        each = [struct.unpack_from(f"<{form}", self.data, begin + 4 + size * one) for one in range(count)]
        return [one[0] if len(one) == 1 else one for one in each]

    def tables(self, number: int) -> list[Table]:
        begin = self._go(self.data, self.field(number) or 0)
        return [
            Table(self.data, self._go(self.data, begin + 4 + 4 * at)) for at in range(len(self.vector(number, "I")))
        ]

    def table(self, number: int) -> Table:
        at = self.field(number)
        assert at is not None
        return Table(self.data, self._go(self.data, at))

    def text(self, number: int) -> str | None:
        letters = self.vector(number, "B")
        return None if letters is None else bytes(letters).decode()


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A square of streets and one apart from it."""
    nodes = [(0, 0), (0, 3), (2, 3), (2, 0), (9, 9), (9, 10)]
    streets: Any = [(0, 1, 100), (1, 2, 130), (2, 3, 100), (3, 0, 90), (4, 5, 20)]
    router = Router(street_map(nodes, streets), device="cpu")
    with TestClient(application({"car": Dataset(router, data_version="v1")})) as client:
        yield client


def answers(client: TestClient, service: str, places: str, query: str = "") -> tuple[Any, Table]:
    """Return an answer as JSON and in flatbuffers."""
    binary = client.get(f"/{service}/v1/car/{places}.flatbuffers{query}")
    assert binary.headers["content-type"] == KIND and "content-disposition" not in binary.headers
    return client.get(f"/{service}/v1/car/{places}{query}").json(), Table(binary.content)


def near(values: Any) -> Any:
    return pytest.approx(values, rel=1e-6, abs=1e-5)


def test_routes(client: TestClient) -> None:
    query = "?steps=true&annotations=true&overview=full&geometries=geojson"
    json, result = answers(client, "route", PLACES, query)
    assert result.field(0) is None and result.text(2) == "v1" and result.field(5) is None
    first, last = result.tables(3)
    assert (first.text(0), first.text(2)) == (json["waypoints"][0]["hint"], "Street 0")
    assert last.numbers(3, "2f") == near(json["waypoints"][1]["location"])
    (route,), (told,) = result.tables(4), json["routes"]
    assert [route.numbers(at, "f") for at in range(3)] == near([told["distance"], told["duration"], told["weight"]])
    assert route.text(3) == "duration" and route.field(5) is None
    assert [*map(list, route.vector(6, "2f"))] == [near(pair) for pair in told["geometry"]["coordinates"]]
    (leg,), (told_leg,) = route.tables(7), told["legs"]
    assert leg.numbers(0, "d") == told_leg["distance"] and leg.text(3) == told_leg["summary"]
    figures = told_leg["annotation"]
    assert leg.table(4).vector(0, "I") == [int(metres) for metres in figures["distance"]]
    assert leg.table(4).vector(5, "f") == near(figures["speed"])
    for step, told_step in zip(leg.tables(5), told_leg["steps"], strict=True):
        assert step.numbers(0, "f") == near(told_step["distance"]) or told_step["distance"] == 0
        assert (step.text(5), step.text(10)) == (told_step["name"], "driving")
        assert (step.table(11).numbers(1, "H") or 0) == told_step["maneuver"]["bearing_before"]
        at, told_at = step.tables(12)[-1], told_step["intersections"][-1]
        assert at.vector(1, "h") == told_at["bearings"] and at.vector(3, "?") == told_at["entry"]
        assert (at.numbers(5, "I") or 0) == told_at.get("out", 2**32 - 1) and at.vector(6, "I") == []
    assert [step.table(11).numbers(3, "b") for step in leg.tables(5)][:1] == [2]
    json, result = answers(client, "route", PLACES, "?overview=by_legs&skip_waypoints=true")
    assert result.field(3) is None
    assert result.tables(4)[0].tables(7)[0].text(6) == json["routes"][0]["legs"][0]["geometry"]
    body = {"coordinates": [[0.0005, 0], [0.003, 0.0015]], "format": "flatbuffers"}
    assert client.post("/route/v1/car", json=body).headers["content-type"] == KIND


def test_other_services(client: TestClient) -> None:
    json, result = answers(client, "nearest", PLACES.partition(";")[0], "?number=2")
    assert [one.numbers(1, "f") for one in result.tables(3)] == near([one["distance"] for one in json["waypoints"]])
    assert result.tables(3)[0].numbers(4, "2Q") == (0, 0)
    json, result = answers(client, "nearest", f"{PLACES};0.0015,0.001", "?radiuses=;;1")
    one, other, none = result.tables(6)
    assert one.numbers(0, "?") and [len(group.tables(1)) for group in (one, other)] == [1, 1]
    assert json["waypoints"][2] is None and (none.field(0), none.field(1)) == (None, None)
    assert none.table(2).text(0) == "NoSegment"
    places = f"{PLACES};0.0095,0.009"
    json, result = answers(client, "table", places, "?annotations=duration,distance&sources=0;2")
    table = result.table(5)
    assert (table.numbers(1, "H"), table.numbers(2, "H")) == (2, 3)
    assert table.vector(0, "f") == near([cell or 0.0 for row in json["durations"] for cell in row])
    assert table.vector(3, "f") == near([cell or 0.0 for row in json["distances"] for cell in row])
    assert (len(result.tables(3)), len(table.tables(4))) == (2, 3)
    _, result = answers(client, "table", places, "?fallback_speed=10&sources=0")
    assert result.table(5).vector(5, "I") == [0, 2]
    json, result = answers(client, "trip", f"{PLACES};0.001,0")
    assert [one.numbers(6, "I") or 0 for one in result.tables(3)] == [
        one["waypoint_index"] for one in json["waypoints"]
    ]
    trace = "0.0005,0;0.001,0;0.0015,0.009;0.002,0;0.0025,0"
    json, result = answers(client, "match", trace)
    assert json["tracepoints"][2] is None and result.tables(3)[2].field(2) is None
    assert result.tables(4)[0].numbers(4, "f") == near(json["matchings"][0]["confidence"])


def test_errors(client: TestClient) -> None:
    _, result = answers(client, "route", "0,0;0.0095,0.009")
    assert result.numbers(0, "?") is True and result.field(4) is None
    assert (result.table(1).text(0), result.table(1).text(1)) == ("NoRoute", "Impossible route between points")
    assert answers(client, "nearest", "0,0", "?number=1000")[1].table(1).text(0) == "TooBig"
    for malformed in ("/route/v1/car/0,0.flatbuffers", "/route/v1/car/0,0;0,0.flatbuffers?a=1"):
        assert client.get(malformed).json()["code"] in ("InvalidOptions", "InvalidQuery")
