"""Clients in a browser, which asks a server of another origin."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: What a client should get for places: latitude and longitude.
Route = Callable[[list[tuple[float, float]]], dict[str, Any]]

#: A browser that asks nobody but the server and the pages, and draws with WebGL without a GPU.
_ARGUMENTS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
_TIMEOUT_MS = 30_000
_LEAFLET = """<!DOCTYPE html><meta charset="utf-8"><title>A route</title>
<link rel="stylesheet" href="/node_modules/leaflet/dist/leaflet.css">
<link rel="stylesheet" href="/node_modules/leaflet-routing-machine/dist/leaflet-routing-machine.css">
<script src="/node_modules/leaflet/dist/leaflet.js"></script>
<script src="/node_modules/leaflet-routing-machine/dist/leaflet-routing-machine.js"></script>
<div id="map" style="width: 1000px; height: 700px"></div>
<script>
  const map = L.map("map", { zoomAnimation: false, fadeAnimation: false });
  window.found = [];
  window.errors = [];
  const control = L.Routing.control({
    waypoints: PLACES.map(([lon, lat]) => L.latLng(lat, lon)),
    router: L.Routing.osrmv1({ serviceUrl: "URL/route/v1", profile: "driving" }),
    showAlternatives: true,
    fitSelectedRoutes: true,
  });
  control.on("routesfound", ({ waypoints, routes: [route] }) => found.push({
    places: waypoints.map(({ latLng }) => [latLng.lat, latLng.lng]),
    seconds: route.summary.totalTime,
    metres: route.summary.totalDistance,
    texts: route.instructions.map((one) => one.text),
    line: route.coordinates.map(({ lat, lng }) => [lng, lat]),
  }));
  control.on("routingerror", (event) => errors.push(event.error.message));
  control.addTo(map);
</script>
"""
_MAPLIBRE = """<!DOCTYPE html><meta charset="utf-8"><title>A route</title>
<link rel="stylesheet" href="/node_modules/maplibre-gl/dist/maplibre-gl.css">
<script src="/node_modules/maplibre-gl/dist/maplibre-gl.js"></script>
<div id="map" style="width: 1000px; height: 700px"></div>
<script type="module">
  import Directions from "/node_modules/@maplibre/maplibre-gl-directions/dist/maplibre-gl-directions.js";
  window.found = [];
  window.errors = [];
  const places = PLACES;
  window.map = new maplibregl.Map({
    container: "map", style: { version: 8, sources: {}, layers: [] }, center: places[0], zoom: 13, fadeDuration: 0,
  });
  map.on("load", () => {
    window.directions = new Directions(map, { api: "URL/route/v1", profile: "driving",
      requestOptions: { overview: "full", steps: "true", alternatives: "true" } });
    directions.interactive = true;
    directions.on("fetchroutesend", ({ data: { directions: got } }) => {
      if (!got || got.code !== "Ok") { errors.push(JSON.stringify(got)); return; }
      const [route] = got.routes;
      found.push({
        places: directions.waypoints.map(([lon, lat]) => [lat, lon]),
        seconds: route.duration, metres: route.distance,
        texts: route.legs.flatMap((leg) => leg.steps.map((step) => step.maneuver.type)), line: null,
      });
    });
    directions.setWaypoints(places);
  });
</script>
"""


def _is_near(one: list[float], other: list[float]) -> bool:
    """Return whether two places are one, within the precision of a polyline."""
    return all(abs(a - b) <= 1.1e-5 for a, b in zip(one, other, strict=True))


class _Page:
    """Page of a client, and the checks of what it got."""

    def __init__(self, page: Any, route: Route) -> None:
        self.page, self._route = page, route
        self.count, self.failed = 0, list[str]()
        page.on("pageerror", lambda error: self.failed.append(str(error)))

    def check(self, what: str, holds: object) -> None:
        """Count a check."""
        self.count += 1
        if not holds:
            self.failed.append(what)

    def routes(self) -> int:
        """Return the number of answers so far."""
        return int(self.page.evaluate("found.length"))

    def compare(self, places: int, after: int = 0) -> None:
        """Wait for a route between a number of places after some answers, and compare the last answer."""
        wanted = f"window.found && found.length > {after} && found.at(-1).places.length == {places}"
        self.page.wait_for_function(f"{wanted} || window.errors && errors.length", timeout=_TIMEOUT_MS)
        self.page.wait_for_timeout(500)  # a pointer that moves may have asked for more
        errors = self.page.evaluate("errors")
        self.check(f"errors: {errors}", not errors)
        got = self.page.evaluate("found.at(-1)")
        expected = self._route([(round(lat, 6), round(lon, 6)) for lat, lon in got["places"]])
        self.check(f"{got['seconds']} s, not {expected['duration']}", abs(got["seconds"] - expected["duration"]) < 0.2)
        self.check(f"{got['metres']} m, not {expected['distance']}", abs(got["metres"] - expected["distance"]) < 0.2)
        self.check(f"texts: {got['texts']}", len(got["texts"]) >= 2 and all(got["texts"]))
        if got["line"] is not None:  # with more points where steps meet
            lines = got["line"], expected["geometry"]
            near = [all(any(_is_near(p, q) for q in other) for p in line) for line, other in (lines, lines[::-1])]
            self.check("the line", all(near))

    def drag(self, point: str) -> None:
        """Drag what is at a point of the map, given by an expression, to another place."""
        at = self.page.evaluate(f"(() => {{ const {{x, y}} = {point}; return [x, y]; }})()")
        box = self.page.locator("#map").bounding_box()
        x, y = box["x"] + at[0], box["y"] + at[1]
        self.page.mouse.move(x - 3, y)
        self.page.mouse.move(x, y, steps=3)
        self.page.mouse.down()
        self.page.mouse.move(x + 25, y + 25, steps=5)
        self.page.mouse.up()


def _leaflet_routing_machine(client: _Page) -> None:
    page = client.page
    client.compare(2)
    client.check("a line is drawn", page.locator("path.leaflet-interactive").count() > 0)
    rows = page.locator(".leaflet-routing-alt:not(.leaflet-routing-alt-minimized) tr")
    client.check("the itinerary has rows", rows.count() >= 2 and all(map(str.strip, rows.all_text_contents())))
    before = client.routes()
    page.evaluate("window.middle = found.at(-1).line[Math.floor(found.at(-1).line.length / 2)]")
    client.drag("map.latLngToContainerPoint([middle[1], middle[0]])")
    client.compare(3, before)


def _maplibre_gl_directions(client: _Page) -> None:
    page = client.page
    client.compare(2)
    page.wait_for_function("map.loaded()", timeout=_TIMEOUT_MS)
    drawn = "map.queryRenderedFeatures({layers: map.getStyle().layers.map((one) => one.id)}).map((one) => one.layer.id)"
    client.check("a line is drawn", any("routeline" in name for name in page.evaluate(drawn)))
    before = client.routes()
    client.drag("map.project(directions.waypoints[0])")
    client.compare(2, before)
    before = client.routes()
    page.evaluate("directions.addWaypoint(map.getCenter().toArray(), 1)")
    client.compare(3, before)


#: Clients: their page, and their checks.
CLIENTS: dict[str, tuple[str, Callable[[_Page], None]]] = {
    "leaflet-routing-machine": (_LEAFLET, _leaflet_routing_machine),
    "@maplibre/maplibre-gl-directions": (_MAPLIBRE, _maplibre_gl_directions),
}


@contextmanager
def _pages(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def run(name: str, url: str, folder: Path, places: list[list[float]], route: Route) -> dict[str, Any]:
    """Return the number of checks of a client, and those that failed.

    Parameters
    ----------
    name : str
        One of `CLIENTS`.
    url : str
        Address of the server.
    folder : Path
        Folder with ``node_modules``.
    places : list of list of float
        Longitude and latitude of the places of a route.
    route : callable
        Returns what the client should get for places.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        return {"checks": 1, "failed": ["there is no chromium"]}
    from playwright.sync_api import Error, sync_playwright

    text, checks = CLIENTS[name]
    (folder / "page.html").write_text(text.replace("PLACES", json.dumps(places[:2])).replace("URL", url))
    with sync_playwright() as found, _pages(folder) as address:
        browser = found.chromium.launch(executable_path=chromium, args=list(_ARGUMENTS))
        try:
            client = _Page(browser.new_page(viewport={"width": 1100, "height": 800}), route)
            client.page.goto(f"{address}/page.html")
            try:
                checks(client)
            except Error as error:
                client.check(str(error), False)
            return {"checks": client.count, "failed": client.failed}
        finally:
            browser.close()
