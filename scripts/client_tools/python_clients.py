"""Clients in Python: each asks a server, and compares what it gets with what `Router` has found.

Usage: python_clients.py CLIENT URL CASES.json

Prints one object of JSON: the number of checks, and those that failed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROFILE = "driving"


class Checks:
    """Comparisons, and those that failed."""

    def __init__(self) -> None:
        self.count, self.failed = 0, list[str]()

    def near(self, what: str, got: Any, expected: Any, within: float = 0.11) -> None:
        """Compare numbers, or lists of them."""
        pairs = list(zip(flat(got), flat(expected), strict=False))
        self.true(
            f"{what}: {short(got)} is not {short(expected)}",
            len(flat(got)) == len(flat(expected))
            and all(one is two if one is None or two is None else abs(one - two) <= within for one, two in pairs),
        )

    def true(self, what: str, holds: object) -> None:
        """Count a check."""
        self.count += 1
        if not holds:
            self.failed.append(what)


def flat(value: Any) -> list[Any]:
    """Return the numbers of nested lists."""
    if isinstance(value, list | tuple):
        return [number for part in value for number in flat(part)]
    return [value]


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 200 else f"{text[:200]}..."


def swapped(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    return [(y, x) for x, y in points]


def routingpy(url: str, cases: dict[str, Any], checks: Checks) -> None:
    from routingpy.routers import OSRM, Valhalla

    client = OSRM(base_url=url)
    for case in cases["routes"]:
        route = client.directions(case["places"], profile=PROFILE, overview="full", steps=True)
        checks.near("duration", route.duration, case["duration"], 1.0)  # cut off to whole seconds
        checks.near("distance", route.distance, case["distance"], 1.0)
        checks.near("geometry", [list(point) for point in route.geometry], case["geometry"], 1.01e-5)
    table = client.matrix(cases["table"]["places"], profile=PROFILE, annotations=["duration", "distance"])
    checks.near("durations", table.durations, cases["table"]["durations"])
    checks.near("distances", table.distances, cases["table"]["distances"])
    part = client.matrix(cases["table"]["places"], profile=PROFILE, sources=[1, 2], destinations=[0])
    checks.near("part of a table", part.durations, [row[:1] for row in cases["table"]["durations"][1:3]])
    case = cases["isochrone"]
    areas = Valhalla(base_url=url).isochrones([case["place"]], profile=PROFILE, intervals=case["seconds"])
    checks.near("limits", sorted(area.interval for area in areas), sorted(case["seconds"]))
    from shapely.geometry import Point, Polygon

    for area in areas:
        polygon = Polygon(area.geometry[0])
        checks.true(f"area of {area.interval} s", polygon.is_valid and polygon.distance(Point(case["place"])) < 1e-3)


def polyline(url: str, cases: dict[str, Any], checks: Checks) -> None:
    import polyline as decoder
    import requests

    for case in cases["routes"]:
        for form, digits in (("polyline", 5), ("polyline6", 6)):
            path = f"{url}/route/v1/{PROFILE}/{text_of(case['places'])}?overview=full&steps=true&geometries={form}"
            route = requests.get(path, timeout=60).json()["routes"][0]
            got = swapped(decoder.decode(route["geometry"], digits))
            checks.near(form, got, case["geometry"], 1.01 * 10**-digits)
            steps = [decoder.decode(step["geometry"], digits) for leg in route["legs"] for step in leg["steps"]]
            joined = [point for step in steps for point in step]
            checks.true(f"{form} of steps", {*joined} <= {*swapped(got)} or len(case["places"]) > 2)
        # The same place as a URL: what the package encodes is what the server decodes.
        encoded = decoder.encode(swapped(case["places"]), 6)
        path = f"{url}/route/v1/{PROFILE}/polyline6({requests.utils.quote(encoded, safe='')})?overview=false"
        checks.near("places", requests.get(path, timeout=60).json()["routes"][0]["duration"], case["duration"])


def text_of(places: Sequence[Sequence[float]]) -> str:
    return ";".join(f"{lon},{lat}" for lon, lat in places)


def py_osrm_client(url: str, cases: dict[str, Any], checks: Checks) -> None:
    import osrm

    with osrm.OsrmClient(base_url=url, default_profile=PROFILE) as client:
        for case in cases["routes"]:
            found = client.route(case["places"], steps=True, annotations=True, overview="full", geometries="geojson")
            route = found.routes[0]
            checks.near("duration", route.duration, case["duration"])
            checks.near("legs", [leg.duration for leg in route.legs], case["legs"])
            checks.near("geometry", route.geometry["coordinates"], case["geometry"], 1.1e-6)
            for leg in route.legs:
                steps = leg.steps
                checks.near("steps", sum(step.duration for step in steps), leg.duration, 0.051 * (len(steps) + 1))
                checks.true("first and last", [steps[0].maneuver.type, steps[-1].maneuver.type] == ["depart", "arrive"])
        table = client.table(cases["table"]["places"], annotations=["duration", "distance"])
        checks.near("durations", table.durations, cases["table"]["durations"])
        for case in cases["nearest"]:
            (place,) = client.nearest(tuple(case["place"])).waypoints
            checks.near("location", list(place.location), case["location"], 1.1e-6)
            checks.near("distance", place.distance, case["distance"], 0.2)
        trip = client.trip(cases["trip"]["places"]).trips[0]
        checks.near("trip", trip.duration, cases["trip"]["duration"], 0.5)
        match = client.match(cases["match"]["places"], overview="full", geometries="geojson")
        checks.near("match", match.matchings[0].duration, cases["match"]["duration"], 0.2)
        try:
            client.route([(200.0, 0.0), (0.0, 0.0)])
            checks.true("an error for a place that is nowhere", False)
        except Exception as error:
            checks.true(f"{error!r}", "bad request: Invalid" in str(error))

    async def ask() -> float:
        async with osrm.OsrmAsyncClient(base_url=url) as client:
            found = await client.route(cases["routes"][0]["places"])
            return float(found.routes[0].duration)

    checks.near("asynchronous", asyncio.run(ask()), cases["routes"][0]["duration"])


def osrm_py(url: str, cases: dict[str, Any], checks: Checks) -> None:
    sys.path.insert(0, str(Path(sys.prefix) / "osrm-py"))
    import osrm

    client = osrm.Client(host=url, profile=PROFILE)
    for case in cases["routes"]:
        found = client.route(
            coordinates=case["places"], steps=True, overview=osrm.overview.full, geometries=osrm.geometries.geojson
        )
        checks.near("duration", found["routes"][0]["duration"], case["duration"])
        checks.near("geometry", found["routes"][0]["geometry"]["coordinates"], case["geometry"], 1.1e-6)
    for case in cases["nearest"]:
        found = client.nearest(coordinates=[case["place"]])
        checks.near("location", found["waypoints"][0]["location"], case["location"], 1.1e-6)
    case = cases["match"]
    found = client.match(coordinates=case["places"], radiuses=[20] * len(case["places"]), timestamps=case["times"])
    checks.true("match", found["code"] == "Ok" and len(found["tracepoints"]) == len(case["places"]))
    try:
        client.route(coordinates=case["places"][:1])
        checks.true("an error for one place", False)
    except osrm.OSRMClientException as error:
        checks.true(f"{error!r}", "InvalidOptions" in str(error))


def thinwrap_location(url: str, cases: dict[str, Any], checks: Checks) -> None:
    import polyline as decoder
    import requests
    from thinwrap.location import LatLng, Matrix, MatrixOptions, OsrmConfig, PolylineQuality, Routing, RoutingOptions
    from thinwrap.location.transport import HttpResponse

    class Plain:
        """Transport without TLS, which that of the package refuses."""

        def send(self, request: Any) -> Any:
            got = requests.request(request.method, request.url, headers=request.headers, data=request.body, timeout=60)
            return HttpResponse(
                got.status_code, {name.lower(): text for name, text in got.headers.items()}, got.content
            )

    config = OsrmConfig(base_url=url)
    for case in cases["routes"]:
        places = [LatLng(lat, lon) for lon, lat in case["places"]]
        found = Routing(config, transport=Plain()).route(
            RoutingOptions(waypoints=places, polyline_quality=PolylineQuality.DETAILED)
        )
        checks.near("duration", found.total_duration_seconds, case["duration"])
        checks.near("legs", [leg.duration_seconds for leg in found.legs], case["legs"])
        checks.near("geometry", swapped(decoder.decode(found.polyline, 5)), case["geometry"], 1.01e-5)
    places = [LatLng(lat, lon) for lon, lat in cases["table"]["places"]]
    for cell in (
        Matrix(config, transport=Plain()).matrix(MatrixOptions(origins=places[:3], destinations=places[3:])).cells
    ):
        row, column = cell.origin_index, cell.destination_index + 3
        checks.near("duration of a cell", cell.duration_seconds, cases["table"]["durations"][row][column])
        checks.near("distance of a cell", cell.distance_meters, cases["table"]["distances"][row][column])


def cartons(url: str, cases: dict[str, Any], checks: Checks) -> None:
    from cartons.formats import line_string_route

    for case in cases["routes"]:
        line = line_string_route(case["places"], PROFILE, url)
        checks.near("geometry", [list(point) for point in line.coords], case["geometry"], 1.01e-5)


def pyvroom(url: str, cases: dict[str, Any], checks: Checks) -> None:
    """Solve a problem with capacities by a table of the server, and by asking VROOM to ask the server itself."""
    import numpy as np
    import polyline as decoder
    import requests
    import vroom

    places = cases["table"]["places"]
    path = f"{url}/table/v1/{PROFILE}/{text_of(places)}"
    durations = np.array(requests.get(path, timeout=60).json()["durations"])
    matrix = np.floor(durations + 0.5).astype(np.uint32)  # rounded as VROOM does
    checks.near("table", matrix.tolist(), cases["table"]["durations"], 0.51)
    capacity, jobs = 4, range(1, len(places))

    def solved(problem: Any, place: Callable[[int], Any]) -> Any:
        for number in range(3):
            problem.add_vehicle(
                vroom.Vehicle(number, start=place(0), end=place(0), capacity=[capacity], profile=PROFILE)
            )
        for number in jobs:
            problem.add_job(vroom.Job(number, location=place(number), delivery=[1]))
        return problem.solve(exploration_level=5, nb_threads=1)

    problem = vroom.Input()
    problem.set_durations_matrix(profile=PROFILE, matrix_input=matrix)
    by_table = solved(problem, lambda number: number)
    host = url.removeprefix("http://")
    by_server = solved(
        vroom.Input(servers={PROFILE: host}, router=vroom._vroom.ROUTER.OSRM), lambda number: places[number]
    )
    for name, solution in (("table", by_table), ("server", by_server)):
        steps = solution.routes
        checks.true(f"{name}: all are served", not solution.unassigned)
        costs = 0
        for vehicle in set(steps["vehicle_id"]):
            of = steps[steps["vehicle_id"] == vehicle]
            order = [0 if kind != "job" else int(job) for kind, job in zip(of["type"], of["id"], strict=True)]
            checks.true(f"{name}: capacity", sum(kind == "job" for kind in of["type"]) <= capacity)
            costs += int(matrix[order[:-1], order[1:]].sum())
        checks.near(f"{name}: sum of the table along the routes", solution.summary.cost, costs)
    # With geometry VROOM also asks for the route of each vehicle.
    drawn = vroom.Input(servers={PROFILE: host}, router=vroom._vroom.ROUTER.OSRM)
    drawn.set_geometry()
    for vehicle in solved(drawn, lambda number: places[number]).to_dict()["routes"]:
        line = swapped(decoder.decode(vehicle["geometry"], 5))
        path = f"{url}/nearest/v1/{PROFILE}/{text_of(places[:1])}"
        depot = requests.get(path, timeout=60).json()["waypoints"][0]["location"]
        checks.near("the line of a vehicle begins and ends at the depot", [line[0], line[-1]], [depot, depot], 1e-5)
        order = [places[step["id"]] if step["type"] == "job" else places[0] for step in vehicle["steps"]]
        path = f"{url}/route/v1/{PROFILE}/{text_of(order)}?continue_straight=false"
        distance = requests.get(path, timeout=60).json()["routes"][0]["distance"]
        checks.near("metres of a vehicle", vehicle["distance"], distance, 0.5 * len(order))
    checks.near("both ways", by_server.summary.cost, by_table.summary.cost)


def mapbox_vector_tile(url: str, cases: dict[str, Any], checks: Checks) -> None:
    import mapbox_vector_tile as decoder
    import requests

    for case in cases["tiles"]:
        path = f"{url}/tile/v1/{PROFILE}/tile({case['x']},{case['y']},{case['z']}).mvt"
        layers = decoder.decode(requests.get(path, timeout=60).content, default_options={"y_coord_down": True})
        extent = layers["speeds"]["extent"]

        def inside(point: Sequence[float], extent: int = extent) -> bool:
            return all(1 < number < extent - 1 for number in point)

        got = [
            (*line[0], *line[1], feature["properties"]["speed"])
            for feature in layers["speeds"]["features"]
            if all(map(inside, line := feature["geometry"]["coordinates"]))
        ]
        checks.true(f"{len(got)} pieces of streets, not {len(case['pieces'])}", matched(got, case["pieces"]))
        points = layers["osmnodes"]["features"]
        nodes = sorted(point["id"] for point in points if inside(point["geometry"]["coordinates"]))
        checks.true(f"OSM nodes {nodes}, not {case['nodes']}", nodes == case["nodes"])
        costs = [feature["properties"]["cost"] for feature in layers["turns"]["features"]]
        checks.true("turns", len(costs) > 0 and min(costs) >= 0)


def matched(got: list[tuple[int, ...]], expected: list[list[int]]) -> bool:
    """Return whether each of some rows has its own among the others whose numbers differ by one at most."""
    left = list(got)
    for row in expected:
        at = next(
            (i for i, one in enumerate(left) if all(abs(a - b) <= 1 for a, b in zip(one, row, strict=True))), None
        )
        if at is None:
            return False
        del left[at]
    return not left


CLIENTS = {
    one.__name__.replace("_", "-"): one
    for one in (routingpy, polyline, py_osrm_client, osrm_py, thinwrap_location, cartons, pyvroom, mapbox_vector_tile)
}

if __name__ == "__main__":
    name, address, file = sys.argv[1:]
    made = Checks()
    CLIENTS[name](address, json.loads(Path(file).read_text()), made)
    print(json.dumps({"checks": made.count, "failed": made.failed}))
