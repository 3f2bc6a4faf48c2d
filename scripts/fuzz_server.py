"""Send random, hostile and mutated requests to a server on a small graph, and report what breaks.

A part of them is made from the description of the services that the server gives itself (OpenAPI).

Usage: fuzz_server.py REQUESTS [SEED]

Answers with status 500, connections that are lost, and a server that ends or no longer answers are failures. The memory
of the server is printed before and after. Bytes that are no HTTP are sent, too; they may get no answer.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vkssp import read_graph
from vkssp.server.openapi import description
from vkssp.server.own import ACCESSIBILITY, OPPORTUNITIES
from vkssp.server.parameters import PARAMETERS

#: Requests that are mutated; places are on the graph's streets, or near them.
_URLS = (
    "/route/v1/car/{a};{b}?steps=true&annotations=true&overview=full&geometries=geojson&alternatives=2",
    "/route/v1/car/{a};{b};{c}?waypoints=0;2&bearings=10,40;;&radiuses=100;;unlimited&approaches=curb;;opposite",
    "/nearest/v1/car/{a}?number=3&bearings=0,20",
    "/table/v1/car/{a};{b};{c}?sources=0&destinations=1;2&annotations=duration,distance&fallback_speed=10",
    "/match/v1/car/{a};{b};{c}?timestamps=1;20;40&radiuses=10;20;30&gaps=ignore&tidy=true&steps=true",
    "/trip/v1/car/{a};{b};{c}?source=first&destination=last&roundtrip=false",
    "/route/v1/car/{a};{b}.flatbuffers?steps=true&annotations=true&overview=full&geometries=geojson&alternatives=2",
    "/table/v1/car/{a};{b}.flatbuffers?fallback_speed=10",
    "/match/v1/car/{a};{b}.flatbuffers?overview=by_legs&steps=true",
    "/tile/v1/car/tile(8192,8191,14).mvt",
    "/isochrone/v1/car/{a}?contours_minutes=1,2&width=30",
    "/isochrone/v1/car/{a}?contours_meters=100,500&reverse=true&avoid={b},{c},{a}",
    "/route/v1/car/{a};{b}?avoid={c},0.011,0.012,0.013,0.010&metric=distance&steps=true&annotations=true",
    "/table/v1/car/{a};{b}?avoid=polyline6(_ibE_ibE_ibE??_ibE)&metric=duration&exclude=motorway",
    "/map/streets/car/14/8192/8191",
    "/map/search/car?q=a",
    "/map/basemap/car",
    "/route/v1/car/polyline(_p~iF~ps|U_ulLnnqC)?overview=false",
)
_WORDS = (
    *PARAMETERS, "true", "false", "unlimited", "any", "first", "all", "nan", "inf", "-1", "1e400", "4294967296", "0",
    "99999999999999999999", "%00", "%FF", "%C3%A9", "..", "/", ";", ",", "?", "&", "=", "polyline(", "polyline6(~~~~",
    "180,90", "-180,-90", "1e-300,0", "null", "\\", "'", '"', "{", "(", ")", ".flatbuffers", ".json", "+", "%", "#",
)  # fmt: skip
_VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**64,
    1e308,
    -0.5,
    "",
    "true",
    "\ud800",
    "unlimited",
    [],
    {},
    [None],
    [[]],
    [[0, 0]],
)
#: Paths, methods and operations of the description of all services, and schemas by the names of parameters: in bodies,
#: or in URLs, where only texts are described.
_OPERATIONS = [
    (path, method, operation)
    for path, methods in description(["car"], has_live_map=True)["paths"].items()
    for method, operation in methods.items()
]
_SCHEMAS: dict[str, dict[str, Any]] = {
    parameter["name"]: parameter["schema"]
    for _, _, operation in _OPERATIONS
    for parameter in operation.get("parameters", [])
}
for _, _, _operation in _OPERATIONS:
    if "requestBody" in _operation:
        _SCHEMAS |= _operation["requestBody"]["content"]["application/json"]["schema"].get("properties", {})
#: Requests that are always answered.
_HEALTH, _READY = (
    f"GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode() for name in ("health", "ready")
)
#: Seconds after which an answer is missing.
_SECONDS = 30.0


def grid() -> str:
    """Return an extract: streets in a grid, some of which lead one way, and an island."""
    at = {(x, y): 100 + 20 * x + y for x in range(10) for y in range(10)}
    lines = [f'<node id="{number}" version="1" lat="{0.002 * y}" lon="{0.002 * x}"/>' for (x, y), number in at.items()]
    lines += [f'<node id="{9 + y}" version="1" lat="{0.03 + 0.001 * y}" lon="0.03"/>' for y in range(2)]
    ways = [[at[x, y] for y in range(10)] for x in range(10)] + [[at[x, y] for x in range(10)] for y in range(10)]
    for number, nodes in enumerate([*ways, [9, 10]]):
        tags = {"highway": ("primary", "residential", "motorway")[number % 3], "name": f"Street &lt;{number}&gt; é"}
        if number % 4 == 1:
            tags["oneway"] = "yes"
        inside = "".join(f'<nd ref="{node}"/>' for node in nodes)
        inside += "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
        lines.append(f'<way id="{500 + number}" version="1">{inside}</way>')
    return f'<osm version="0.6">{"".join(lines)}</osm>'


@dataclass(frozen=True)
class Box:
    """Box of latitudes and longitudes, in degrees."""

    south: float
    west: float
    north: float
    east: float

    def place(self, rng: random.Random) -> tuple[float, float]:
        """Return latitude and longitude of a place inside."""
        return rng.uniform(self.south, self.north), rng.uniform(self.west, self.east)


#: Box of the streets of `grid`.
_GRID = Box(0.0, 0.0, 0.02, 0.02)


def place(rng: random.Random, box: Box = _GRID) -> str:
    """Return a place: mostly one on the map."""
    lat, lon = (rng.uniform(-100, 100), rng.uniform(-200, 200)) if rng.random() < 0.1 else box.place(rng)
    return f"{lon:.6f},{lat:.6f}"


def target(rng: random.Random, box: Box = _GRID) -> str:
    """Return a path with a query, mutated or not."""
    url = rng.choice(_URLS).format(a=place(rng, box), b=place(rng, box), c=place(rng, box))
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        at = rng.randrange(len(url) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            url = url[:at] + rng.choice(_WORDS) + url[at:]
        elif kind == 1:
            url = url[:at] + url[at + rng.randrange(1, 8) :]
        elif kind == 2:
            url = url[:at] + url[at:] * 2
        else:
            url += f"{rng.choice('&?;')}{rng.choice(_WORDS)}={rng.choice(_WORDS)}"
    return re.sub(r"[\s#]", "", url) if url.startswith("/") else "/" + url


def positions(rng: random.Random, count: int, box: Box = _GRID) -> list[list[float]]:
    """Return the positions of some places."""
    return [[float(part) for part in place(rng, box).split(",")] for _ in range(count)]


def areas(rng: random.Random, box: Box = _GRID) -> object:
    """Return areas as GeoJSON, valid or not."""
    if rng.random() < 0.2:
        return rng.choice(_VALUES)
    if rng.random() < 0.6:
        lat, lon = box.place(rng)
        ring = [[lon, lat], [lon + 0.001, lat], [lon, lat + 0.001]]
    else:
        ring = positions(rng, rng.choice((0, 1, 3, 3, 3, 5)), box)
    made: object = {"type": "Polygon", "coordinates": [[*ring, *ring[:1]]]}
    for _ in range(rng.choice((0, 0, 0, 0, 1, 2, 200))):
        kind = rng.choice(
            (("Feature", "geometry"), ("FeatureCollection", "features"), ("GeometryCollection", "geometries"))
        )
        made = {"type": kind[0], kind[1]: made if kind[0] == "Feature" else [made, rng.choice(_VALUES)]}
    return made


def opportunities(rng: random.Random, names: tuple[str, ...], box: Box = _GRID) -> dict[str, object]:
    """Return a body of a request for opportunities with some of its members, valid or not."""
    number = rng.randrange(1, 4)
    made: dict[str, object] = {"origins": positions(rng, 2, box), "opportunities": positions(rng, number, box)}
    decay = rng.choice(
        (
            {"function": "exponential", "scale": rng.choice((1, 60.0, 1e-300, 1e300))},
            {"function": "gaussian", "scale": 60, "limit": 200},
            {"function": "power", "exponent": rng.choice((1, 300)), "least": 1e-9, "limit": 100},
            {"function": "table", "distances": [0, 60], "weights": [1, rng.choice((0, 2, True))]},
            {"function": "linear", "limit": rng.choice(_VALUES)},
        )
    )
    fine = {
        "limits": [rng.choice((1, 60.5, 1e4))],
        "decays": [decay],
        "weights": [rng.choice((1, 2.5, -1, 1e308, 2**63, 2**64))] * number,
        "number": rng.randrange(1, 5),
        "limit": 100,
        "metric": rng.choice(("duration", "distance", "weight")),
        "reverse": True,
        "avoid": areas(rng, box),
        "exclude": ["motorway"],
    }
    known = sorted(fine.keys() & set(names))
    made |= {name: fine[name] for name in rng.sample(known, rng.randrange(5)) + ["limits"] * ("limits" in known)}
    if rng.random() < 0.2:
        made[rng.choice(sorted(fine))] = rng.choice(_VALUES)
    return made


def body(rng: random.Random, box: Box = _GRID) -> tuple[str, bytes]:
    """Return path and body of a request with one, valid or not."""
    made: dict[str, object] = {"coordinates": positions(rng, rng.randrange(4), box)}
    for name in rng.sample(sorted(PARAMETERS), rng.randrange(4)):
        made[name] = rng.choice(_VALUES)
    if rng.random() < 0.3:
        made = {"coordinates": positions(rng, 2, box)}
        made["avoid"], made["metric"] = areas(rng, box), rng.choice(("duration", "distance", "weight"))
    if rng.random() < 0.2:
        made["coordinates"] = rng.choice(_VALUES)
    path = f"/{rng.choice(('route', 'nearest', 'table', 'match', 'trip', 'tile'))}/v1/car"
    kind = rng.random()
    if kind < 0.3:
        service, names = rng.choice((("accessibility", ACCESSIBILITY), ("opportunities", OPPORTUNITIES)))
        path, made = f"/{service}/v1/car", opportunities(rng, names, box)
    elif kind < 0.5:
        path = rng.choice(("/isochrone", "/speeds"))
        members = ("locations", "contours", "costing", "reverse", "profile", "speeds")
        made = {name: rng.choice(_VALUES) for name in members}
        if rng.random() < 0.5:
            made |= {
                "locations": [{"lat": 0.01, "lon": 0.01}],
                "contours": [{"time": rng.choice((1, 0.5, rng.choice(_VALUES)))}],
            }
            made["reverse"] = rng.random() < 0.5
            if rng.random() < 0.5:
                made["exclude_polygons"] = areas(rng, box)
    data = bytearray(json.dumps(rng.choice(_VALUES) if rng.random() < 0.05 else made).encode())
    if rng.random() < 0.2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return path, bytes(data)


def value(rng: random.Random, name: str, schema: dict[str, Any], number: int, box: Box) -> object:
    """Return what a schema of the description of the services allows, and sometimes something else.

    Arrays mostly have an entry for each of a number of places.
    """
    if rng.random() < 0.03:
        return rng.choice(_VALUES)
    if name == "avoid":
        return areas(rng, box)
    if name in ("coordinates", "origins", "opportunities") and "oneOf" in schema:
        return positions(rng, number, box)
    if "oneOf" in schema:
        schema = rng.choice(schema["oneOf"])
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        count = schema.get("minItems", number if rng.random() < 0.8 else rng.randrange(4))
        return [value(rng, "", schema["items"], number, box) for _ in range(count)]
    if kind == "object":
        members = schema.get("properties", {})
        needed = schema.get("required", [])
        chosen = {*needed, *rng.sample(sorted(members), rng.randrange(len(members) + 1))}
        return {one: value(rng, one, members.get(one, {}), number, box) for one in sorted(chosen)}
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "integer":
        return rng.choice((0, 1, 2, 3, 10, 2**31))
    if kind == "number":
        return rng.choice((0, 1, 2.5, 60, 359.9, -1, 1e-9, 1e9))
    return rng.choice(("motorway", "polyline6(_ibE_ibE)", "1,2", *_WORDS)) if kind == "string" else None


def as_text(given: object) -> str:
    """Return a value as URLs have it."""
    if isinstance(given, list):
        return (";" if any(isinstance(one, list | type(None)) for one in given) else ",").join(map(as_text, given))
    return "" if given is None else str(given).lower() if isinstance(given, bool) else str(given)


def described(rng: random.Random, box: Box = _GRID) -> tuple[str, str, bytes | None]:
    """Return method, path and body of a request that the description of the services allows, or nearly so."""
    path, method, operation = rng.choice(_OPERATIONS)
    number = rng.randrange(1, 5)
    coordinates = ";".join(place(rng, box) for _ in range(number))
    zoom = rng.randrange(11, 21)
    x, y = (2 ** (zoom - 1) + rng.randrange(-2, 3) for _ in range(2))
    path = path.format(profile="car", coordinates=coordinates, place=place(rng, box), zoom=zoom, x=x, y=y)
    names = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
    chosen = rng.sample(names, min(len(names), rng.randrange(7)))
    pairs = [(name, as_text(value(rng, name, _SCHEMAS[name], number, box))) for name in chosen]
    rings = ";".join(",".join(place(rng, box) for _ in range(3)) for _ in range(number))
    pairs = [(name, rings if name == "avoid" and rng.random() < 0.8 else text) for name, text in pairs]
    if pairs:
        path += "?" + "&".join(f"{name}={quote(text, safe=';,()', errors='replace')}" for name, text in pairs)
    if "requestBody" not in operation:
        return method.upper(), path, None
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return method.upper(), path, json.dumps(value(rng, "", schema, number, box)).encode()


def message(rng: random.Random, box: Box = _GRID) -> tuple[bytes, bool]:
    """Return the bytes of a request, and whether they have to be answered."""
    kind = rng.random()
    if kind < 0.03:
        return rng.randbytes(rng.randrange(1, 300)), False
    if kind < 0.3 or kind > 0.8:
        method, path, content = ("POST", *body(rng, box)) if kind < 0.3 else described(rng, box)
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode()
        if content is not None:
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(content)
        made = head + b"\r\n" + (content or b"")
    else:
        method = rng.choices(("GET", "HEAD", "OPTIONS", "PUT", "DELETE"), (90, 4, 2, 2, 2))[0]
        made = f"{method} {target(rng, box)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode(
            "utf-8", "replace"
        )
    if kind > 0.97:
        data = bytearray(made)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data), False
    return made, True


def asked(port: int, data: bytes, *, is_whole: bool = True) -> bytes:
    """Return what a server answers to some bytes; if they may be no whole request, it is told that no more follow."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as link:
        link.sendall(data)
        if not is_whole:
            link.shutdown(socket.SHUT_WR)
        while part := link.recv(1 << 16):
            answer += part
    return answer


def kibibytes(process: int) -> int:
    """Return the memory of a process and of those that it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    found = re.search(r"Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text())
    return int(found[1] if found else 0) + sum(kibibytes(int(child)) for child in children)


def fuzz(requests: int, seed: int = 0) -> tuple[Counter[str], list[tuple[bytes, bytes]]]:
    """Send requests to a server of its own; return the number of answers by status, and failures with their answers."""
    rng, failures, statuses = random.Random(seed), list[tuple[bytes, bytes]](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path, extract = Path(folder) / "grid.graph", Path(folder) / "grid.osm"
        extract.write_text(grid())
        read_graph(extract, turns="costs").save(path)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "vkssp", "serve", f"car={path}", "--port", str(port), "--device", "cpu", "-q"]
        server = subprocess.Popen(command, env={**os.environ, "VKSSP_SERVER_TOKEN": "secret"})
        try:
            _wait(server, port)
            begin = 0
            for number in range(requests):
                if number == requests // 10:  # when caches are filled
                    begin = kibibytes(server.pid)
                data, has_answer = message(rng)
                try:
                    answer = asked(port, data, is_whole=has_answer)
                except OSError as error:
                    answer = b"" if isinstance(error, ConnectionResetError) else repr(error).encode()
                status = answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/1.1 ") else "none"
                statuses[status] += 1
                if status == "500" or (has_answer and status == "none") or b"timed out" in answer:
                    failures.append((data, answer))
            print(f"memory in KiB: {begin} after a tenth of the requests, {kibibytes(server.pid)} at the end")
            if not asked(port, _HEALTH).startswith(b"HTTP/1.1 200"):
                failures.append((b"/health", b""))
        finally:
            server.terminate()
            server.wait(60)
    return statuses, failures


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(1200):
        if server.poll() is not None:
            raise SystemExit("the server has ended")
        try:
            if asked(port, _READY).startswith(b"HTTP/1.1 200"):
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("the server is not ready after two minutes")


if __name__ == "__main__":
    counted, broken = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(dict(counted.most_common()))
    for sent, got in broken[:20]:
        print(sent[:600], "->", got[:300])
    sys.exit(f"{len(broken)} failures" if broken else 0)
