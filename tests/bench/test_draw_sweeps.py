"""The pictures of sweeps and the film of a search: what they are made of, and that they are written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from PIL import Image

from tests.support.scripts import load_script, run_script
from vkssp import UNREACHABLE, Graph, Solver
from vkssp.algorithm import TRACE
from vkssp.bench.film import FAR, LAST_MS, NEAR, ROUTE, SETTLED, UNSEEN, Film, check_film, write_film
from vkssp.bench.replay import NEVER, buckets_of, range_widths, replay, times_covered
from vkssp.bench.streetmap import BACKGROUND, StreetMap, Window, rgb, window_of
from vkssp.errors import FormatError, QueryError
from vkssp.gpu.device import Device
from vkssp.graph.streets import Streets
from vkssp.route import Route

SIDE = 14

#: They measure algorithms of Vulkan devices.
pytestmark = pytest.mark.usefixtures("may_use_vulkan")


def town(side: int = SIDE) -> Graph:
    """Return streets in a grid, of random travel times, their nodes numbered at random."""
    random = np.random.default_rng(5)
    name = random.permutation(side * side).reshape(side, side)
    tail = np.concatenate([name[:, :-1].ravel(), name[:-1].ravel()])
    head = np.concatenate([name[:, 1:].ravel(), name[1:].ravel()])
    place = np.empty((side * side, 2))
    place[name.ravel()] = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=2).reshape(-1, 2)
    weight = random.integers(1, 60, len(tail))
    return Graph.from_edges(
        tail, head, weight, undirected=True, lat=48 + 0.01 * place[:, 0], lon=9 + 0.015 * place[:, 1]
    )


def line(weights: list[int]) -> Graph:
    """Return a path along the equator, and one node that nothing leads to."""
    n = len(weights) + 1
    return Graph.from_edges(
        range(n - 1), range(1, n), weights, num_nodes=n + 1, lat=np.zeros(n + 1), lon=np.arange(n + 1) / 100
    )


def trace_of(*rows: tuple[int, int, int, int]) -> Any:
    """Return a trace of the given low, high, first and last node."""
    trace = np.zeros(len(rows), TRACE)
    for name, column in zip(("low", "high", "first_node", "last_node"), zip(*rows, strict=True), strict=True):
        trace[name] = column
    return trace


@pytest.mark.parametrize("algorithm", ["delta_step", "near_far"])
@pytest.mark.parametrize("delta", [7, 100])
def test_a_replay_comes_to_the_distances_of_the_device(device: Device, algorithm: str, delta: int) -> None:
    graph = town()
    with Solver(graph, algorithm, device, counters="trace", delta=delta) as solver:
        distances, trace = solver.distances(3), solver.trace()
    again = replay(graph, 3, trace)
    assert np.array_equal(again.distances, distances)
    assert len(again.buckets) == len(buckets_of(trace)) == solver.last.counters["buckets"]  # type: ignore[union-attr]
    assert np.all(again.seen <= again.near) and np.all(again.near <= again.settled) and again.worked.min() >= 1
    # Narrow buckets make nodes wait; on the device a node sees what its step improved, so it may work less or more.
    assert (again.seen < again.near).any()
    assert 0.5 < again.worked.sum() / trace["worked"].sum() < 2
    # At the beginning of a bucket the nodes below it are settled, and of those beyond only seen ones are far.
    following = [*again.buckets[1:], again.steps + 1]
    for (low, high), moment, end in zip(buckets_of(trace), again.buckets, following, strict=True):
        if moment == end:  # a bucket may turn out empty
            continue
        assert np.array_equal(again.settled <= moment, distances < low)
        seen_from = np.zeros(graph.num_nodes, np.bool_)
        seen_from[graph.head[distances[graph.tail] < low]] = True
        seen_from[3] = True
        assert np.array_equal(again.seen <= moment, seen_from)
        assert np.all(distances[again.near <= moment] < high)


def test_a_replay_of_a_path_takes_a_step_for_each_node() -> None:
    again = replay(line([4, 4, 4, 9]), 0, trace_of((0, 10, 0, 0), (0, 10, 1, 2), (12, 22, 3, 3)))
    assert again.distances.tolist() == [0, 4, 8, 12, 21, UNREACHABLE]
    assert again.steps == 5 and again.buckets.tolist() == [0, 3]
    assert again.worked.tolist() == [1, 1, 1, 1, 1, 0]
    assert again.seen.tolist() == [0, 1, 2, 3, 4, NEVER]
    assert again.near.tolist() == [0, 1, 2, 3, 4, NEVER]
    assert again.settled.tolist() == [3, 3, 3, 5, 5, NEVER]


def test_ranges_are_counted_with_both_ends() -> None:
    trace = trace_of((0, 1, 0, 0), (0, 1, 2, 4), (0, 1, 3, 4))
    assert times_covered(trace, 5).tolist() == [1, 0, 1, 2, 2]
    assert range_widths(trace).tolist() == [1, 3, 2]


def test_streets_have_the_colours_of_their_ends() -> None:
    graph = line([1])
    streets = StreetMap(graph, Window(-0.005, -0.005, 0.005, 0.015), 80)
    assert (streets.width, streets.height) == (80, 40) and streets.visible.tolist() == [0, 1]
    picture = streets.paint(np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]))
    assert picture.shape == (40, 80, 3) and np.allclose(picture[5], rgb(BACKGROUND))
    street = picture[19:21, 22:58]  # from node 0 at 20 pixels to node 1 at 60
    assert np.all(street[:, :17, 0] > 3 * street[:, :17, 1]) and np.all(street[:, 19:, 1] > 3 * street[:, 19:, 0])
    assert np.allclose(picture[:, :19], rgb(BACKGROUND)) and np.allclose(picture[:, 62:], rgb(BACKGROUND))
    assert streets.density(np.array([1.0, 0, 0])).sum() == pytest.approx(20, rel=0.01)
    assert streets.inside(np.array([0, 1]), margin=20).tolist() == [0, 1]
    assert streets.inside(np.array([0, 1]), margin=20.5).tolist() == []


def test_streets_have_their_shape_and_the_nodes_that_are_reached() -> None:
    # Two arcs along one street with a bend, between two pairs of nodes; the search gets to the second pair.
    streets = Streets(
        length=np.array([2000, 2000], np.float32),
        way=np.ones(2, np.int64),
        carried=np.zeros(2, np.bool_),
        name=np.zeros(2, np.uint32),
        names=("",),
        polyline=np.zeros(2, np.uint32),
        backward=np.array([False, True]),
        polyline_first=np.array([0, 3], np.uint32),
        points=np.array([[0, 0], [100_000, 0], [100_000, 100_000]], np.int32),
        seconds_per_weight=1.0,
    )
    places = {"lat": [0, 0.01, 0.01, 0], "lon": [0, 0.01, 0.01, 0]}
    window, reached = Window(-0.005, -0.005, 0.015, 0.015), np.array([UNREACHABLE, UNREACHABLE, 0, 72], np.uint32)
    density = []
    for seconds in (72, 144):  # at 100 and 50 km/h
        graph = Graph.from_csr([0, 1, 1, 2, 2], [1, 3], [seconds, seconds], streets=streets, **places)
        drawn = StreetMap(graph, window, 40, reached)
        assert drawn.visible.tolist() == [2, 3]
        density.append(drawn.density(np.ones(4)))
        late, early = (drawn.density(np.eye(4)[node]) for node in (2, 3))
        # North, then east: the half of node 3 is at the left edge, that of node 2 at the upper one.
        assert early[12:29, 9:11].min() > 0 and early[12:29, 12:].max() == 0
        assert late[9:11, 12:29].min() > 0 and late[12:, 12:].max() == 0
    assert density[0].sum() > 1.5 * density[1].sum()
    assert StreetMap(graph, window, 40).visible.tolist() == [0, 1]


def test_a_window_has_the_shape_that_is_asked_for() -> None:
    graph = town()
    whole = window_of(graph)
    assert 48 <= whole.south < whole.north <= 48.14 and 9 <= whole.west < whole.east <= 9.2
    assert whole.shape == pytest.approx(1.5 * np.cos(np.radians(48.065)), rel=0.01)
    wide = window_of(graph, (2.0, 3.0), (48.0, 9.1))
    assert wide.shape == pytest.approx(2.0, rel=0.01)
    assert (wide.south, wide.west, wide.east) == (whole.south, whole.west, whole.east)  # no farther than the map
    high = window_of(graph, (0.2, 0.5), (48.0, 9.1))
    assert high.shape == pytest.approx(0.5, rel=0.01) and (high.west + high.east) / 2 == pytest.approx(9.1)
    # All on one line, and nothing at all.
    assert window_of(line([1])).shape > 0
    with pytest.raises(QueryError, match="no arcs"):
        window_of(Graph.from_edges([], [], [], num_nodes=1, lat=[0], lon=[0]))


def shows(picture: Any, colour: str) -> bool:
    """Return whether a picture has a pixel of this colour, mixed with less than two parts of the background."""
    pixels, wanted = np.asarray(picture) / 255 - rgb(BACKGROUND), rgb(colour) - rgb(BACKGROUND)
    part = pixels @ wanted / (wanted @ wanted)
    off = np.abs(pixels - part[:, :, None] * wanted).max(axis=2)
    return bool(((part > 0.35) & (part < 1.3) & (off < 0.1 * np.abs(wanted).max())).any())


def film_of(graph: Graph, streets: StreetMap) -> Film:
    nodes = np.arange(5)
    points = np.stack([graph.lat[nodes], graph.lon[nodes]], axis=1)  # type: ignore[index]
    route = Route(nodes.astype(np.uint32), np.arange(4), 21, points, None, None, None, None, "", "", 0.0)
    return Film(streets, replay(graph, 0, trace_of((0, 10, 0, 0), (12, 22, 3, 3))), "near_far", route)


def test_a_film_goes_from_the_source_to_the_route() -> None:
    graph = line([4, 4, 4, 9])
    streets = StreetMap(graph, Window(-0.02, -0.005, 0.02, 0.055), 300)
    film = film_of(graph, streets)
    # The legend has all colours.
    film.write_legend = lambda *_: None  # type: ignore[method-assign]
    pictures = list(film.frames(30))
    assert 5 <= len(pictures) <= 30 and {picture.size for picture in pictures} == {(300, 200)}
    first, last = pictures[0], pictures[-1]
    assert shows(first, NEAR) and shows(first, UNSEEN) and not shows(first, FAR)
    assert not shows(last, NEAR)
    where = np.asarray(last)[99:101, 60:220].max(axis=(0, 2))
    assert np.all(where > 200) and shows(last, ROUTE)  # all along the street
    # The second bucket begins when its only node is seen, so that a far one never shows; a part of it is settled.
    assert not any(shows(picture, FAR) for picture in pictures)


def test_far_nodes_show_while_they_wait() -> None:
    graph = Graph.from_edges(
        [0, 0, 2, 3], [1, 2, 3, 4], [50, 1, 1, 1], lat=[0, 0.01, 0, 0, 0], lon=[0.03, 0.03, 0.04, 0.05, 0.06]
    )
    streets = StreetMap(graph, Window(-0.01, 0.02, 0.02, 0.07), 200)
    film = Film(streets, replay(graph, 0, trace_of((0, 10, 0, 0), (50, 60, 1, 1))), "near_far")
    film.write_legend = lambda *_: None  # type: ignore[method-assign]
    pictures = list(film.frames(20))
    assert [shows(picture, FAR) for picture in pictures] == [False, True, True, True, False, False]
    assert [shows(picture, NEAR) for picture in pictures] == [True] * 5 + [False]


@pytest.mark.parametrize("ending", ["webp", "gif"])
def test_a_film_is_written_whole_or_not_at_all(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = line([4, 4, 4, 9])
    film = film_of(graph, StreetMap(graph, Window(-0.02, -0.005, 0.02, 0.055), 300))
    path = tmp_path / f"film.{ending}"

    def broken() -> Iterator[Any]:
        yield from list(film.frames(30))[:2]
        raise QueryError("stop")

    with pytest.raises(QueryError, match="stop"):
        write_film(path, broken())
    assert list(tmp_path.iterdir()) == []

    def half(self: Any, stream: Any, *_: Any, **__: Any) -> None:
        stream.write(b"half of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Image.Image, "save", half)
        with pytest.raises(FormatError, match="No space left"):
            write_film(path, film.frames(30))
    assert list(tmp_path.iterdir()) == []
    write_film(path, film.frames(30))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    with Image.open(path) as written:
        assert written.format == ending.upper() and written.size == (300, 200) and written.info["loop"] == 0
        assert written.n_frames >= 5  # type: ignore[attr-defined]
        written.seek(written.n_frames - 1)  # type: ignore[attr-defined]
        written.load()
        assert written.info["duration"] >= LAST_MS and shows(written.convert("RGB"), ROUTE)


def test_a_film_of_another_name_is_refused() -> None:
    with pytest.raises(QueryError, match=r"film is film\.mp4; name it \.webp"):
        check_film("film.mp4")


@pytest.fixture(scope="module")
def script() -> Any:
    return load_script("draw_sweeps")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("town") / "town.graph"
    town().save(path)
    return path


def test_the_script_writes_all_pictures_and_the_film(saved: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.webp"
    done = run_script("draw_sweeps", saved, "--output", tmp_path, "--film", film, "--delta", 100, "--from", "48,9")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and [line.split(":")[0] for line in done.stdout.splitlines()] == ["own order", "Z-order"]
    # Ids at random, from a corner: along the curve its first sweeps stay in the corner.
    own, curve = (int(line.split(" sweeps of ")[1].split()[0]) for line in done.stdout.splitlines())
    assert curve < own < SIDE * SIDE
    assert {path.name for path in tmp_path.iterdir()} == {"film.webp", "ids.png", "reads.png", "sweeps.png"}
    for name in ("sweeps.png", "ids.png", "reads.png"):
        with Image.open(tmp_path / name) as picture:
            assert picture.format == "PNG" and picture.width == 900 and 250 < picture.height < 700
            colours = picture.convert("RGB").getcolors(1 << 20)
            assert colours is not None and len(colours) > 30
            assert max(colours)[1] == tuple(round(255 * part) for part in rgb(BACKGROUND))
    with Image.open(film) as written:
        assert written.width == 800 and written.width >= 1.4 * written.height - 2
        assert written.n_frames > 20  # type: ignore[attr-defined]
        assert not shows(written.convert("RGB").crop((200, 0, 800, 400)), SETTLED[1])
        written.seek(written.n_frames // 2)  # type: ignore[attr-defined]
        assert shows(written.convert("RGB").crop((200, 0, 800, 400)), SETTLED[1])


def test_the_film_is_of_the_algorithm_that_is_asked_for(
    script: Any, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "FRAMES", 6)
    made: list[Any] = []
    monkeypatch.setattr(script, "Film", lambda *given: made.append(given) or Film(*given))
    for algorithm, delta in (("near_far", 40), ("delta_step", 40), ("near_far", 80)):
        film = tmp_path / "film.gif"
        options = ["--film", film, "--film-algorithm", algorithm, "--film-delta", delta]
        monkeypatch.setattr(sys, "argv", list(map(str, ["draw_sweeps", saved, "--output", tmp_path, *options])))
        assert script.main() == 0
        assert film.read_bytes().startswith(b"GIF8")
    (_, near, near_name, route, _), (_, step, step_name, _, _), (_, wide, *_) = made
    assert (near_name, step_name) == ("near_far", "delta_step") and len(wide.buckets) < len(near.buckets)
    assert np.array_equal(near.distances, step.distances) and route.weight == near.distances[route.nodes[-1]]
    # It leads from the middle to near a corner.
    assert near.distances[route.nodes[0]] == 0 and len(route.nodes) > SIDE // 2


def test_what_cannot_be_drawn_is_told_in_one_line_before_anything_is_written(
    script: Any, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, flat = tmp_path / "nowhere.graph", tmp_path / "flat.graph"
    Graph.from_edges([], [], [], num_nodes=2, lat=[0, 1], lon=[0, 1]).save(nowhere)
    Graph.from_edges([0], [1], [1]).save(flat)
    output = tmp_path / "output"
    output.mkdir()
    for arguments, words in (
        ([nowhere], "no arcs"),
        ([flat], "no coordinates"),
        ([saved, "--film", tmp_path / "film.mp4"], "film.mp4; name it .webp"),
        ([saved, "--film", output / "ids.png"], "name it .webp"),
        ([saved, "--film", tmp_path / "not" / "there.webp"], "make it first"),
        ([saved, "--source", SIDE * SIDE], "node ids of this graph go from 0"),
        ([saved, "--delta", 0], "delta is 0"),
    ):
        monkeypatch.setattr(sys, "argv", list(map(str, ["draw_sweeps", *arguments, "--output", output])))
        assert script.main() == 2
        told = capsys.readouterr().err
        assert words in told and told.count("\n") == 1, told
        assert list(output.iterdir()) == []
