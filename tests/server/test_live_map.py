"""The live map in Chromium: routes by clicks and keys, isochrones, speeds, links, phones, nothing from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.osm_maps import write_osm
from vkssp import Router, read_graph

uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
# A complete run must not leave them out on Debian, where scripts/test installs chromium.
MUST_RUN = os.environ.get("CI") == "true" and Path("/etc/debian_version").exists()
pytestmark = pytest.mark.skipif(CHROMIUM is None and not MUST_RUN, reason="there is no chromium")

# A browser that asks nobody but the page's server.
ARGUMENTS = [
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-gpu"),
    *("--disable-component-update", "--disable-sync"),
]
SIZE, STEP = 7, 0.002
NODES = {SIZE * y + x + 1: (STEP * y, STEP * x) for y in range(SIZE) for x in range(SIZE)}
ENDS = [(n, n + d) for n in NODES for d in (1, SIZE) if n + d in NODES and (d != 1 or n % SIZE)]
WAYS = [(at, list(ends), {"highway": "residential", "name": f"Street {at}"}) for at, ends in enumerate(ENDS, 1)]
#: A lake in a block, and a town on it.
LAKE = {900: (0.0044, 0.0044), 901: (0.0044, 0.0056), 902: (0.0056, 0.0056), 903: (0.0056, 0.0044)}
TOWN = {910: (0.005, 0.005, {"place": "town", "name": "Port"})}
WATER = (900, [*LAKE, 900], {"natural": "water"})
TOKEN = "secret"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from vkssp.server.app import application
    from vkssp.server.dataset import Dataset

    path = write_osm(tmp_path_factory.mktemp("live") / "grid.osm", {**NODES, **LAKE, **TOWN}, [*WAYS, WATER])
    with (
        Router(read_graph(path, turns="costs"), device="cpu") as router,
        Router(read_graph(path, basemap=False), device="cpu") as bare,
    ):
        app = application({"car": Dataset(router), "bare": Dataset(bare)}, token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with playwright.sync_playwright() as found:
        chromium = found.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page that has asked for nothing elsewhere and has had no errors at the end."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page, problems = context.new_page(), list[str]()
    page.on("pageerror", lambda error: problems.append(str(error)))
    # Requests that are refused, such as for a wrong token, show as errors, too.
    wrong = re.compile("Security Policy|Uncaught")
    page.on("console", lambda message: problems.append(message.text) if wrong.search(message.text) else None)
    page.on(
        "request", lambda request: None if request.url.startswith((address, "data:")) else problems.append(request.url)
    )
    load(page, address)
    yield page
    context.close()
    assert not problems


def load(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("html[data-ready]")


def until(page: Any, holds: Callable[[], object]) -> None:
    """Wait until something holds; the page's policy forbids to wait by scripts."""
    for _ in range(1200):  # a minute: a busy machine draws slowly
        if holds():
            return
        page.wait_for_timeout(50)
    assert holds()


def told(page: Any) -> str:
    return str(page.text_content("#summary"))


def seconds(page: Any) -> int:
    """Return the duration of the route that is told, in seconds."""
    until(page, lambda: re.match(r"\d+ (s|min), ", told(page)))
    number, unit = re.match(r"(\d+) (s|min)", told(page)).groups()  # type: ignore[union-attr]
    return int(number) * (60 if unit == "min" else 1)


def test_two_clicks_make_a_route_and_a_drag_bends_it(page: Any) -> None:
    page.mouse.click(250, 650)
    page.mouse.click(550, 250)
    assert seconds(page) > 0
    assert page.locator("#stops li").count() == 2 and page.locator("#steps li").count() >= 2
    before = told(page)
    marker = page.locator(".leaflet-marker-icon").nth(1).bounding_box()
    page.mouse.move(marker["x"] + 13, marker["y"] + 13)
    page.mouse.down()
    page.mouse.move(300, 600, steps=5)
    page.mouse.up()
    until(page, lambda: told(page) != before and not page.locator("#steps.old").count())  # not that of a moment
    assert page.locator("#stops li").count() == 2
    line = page.locator(".leaflet-routes-pane path.leaflet-interactive").last
    page.mouse.move(
        *line.evaluate(
            """(path) => {
                const at = path.getPointAtLength(path.getTotalLength() / 2), matrix = path.getScreenCTM();
                return [at.x + matrix.e, at.y + matrix.f];
            }"""
        )
    )
    page.mouse.down()
    page.mouse.move(150, 400, steps=5)
    page.mouse.up()
    until(page, lambda: page.locator("#steps li", has_text="Arrive at C").count() == 1)
    assert page.locator("#stops li").count() == 3


def test_a_double_click_zooms_and_adds_no_place(page: Any) -> None:
    zoom = page.url.partition("at=")[2].partition("&")[0]
    page.mouse.dblclick(400, 400)
    until(page, lambda: page.url.partition("at=")[2].partition("&")[0] != zoom)
    until(page, lambda: page.locator("#stops li").count() == 0)


def test_isochrones_follow_the_pointer(page: Any) -> None:
    def shape() -> str | None:
        paths = page.locator(".leaflet-reach-pane path")
        return str(paths.first.get_attribute("d")) if paths.count() == 2 else None

    page.click("button[data-mode=reach]")
    page.fill("#minutes", "0.5, 1")
    page.mouse.move(400, 400)
    page.mouse.move(410, 410)
    until(page, shape)
    first = shape()
    page.mouse.move(500, 300)
    until(page, lambda: shape() not in (first, None))


def test_isochrones_do_not_queue_up(page: Any) -> None:
    """While one is on its way, only the place where the pointer is last is asked for next."""
    held = list[Any]()
    page.route("**/isochrone/**", lambda route: held.append(route))
    page.click("button[data-mode=reach]")
    for x in range(300, 400, 10):
        page.mouse.move(x, 400)
        page.wait_for_timeout(10)
    until(page, lambda: held)
    page.wait_for_timeout(200)
    assert len(held) == 1
    held[0].continue_()
    until(page, lambda: len(held) == 2)
    page.wait_for_timeout(200)
    assert len(held) == 2 and page.evaluate("document.querySelectorAll('.leaflet-reach-pane path').length") > 0

    def lon(one: Any) -> float:
        return float(one.request.url.partition("/isochrone/v1/car/")[2].partition(",")[0])

    assert (lon(held[1]) - lon(held[0])) * 256 * 2**16 / 360 >= 85  # at zoom 16, or farther in


def colour_at(page: Any) -> list[int]:
    """Return red, green, blue and opacity of the basemap in the middle of the map, nothing if there is none."""
    found: list[int] = page.evaluate(
        """() => {
            const canvas = document.querySelector(".leaflet-basemap-pane canvas");
            if (!canvas) return [];
            const box = canvas.getBoundingClientRect(), map = document.getElementById("map").getBoundingClientRect();
            const x = map.left + map.width / 2 - box.left, y = map.top + map.height / 2 - box.top;
            return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
        }"""
    )
    return found


def test_water_lies_below_the_streets_and_follows_the_profile(page: Any, address: str) -> None:
    load(page, f"{address}#at=0.0047,0.0047,17")
    page.reload()
    until(page, lambda: colour_at(page) == [191, 214, 230, 255])  # --water
    page.emulate_media(color_scheme="dark")
    until(page, lambda: colour_at(page) == [21, 42, 61, 255])
    assert page.get_attribute(".leaflet-basemap-pane", "aria-hidden") == "true"
    page.select_option("#profile", "bare")
    until(page, lambda: colour_at(page) == [])


def test_without_its_basemap_the_page_works(page: Any, address: str) -> None:
    page.route("**/map/basemap*", lambda route: route.abort())
    page.route("**/map/basemap/*", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.mouse.click(250, 650)
    page.mouse.click(550, 250)
    assert seconds(page) > 0 and colour_at(page) == []


def test_a_basemap_is_compressed_and_kept_by_browsers(address: str) -> None:
    httpx = pytest.importorskip("httpx")
    first = httpx.get(address + "map/basemap/car", headers={"Accept-Encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip" and first.json()["places"]["names"] == ["Port"]
    tag = first.headers["etag"]
    plain = httpx.get(address + "map/basemap/car", headers={"Accept-Encoding": "gzip;q=0, br"})
    assert "content-encoding" not in plain.headers and plain.json() == first.json()
    again = httpx.get(address + "map/basemap/car", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert httpx.get(address + "map/basemap/bare").status_code == 204
    assert httpx.get(address + "map/basemap/none").status_code == 400
    profiles = httpx.get(address + "map/config.json").json()["profiles"]
    assert [one["basemap"] != "" for one in profiles] == [True, False]


def test_a_street_that_is_made_slow_changes_the_route(page: Any, address: str) -> None:
    """The only street between two places a quarter of the grid's side apart."""
    load(page, f"{address}#at=0.006,0.006,16&places=0.0003,0.0;0.0017,0.0")
    page.reload()
    before = seconds(page)
    page.click("button[data-mode=speed]")
    streets = page.locator("canvas.streets")
    until(page, lambda: 0 < streets.count() == page.locator("canvas.streets.leaflet-tile-loaded").count())
    scale, box = 256 * 2**16 / 360, page.locator("#map").bounding_box()
    page.mouse.click(box["width"] / 2 + (0.001 - 0.006) * scale, box["height"] / 2 + 0.006 * scale)
    until(page, lambda: page.text_content("#street").startswith("Street"))
    page.fill("#kmh", "2")
    page.fill("#token", "wrong")
    page.click("#set-speed")
    until(page, lambda: "Authorization" in told(page))
    page.fill("#token", TOKEN)
    page.click("#set-speed")
    until(page, lambda: "now has 2 km/h" in told(page))
    page.click("button[data-mode=route]")
    assert seconds(page) > before


def test_a_link_shows_the_same_and_keys_are_enough(page: Any, address: str) -> None:
    page.focus("#query")
    page.keyboard.type("street 40")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found button")
    page.keyboard.press("Enter")  # the first one found has the focus
    page.focus("#query")
    page.keyboard.type("0.011, 0.011")
    page.keyboard.press("Enter")
    assert seconds(page) > 0
    row = page.locator("#stops li").nth(1)
    row.focus()
    place = row.get_attribute("aria-label")
    with page.expect_response(lambda answer: "/route/" in answer.url):
        page.keyboard.press("ArrowUp")
    until(page, lambda: row.get_attribute("aria-label") != place)
    page.focus("button[data-mode=route]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("button[data-mode=reach]", "aria-checked") == "true"
    page.keyboard.press("ArrowLeft")
    seconds(page)
    other = page.context.new_page()
    load(other, page.url)
    seconds(other)
    until(page, lambda: told(other) == told(page))
    assert other.locator("#stops li").count() == 2


def test_an_area_that_is_drawn_is_avoided(page: Any, address: str) -> None:
    """An area over the only straight street between two places, drawn by clicks and removed."""
    load(page, f"{address}#at=0.006,0.006,16&places=0.004,0.006;0.008,0.006")
    page.reload()
    before = seconds(page)
    page.click("button[data-mode=avoid]")
    box = page.locator("#map").bounding_box()
    x, y = box["width"] / 2 + 20, box["height"] / 2
    for across, down in ((-15, -15), (15, -15), (15, 15), (-15, 15), (-15, -15)):
        page.mouse.click(x + across, y + down)
        page.wait_for_timeout(400)  # not a double click
    until(page, lambda: page.locator("#areas li").count() == 1)
    assert "4 corners" in page.text_content("#areas li")
    until(page, lambda: seconds(page) > before)
    far = seconds(page)
    page.click("button[data-mode=reach]")
    page.fill("#minutes", "1")
    with page.expect_response(lambda answer: "avoid=" in answer.url) as answered:
        page.mouse.click(box["width"] / 2 - 60, y)
    assert answered.value.status == 200
    page.click("button[data-mode=route]")
    other = page.context.new_page()
    load(other, page.url)
    assert seconds(other) == far
    page.click("#areas button")
    until(page, lambda: seconds(page) == before)
    assert page.locator("#areas li").count() == 0


def test_an_area_is_drawn_by_keys(page: Any, address: str) -> None:
    load(page, f"{address}#at=0.0065,0.0065,17&places=0.004,0.006;0.008,0.006")
    page.reload()
    before = seconds(page)
    page.focus("button[data-mode=table]")
    page.keyboard.press("ArrowRight")
    page.focus("#map")
    for key in ("ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press("Space")
        before_move = page.url
        page.keyboard.press(key)
        until(page, lambda before_move=before_move: page.url != before_move)  # the map has moved
    page.keyboard.press("Space")
    until(page, lambda: told(page) == "4 corners")
    page.keyboard.press("Space")
    page.keyboard.press("Backspace")
    until(page, lambda: told(page) == "4 corners")
    assert page.locator("#middle").is_visible()
    page.keyboard.press("Enter")
    until(page, lambda: seconds(page) > before)
    page.focus("#areas button")
    page.keyboard.press("Enter")
    until(page, lambda: seconds(page) == before)
    assert page.evaluate("document.activeElement.id") == "map"


def test_it_fits_on_a_phone(browser: Any, address: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = context.new_page()
    load(page, address)
    page.touchscreen.tap(120, 120)
    page.touchscreen.tap(250, 300)
    assert seconds(page) > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for button in page.locator("button:visible").all():
        assert button.bounding_box()["height"] >= 30
    context.close()


def test_a_foreign_file_or_tile_is_not_found(address: str) -> None:
    httpx = pytest.importorskip("httpx")
    for path in ("map/../app.py", "map/%2e%2e/app.py", "map/secret", "map/streets/car/25/0/0", "map/streets/car/3/9/0"):
        assert httpx.get(address + path).status_code in (400, 404)
    assert httpx.get(address + "map/search/car", params={"q": "zzz"}).json() == {"places": []}
    policy = httpx.get(address).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_pages_name_no_other_host() -> None:
    import vkssp.server

    for path in (Path(vkssp.server.__file__).parent / "pages").iterdir():
        found = re.findall(r"https?://[^\"'\s)]+", path.read_text())
        assert set(found) <= {"https://www.openstreetmap.org/copyright"}
