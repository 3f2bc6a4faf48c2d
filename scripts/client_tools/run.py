"""Serve an extract, find with `Router` what clients should get, and run them; scripts/test_clients calls this.

Usage: run.py EXTRACT FOLDER [CLIENT...]

FOLDER has the installed clients, and gets the graph and a file of cases.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import browser_clients
import numpy as np
import numpy.typing as npt

from vkssp import Graph, Router, read_graph
from vkssp.errors import VksspError
from vkssp.server.answers.legs import whole_line
from vkssp.server.dataset import SNAPPING

TOOLS = Path(__file__).parent
#: Numbers of routes that are compared and of those whose instructions are compiled, and of places of the table.
ROUTES, INSTRUCTIONS, OF_TABLE = 12, 30, 11
#: Zoom of the tiles that are compared, and units of a tile along its side.
ZOOM, EXTENT = 16, 4096
PYTHON = (
    *("routingpy", "polyline", "py-osrm-client", "osrm-py", "thinwrap-location", "cartons", "pyvroom"),
    "mapbox-vector-tile",
)
NODE = ("osrm-text-instructions", "@mapbox/polyline", "@mapbox/vector-tile", "osrm-rest-client")


def lon_lat(points: Any) -> list[list[float]]:
    """Return places as clients have them: longitude first."""
    return [[round(float(lon), 6), round(float(lat), 6)] for lat, lon in points]


class Cases:
    """What clients ask, and what they should get."""

    def __init__(self, router: Router, seed: int = 1) -> None:
        self.router, self._rng = router, random.Random(seed)

    def place(self) -> tuple[float, float]:
        """Return a place near a random node of the graph, which begins a route."""
        graph = self.router.graph
        assert graph.lat is not None and graph.lon is not None
        while True:
            node = self._rng.randrange(graph.num_nodes)
            lat, lon = (float(of[node]) + self._rng.gauss(0, 1e-4) for of in (graph.lat, graph.lon))
            place = round(lat, 6), round(lon, 6)
            try:
                ends = self.router.route(place, self._hub()).places[0], self.router.route(self._hub(), place).places[1]
            except VksspError:
                continue
            (nearest,) = self.router.nearest(place)
            # Beside a street that can only be left, or only be reached, a radius changes the street that is taken.
            if all((end.snapped_lat, end.snapped_lon) == (nearest.snapped_lat, nearest.snapped_lon) for end in ends):
                return place

    def _hub(self) -> tuple[float, float]:
        graph = self.router.graph
        assert graph.lat is not None and graph.lon is not None
        node = int(np.argmax(np.bincount(graph.head)))  # with the most streets, thus not on an island
        return float(graph.lat[node]), float(graph.lon[node])

    def route(self, places: list[tuple[float, float]]) -> dict[str, Any]:
        """Return a route that clients should get."""
        begin, *via, end = places
        route = self.router.route(begin, end, via=via)
        return {
            "places": lon_lat(places),
            "duration": route.duration_s,
            "distance": route.distance_m,
            "legs": [leg.duration_s for leg in route.legs],
            "geometry": lon_lat(whole_line(self.router.graph, route)),
        }

    def all(self) -> dict[str, Any]:
        """Return all cases."""
        router, rng = self.router, self._rng
        routes = [self.route([self.place() for _ in range(rng.randrange(2, 5))]) for _ in range(ROUTES)]
        others = [{"places": lon_lat([self.place() for _ in range(3)])} for _ in range(INSTRUCTIONS)]
        places = [self.place() for _ in range(OF_TABLE)]
        values = router.table(places, places, ["duration", "distance"]).read()
        nearest = []
        for place in places:
            found = router.nearest(place)[0]
            location = lon_lat([(found.snapped_lat, found.snapped_lon)])[0]
            nearest.append({"place": lon_lat([place])[0], "location": location, "distance": found.snapped_m})
        trip = router.trip(places[:8])
        line = router.route(places[0], places[1]).points
        assert line is not None
        trace = [tuple(point) for point in line[:: max(1, len(line) // 8)]]
        match = router.match(trace)
        return {
            "routes": routes,
            "instructions": others,
            "table": {
                "places": lon_lat(places),
                "durations": np.round(values["duration"], 2).tolist(),
                "distances": np.round(values["distance"], 2).tolist(),
            },
            "nearest": nearest,
            "trip": {"places": lon_lat(places[:8]), "duration": trip.route.duration_s},
            "match": {
                "places": lon_lat(trace),
                "times": [30 * number + 1 for number in range(len(trace))],
                "duration": sum(route.duration_s or 0.0 for route in match.routes),
            },
            "isochrone": {"place": lon_lat([self._hub()])[0], "seconds": [60, 120]},
            "tiles": [self.tile(place) for place in places[:3]],
        }

    def tile(self, place: tuple[float, float]) -> dict[str, Any]:
        """Return the pieces of streets inside of the tile around a place, with their speeds, and its OSM nodes."""
        graph = self.router.graph
        streets = graph.streets
        assert streets is not None and streets.point_node is not None
        at = mercator(np.array([place]))[0]
        corner = np.floor(at)
        points = (mercator(streets.points / 1e7) - corner) * EXTENT
        units = np.rint(points).astype(int)
        inside = ((units > 1) & (units < EXTENT - 1)).all(axis=1)
        rows, seen = [], set[tuple[int, bool]]()
        for arc in np.flatnonzero(streets.length > 0):
            line = int(streets.polyline[arc])
            side = line, bool(streets.backward[arc])
            if side in seen:  # an arc of the same street, after another turn
                continue
            seen.add(side)
            first, last = int(streets.polyline_first[line]), int(streets.polyline_first[line + 1])
            between = range(first, last - 1)
            if not any(inside[i] and inside[i + 1] for i in between):
                continue
            seconds = driving_seconds(graph, int(arc))
            speed = int(3.6 * float(streets.length[arc]) / seconds + 0.5)
            for i in between:
                if inside[i] and inside[i + 1]:
                    ends = (i + 1, i) if streets.backward[arc] else (i, i + 1)
                    rows.append([*units[ends[0]].tolist(), *units[ends[1]].tolist(), speed])
        nodes = sorted({int(node) for node in streets.point_node[inside] if node > 0})
        return {"x": int(corner[0]), "y": int(corner[1]), "z": ZOOM, "pieces": sorted(rows), "nodes": nodes}


def driving_seconds(graph: Graph, arc: int) -> float:
    """Return the seconds of an arc, without those of the turn into it."""
    streets = graph.streets
    assert streets is not None
    weight = float(graph.weight[arc]) - (0.0 if streets.turn is None else float(streets.turn[arc]))
    return weight * streets.seconds_per_weight


def mercator(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return tiles to the east and to the south of places in degrees, at `ZOOM`."""
    lat, lon = np.radians(points[:, 0]), points[:, 1]
    return np.stack([(lon + 180) / 360, (1 - np.log(np.tan(lat) + 1 / np.cos(lat)) / np.pi) / 2], axis=-1) * 2**ZOOM


@contextmanager
def served(graph: Path) -> Iterator[str]:
    """Run a server; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vkssp", "serve", f"car={graph}", "--port", str(port), "--device", "cpu", "-q"]
    server = subprocess.Popen(command)
    try:
        for _ in range(1200):
            if server.poll() is not None:
                raise SystemExit("the server has ended")
            try:
                with urlopen(f"http://127.0.0.1:{port}/ready"):
                    break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def told_by(command: list[str]) -> dict[str, Any]:
    """Return what a process prints as JSON; if it fails, that is the only check, and it failed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return {"checks": 1, "failed": [done.stderr.strip()[-2000:]]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def version_of(name: str, folder: Path) -> str:
    """Return the version of an installed client."""
    if name in PYTHON:
        paths = [str(path) for path in folder.glob("python/lib/python*/site-packages")]
        found = metadata.distributions(name=name, path=[*paths, str(folder / "python/osrm-py")])
        return next(iter(found)).version
    return str(json.loads((folder / "node_modules" / name / "package.json").read_text())["version"])


def main() -> None:
    """Run the clients, and print a table."""
    extract, folder, chosen = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    names = [*PYTHON, *NODE, *browser_clients.CLIENTS]
    if unknown := sorted({*chosen} - {*names}):
        raise SystemExit(f"there is no client {unknown[0]}; there are {', '.join(names)}")
    raw, graph = folder / "raw.graph", folder / "served.graph"
    vkssp = [sys.executable, "-m", "vkssp"]
    subprocess.run([*vkssp, "import", str(extract), str(raw), "--turns", "costs", "-q"], check=True)
    subprocess.run([*vkssp, "prepare", str(raw), str(graph), "-q"], check=True)
    failures = 0
    with Router(read_graph(graph), device="cpu", **SNAPPING) as router, served(graph) as url:
        cases, file = Cases(router), folder / "cases.json"
        found = cases.all()
        file.write_text(json.dumps(found))
        print("| client | version | checks | failed |\n|---|---|---|---|")
        for name in chosen or names:
            if name in PYTHON:
                python = str(folder / "python/bin/python")
                told = told_by([python, str(TOOLS / "python_clients.py"), name, url, str(file)])
            elif name in NODE:
                script = shutil.copy(TOOLS / "node_clients.js", folder)  # beside the packages that it imports
                told = told_by(["node", str(script), name, url, str(file)])
            else:
                told = browser_clients.run(name, url, folder, found["routes"][0]["places"], cases.route)
            print(f"| {name} | {version_of(name, folder)} | {told['checks']} | {len(told['failed'])} |", flush=True)
            for text in told["failed"][:5]:
                print(f"    {text}", file=sys.stderr)
            failures += bool(told["failed"] or not told["checks"])
    sys.exit(f"{failures} clients failed" if failures else 0)


if __name__ == "__main__":
    main()
