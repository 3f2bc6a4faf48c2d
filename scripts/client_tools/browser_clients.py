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

CLIENTS = ("leaflet-routing-machine",)
#: A browser that asks nobody but the server and the pages.
_ARGUMENTS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-gpu"),
    *("--disable-component-update", "--disable-sync"),
)
_PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>A route</title>
<link rel="stylesheet" href="/node_modules/leaflet/dist/leaflet.css">
<link rel="stylesheet" href="/node_modules/leaflet-routing-machine/dist/leaflet-routing-machine.css">
<script src="/node_modules/leaflet/dist/leaflet.js"></script>
<script src="/node_modules/leaflet-routing-machine/dist/leaflet-routing-machine.js"></script>
<div id="map" style="width: 1000px; height: 700px"></div>
<script>
  const map = L.map("map", { zoomAnimation: false, fadeAnimation: false });
  const found = [], errors = [];
  const control = L.Routing.control({
    waypoints: PLACES.map(([lon, lat]) => L.latLng(lat, lon)),
    router: L.Routing.osrmv1({ serviceUrl: "URL/route/v1", profile: "driving" }),
    showAlternatives: true,
    fitSelectedRoutes: true,
  });
  control.on("routesfound", (event) => found.push(event));
  control.on("routingerror", (event) => errors.push(event.error.message));
  control.addTo(map);
</script>
"""


@contextmanager
def _pages(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; yield the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def run(
    name: str,
    url: str,
    folder: Path,
    places: list[list[float]],
    route: Callable[[list[tuple[float, float]]], dict[str, Any]],
) -> dict[str, Any]:
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
        Returns what the client should get for places: latitude and longitude.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        return {"checks": 1, "failed": ["there is no chromium"]}
    from playwright.sync_api import sync_playwright

    page_file = folder / "page.html"
    page_file.write_text(_PAGE.replace("PLACES", json.dumps(places[:2])).replace("URL", url))
    with sync_playwright() as found, _pages(folder) as address:
        browser = found.chromium.launch(executable_path=chromium, args=list(_ARGUMENTS))
        try:
            page = browser.new_page(viewport={"width": 1100, "height": 800})
            problems = list[str]()
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(f"{address}/page.html")
            return _routing_machine(page, problems, route)
        finally:
            browser.close()


def _routing_machine(
    page: Any, problems: list[str], route: Callable[[list[tuple[float, float]]], dict[str, Any]]
) -> dict[str, Any]:
    failed, checks = problems, 0

    def check(what: str, holds: object) -> None:
        nonlocal checks
        checks += 1
        if not holds:
            failed.append(what)

    def compared(number: int) -> None:
        page.wait_for_function(f"found.length >= {number} || errors.length", timeout=30_000)
        check(f"errors: {page.evaluate('errors')}", page.evaluate("errors.length") == 0)
        got = page.evaluate(
            "(() => { const event = found.at(-1), route = event.routes[0]; return {"
            "places: event.waypoints.map(({latLng}) => [latLng.lat, latLng.lng]),"
            "seconds: route.summary.totalTime, metres: route.summary.totalDistance,"
            "line: route.coordinates.map(({lat, lng}) => [lng, lat]), texts: route.instructions.map(one => one.text)"
            "}; })()"
        )
        expected = route([(lat, lon) for lat, lon in got["places"]])
        check(f"{got['seconds']} s, not {expected['duration']}", abs(got["seconds"] - expected["duration"]) < 0.2)
        check(f"{got['metres']} m, not {expected['distance']}", abs(got["metres"] - expected["distance"]) < 0.2)
        check(
            "the line",
            {tuple(round(part, 5) for part in point) for point in got["line"]}
            >= {tuple(round(part, 5) for part in point) for point in expected["geometry"][1:-1]}
            or len(got["line"]) >= len(expected["geometry"]),
        )
        check(f"texts: {got['texts']}", len(got["texts"]) >= 2 and all(got["texts"]))

    compared(1)
    check("a line is drawn", page.locator("path.leaflet-interactive").count() > 0)
    rows = page.locator(".leaflet-routing-alt:not(.leaflet-routing-alt-minimized) tr")
    check("the itinerary has rows", rows.count() >= 2 and all(text.strip() for text in rows.all_text_contents()))
    # The middle of the line is dragged away, which makes a via.
    before = page.evaluate("found.length")
    at = page.evaluate(
        "(() => { const line = found.at(-1).routes[0].coordinates;"
        "const {x, y} = map.latLngToContainerPoint(line[Math.floor(line.length / 2)]);"
        "const box = document.getElementById('map').getBoundingClientRect(); return [box.left + x, box.top + y]; })()"
    )
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 25, at[1] + 25, steps=5)
    page.mouse.up()
    page.wait_for_function(f"found.length > {before} && found.at(-1).waypoints.length == 3", timeout=30_000)
    page.wait_for_timeout(500)
    compared(before + 1)
    return {"checks": checks, "failed": failed}
