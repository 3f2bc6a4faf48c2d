#!/usr/bin/env python3
"""Comparison of routes with those of OSRM, between random places near the roads of an extract.

Only this script needs OSRM. "pip install osrm-bindings" installs its programs and profiles; --osrm FOLDER uses those of
an unpacked wheel or of a build of osrm-backend. --answers saves OSRM's answers, and --from-answers compares with saved
answers, without OSRM; --row LABEL prints a row of the table in docs/profiles.md:

  scripts/compare_osrm.py heidelberg.osm.pbf --profile bike --answers heidelberg-bike.json
  scripts/compare_osrm.py heidelberg.osm.pbf --from-answers heidelberg-bike.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np
import osmium
from tqdm import tqdm

from vkssp import Graph, NoRouteError, QueryError, Router, VksspError
from vkssp.bench.osrm import PROFILES, Osrm
from vkssp.bench.places import sample
from vkssp.files import atomic_write, check_writable
from vkssp.graph.geo import haversine
from vkssp.osm import import_extract
from vkssp.signals import run, undoing
from vkssp.terminal import print_error, print_lines

#: Modes of OSRM's travellers, except on ferries and when pushing.
USUAL = {"driving", "cycling", "walking"}
#: Distance in metres between snapped points above which trips count as different.
SAME_PLACE_M = 5.0
#: Shares of pairs that are reported.
WITHIN = (0.03, 0.05, 0.10, 0.15)
#: Values of `service` that slow a car.
SLOW_SERVICE = {"alley", "parking", "parking_aisle", "driveway", "drive-through", "drive-thru"}

Place = tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """Answer of a router for a pair: seconds, metres, both snapped ends, and special features of the route."""

    duration: float
    distance: float
    origin: Place
    destination: Place
    notes: dict[str, float] = field(default_factory=dict)
    ways: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A pair of places, OSRM's answer and ours; None if there is no route."""

    origin: Place
    destination: Place
    theirs: Answer | None
    ours: Answer | None

    def ratios(self) -> tuple[float, float]:
        """Return our duration and distance as shares of OSRM's."""
        assert self.ours is not None and self.theirs is not None
        ours, theirs = self.ours, self.theirs
        return ours.duration / max(theirs.duration, 1.0), ours.distance / max(theirs.distance, 1.0)

    def snapped_apart(self) -> float:
        """Return the larger distance, in metres, between the points that the two snapped to at either end."""
        assert self.ours is not None and self.theirs is not None
        ends = ((self.ours.origin, self.theirs.origin), (self.ours.destination, self.theirs.destination))
        return max(float(haversine(*ours, *theirs)) for ours, theirs in ends)


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class OsrmServer(Osrm):
    """OSRM's programs and profiles, and a server of an extract."""

    @contextmanager
    def serving(self, extract: Path, profile: str) -> Iterator[str]:
        """Prepare an extract, serve it, and yield the address."""
        with tempfile.TemporaryDirectory() as folder:
            base = self.extract(extract, profile, Path(folder), "osrm-partition", "osrm-customize")
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            options = ("--algorithm", "mld", "--ip", "127.0.0.1", "--port", str(port), "--verbosity", "ERROR")
            command = [str(self.programs / "osrm-routed"), str(base), *options]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server, undoing(server.terminate):
                for _ in range(300):
                    with socket.socket() as line:
                        if line.connect_ex(("127.0.0.1", port)) == 0:
                            break
                    if server.poll() is not None:
                        raise QueryError(f"osrm-routed ended with {server.returncode}")
                    time.sleep(0.2)
                yield f"http://127.0.0.1:{port}"

    def ask(self, address: str, origin: Place, destination: Place) -> Answer | None:
        """Return OSRM's answer."""
        ends = ";".join(f"{lon:.5f},{lat:.5f}" for lat, lon in (origin, destination))
        try:
            with urllib.request.urlopen(f"{address}/route/v1/any/{ends}?overview=false&steps=true") as stream:
                said = json.load(stream)
        except HTTPError as error:
            if json.load(error).get("code") in ("NoRoute", "NoSegment"):
                return None
            raise
        route, notes = said["routes"][0], dict[str, float]()
        for step in (step for leg in route["legs"] for step in leg["steps"]):
            if step["mode"] not in USUAL:
                notes[step["mode"]] = round(notes.get(step["mode"], 0.0) + step["duration"], 1)
            if step["maneuver"].get("modifier") == "uturn":
                notes["u-turns"] = notes.get("u-turns", 0) + 1
        snapped = [(round(w["location"][1], 5), round(w["location"][0], 5)) for w in said["waypoints"]]
        return Answer(route["duration"], route["distance"], snapped[0], snapped[1], notes)


def save_answers(path: Path, head: dict[str, Any], pairs: Sequence[Pair]) -> None:
    """Write OSRM's answers, a line for each pair."""
    rows = []
    for pair in pairs:
        row: list[Any] = [*pair.origin, *pair.destination]
        if pair.theirs is not None:
            theirs = pair.theirs
            row += [theirs.duration, theirs.distance, *theirs.origin, *theirs.destination]
            row += [theirs.notes] if theirs.notes else []
        rows.append(json.dumps(row, separators=(",", ":")))
    columns = "from lat, lon, to lat, lon; where OSRM has a route: seconds, metres, both as snapped, what is special"
    text = json.dumps({**head, "columns": columns}, indent=1)[:-2]
    with atomic_write(path, "w") as stream:
        stream.write(f'{text},\n "pairs": [\n' + ",\n".join(rows) + "\n]}\n")


def load_answers(path: Path) -> tuple[dict[str, Any], list[Pair]]:
    """Return the pairs that `save_answers` wrote, without answers of ours."""
    head = json.loads(path.read_text(encoding="utf-8"))
    pairs = []
    for row in head.pop("pairs"):
        theirs = None
        if len(row) > 4:
            notes = row[10] if len(row) > 10 else {}
            theirs = Answer(row[4], row[5], (row[6], row[7]), (row[8], row[9]), notes)
        pairs.append(Pair((row[0], row[1]), (row[2], row[3]), theirs, None))
    return head, pairs


def our_answer(router: Router, origin: Place, destination: Place) -> Answer | None:
    """Return our answer for a pair."""
    try:
        route = router.route(origin, destination)
    except (NoRouteError, QueryError):  # no route, or too far from any road of this profile
        return None
    streets, arcs, notes = router.graph.streets, route.arcs, dict[str, float]()
    assert streets is not None
    unit = streets.seconds_per_weight
    carried = float(router.graph.weight[arcs][streets.carried[arcs]].sum()) * unit
    if carried:
        notes["carried"] = round(carried, 1)
    lines, backward = streets.polyline[arcs], streets.backward[arcs]
    turned = int(np.count_nonzero((lines[1:] == lines[:-1]) & (backward[1:] != backward[:-1])))
    if turned:
        notes["u-turns"] = turned
    ends = [(place.snapped_lat, place.snapped_lon) for place in (route.origin, route.destination)]
    ways = tuple(np.unique(streets.way[arcs]).tolist())
    return Answer(route.duration_s, route.distance_m, ends[0], ends[1], notes, ways)


def with_ours(graph: Graph, pairs: Sequence[Pair], algorithm: str) -> list[Pair]:
    """Return the pairs with our answers."""
    with Router(graph, algorithm) as router:
        return [
            Pair(p.origin, p.destination, p.theirs, our_answer(router, p.origin, p.destination))
            for p in tqdm(pairs, "vkssp", disable=None)
        ]


def summary(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the figures of the pairs with routes in both, and the numbers of pairs with a route in only one."""
    both = [pair for pair in pairs if pair.ours and pair.theirs]
    result: dict[str, Any] = {
        "pairs": len(both),
        "only OSRM": sum(pair.ours is None and pair.theirs is not None for pair in pairs),
        "only vkssp": sum(pair.ours is not None and pair.theirs is None for pair in pairs),
        "neither": sum(pair.ours is None and pair.theirs is None for pair in pairs),
    }
    ratios = np.array([pair.ratios() for pair in both]).reshape(-1, 2)
    for column, name in enumerate(("duration", "distance")):
        ratio = ratios[:, column]
        shares = {f"within {share:.0%}": float(np.mean(np.abs(ratio - 1) <= share)) for share in WITHIN}
        result[name] = {"median": float(np.median(ratio)), **shares} if len(both) else {}
    return result


def snapped_alike(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with routes in both, from and to the same snapped places."""
    return [p for p in pairs if p.ours and p.theirs and p.snapped_apart() <= SAME_PLACE_M]


def table_row(label: str, pairs: Sequence[Pair]) -> str:
    """Return medians, and shares in whole percent rounded down, of all pairs and then of those snapped alike."""
    cells, alike = [label], snapped_alike(pairs)
    for part, rows in ((pairs, {"duration": WITHIN, "distance": WITHIN[2:]}), (alike, {"duration": WITHIN[::2]})):
        figures = summary(part)
        cells.append(str(figures["pairs"]))
        for name, shares in rows.items():
            cells.append(f"{figures[name]['median']:.3f}")
            cells += [f"{int(100 * figures[name][f'within {share:.0%}'] + 1e-9)}%" for share in shares]
    return f"| {' | '.join(cells)} |"


def moved(pair: Pair) -> float:
    """Return the larger distance, in metres, of the two places from the ends of the only route found."""
    found = pair.ours or pair.theirs
    assert found is not None
    ends = ((pair.origin, found.origin), (pair.destination, found.destination))
    return max(float(haversine(*place, *snapped)) for place, snapped in ends)


def reason(pair: Pair, slow_ways: set[int]) -> str:
    """Return the likely reason for the difference of the two answers."""
    assert pair.ours is not None and pair.theirs is not None
    ours, theirs, found = pair.ours, pair.theirs, []
    if pair.snapped_apart() > SAME_PLACE_M:
        found.append(f"snapped {pair.snapped_apart():.0f} m apart")
    for name, notes in (("OSRM", theirs.notes), ("vkssp", ours.notes)):
        found += [
            f"{name}: {round(v)} U-turns" if k == "u-turns" else f"{name}: {v:.0f} s {k}" for k, v in notes.items()
        ]
    if slow_ways.intersection(ours.ways):
        found.append("slow service roads")
    if not found:
        found.append("same length" if abs(pair.ratios()[1] - 1) < 0.01 else "another way")
    return ", ".join(found)


def slow_service_roads(extract: Path, ways: set[int]) -> set[int]:
    """Return the service roads among the ways that slow a car."""
    reader = osmium.FileProcessor(str(extract), osmium.osm.WAY).with_filter(osmium.filter.IdFilter(ways))
    roads = (way for way in reader if way.tags.get("highway") == "service")
    return {way.id for way in roads if way.tags.get("service") in SLOW_SERVICE}


def report(title: str, pairs: Sequence[Pair], extract: Path, worst: int, car: bool) -> list[str]:
    """Return the table, and the worst pairs, as lines."""
    lines = [title, f"{'':30}{'pairs':>7}{'median':>9}" + "".join(f"{f'in {share:.0%}':>9}" for share in WITHIN)]
    for name, part in (("", pairs), (", same places", snapped_alike(pairs))):
        figures = summary(part)
        for row in ("duration", "distance") if figures["pairs"] else ():
            shares = "".join(f"{figures[row][f'within {share:.0%}']:9.1%}" for share in WITHIN)
            lines.append(f"{row + name:30}{figures['pairs']:7}{figures[row]['median']:9.4f}{shares}")
    figures = summary(pairs)
    lines.append("; ".join(f"{name}: {figures[name]}" for name in ("only OSRM", "only vkssp", "neither")))
    both = [p for p in pairs if p.ours and p.theirs]
    both = sorted(both, key=lambda p: -abs(np.log(max(p.ratios()[0], 1e-3))))[:worst]
    ways = {way for pair in both if pair.ours for way in pair.ours.ways}
    slow = slow_service_roads(extract, ways) if car and ways else set()
    for pair in both:
        assert pair.ours and pair.theirs
        ends = " ".join(f"{lat:.5f},{lon:.5f}" for lat, lon in (pair.origin, pair.destination))
        times = f"{pair.ours.duration:8.1f} s for {pair.theirs.duration:8.1f}"
        metres = f"{pair.ours.distance:7.0f} m for {pair.theirs.distance:7.0f}"
        lines.append(f"{ends}  {times}, {metres}: {reason(pair, slow)}")
    for pair in pairs:
        if (pair.ours is None) != (pair.theirs is None):
            ends = " ".join(f"{lat:.5f},{lon:.5f}" for lat, lon in (pair.origin, pair.destination))
            name = "vkssp" if pair.ours else "OSRM"
            lines.append(f"{ends}  only {name} finds a route, {moved(pair):.0f} m away from an end")
    return lines


def answers_of(args: argparse.Namespace) -> tuple[dict[str, Any], list[Pair]]:
    """Return OSRM's answers for a new sample, and save them if requested."""
    if args.answers:
        check_writable(args.answers, args.extract, content="JSON")
    osrm = OsrmServer(args.osrm)
    places, _ = import_extract(args.extract, profile=args.profile, turns="none")
    pairs = []
    with osrm.serving(args.extract, args.profile) as address:
        for origin, destination in tqdm(sample(places, args.pairs, args.seed), "OSRM", disable=None):
            pairs.append(Pair(origin, destination, osrm.ask(address, origin, destination), None))
    head = {"router": f"OSRM {osrm.version}", "profile": args.profile, "extract": args.extract.name}
    head["sha256"] = sha256(args.extract)
    if args.answers:
        save_answers(args.answers, head, pairs)
    return head, pairs


def compare(args: argparse.Namespace) -> None:
    """Compare all pairs and print the report."""
    if args.from_answers:
        head, pairs = load_answers(args.from_answers)
        if head["sha256"] != sha256(args.extract):
            raise QueryError(f"{args.from_answers} is about another {head['extract']} than {args.extract}")
    else:
        head, pairs = answers_of(args)
    profile = args.our_profile or head["profile"]
    graph, _ = import_extract(args.extract, profile=profile, turns=args.turns)
    pairs = with_ours(graph, pairs, args.algorithm)
    if args.row:
        print_lines([table_row(args.row, pairs)])
        return
    turns = f", turns {args.turns}" if args.turns else ""
    title = f"{args.extract.name}, {profile}{turns}, {head['router']}"
    print_lines(report(title, pairs, args.extract, args.worst, profile == "car"))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extract", type=Path, help="an OpenStreetMap extract")
    parser.add_argument("--profile", choices=PROFILES, default="car", help="default: car")
    parser.add_argument("--our-profile", metavar="FILE", help="another profile for vkssp")
    parser.add_argument("--turns", choices=("none", "restrictions", "costs"), help="default: that of the profile")
    parser.add_argument("--pairs", type=int, default=200, metavar="N", help="random pairs (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the pairs (default: 1)")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="pairs to list (default: 10)")
    parser.add_argument("--row", metavar="LABEL", help="print the row of the table in docs/profiles.md instead")
    parser.add_argument("--algorithm", default="dijkstra", help="default: dijkstra")
    parser.add_argument("--osrm", metavar="FOLDER", help="folder of OSRM's programs and profiles")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="save OSRM's answers")
    parser.add_argument("--from-answers", type=Path, metavar="FILE", help="compare with saved answers instead of OSRM")
    args = parser.parse_args()

    def work() -> int:
        try:
            compare(args)
        except (VksspError, OSError, URLError, RuntimeError) as error:
            print_error(f"compare_osrm: {error}")
            return 2
        return 0

    return run(work)


if __name__ == "__main__":
    sys.exit(main())
