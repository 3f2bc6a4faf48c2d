#!/usr/bin/env python3
"""Figure and tables of cost over size, and what larger networks would need, from what measure_scale.py has recorded.

  scripts/draw_scale.py docs/scale.jsonl --page docs/scale.md --figure docs/scale.png

In the page, what stands between the lines "<!-- NAME -->" and "<!-- end -->" is replaced by the table of that name. The
needs of larger networks are power laws through the records of the largest network's host and device: least squares of
logarithms, over networks of at least a hundredth of its nodes that have copies of all tiles. What must grow at least as
fast as the network is proportional to it, from the largest network on, if its exponent is less than 1.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vkssp.bench.evaluation import check_figure, exit_code, import_pyplot, save_figure
from vkssp.errors import FormatError
from vkssp.files import atomic_write, check_writable
from vkssp.graph.hierarchy import MOST_ARCS, MOST_HEIGHT
from vkssp.options import file_name
from vkssp.terminal import print_lines

Record = dict[str, Any]
#: Share of the largest network's nodes from which on networks count for power laws.
SHARE = 0.01
#: Nodes beyond which limits do not matter.
FAR = 1e10
#: Nodes of a graph with turn costs for each edge-based node of OSRM: Iceland's 170,385 and 159,052.
NODES_EACH = 170_385 / 159_052
#: Bytes that a device binds at most, as the H200 and other GPUs report them, and those of an arc of the graph there.
BINDING, ARC_BYTES = 2**32 - 1, 4
#: Imports with turn costs and the basemap on 16 cores, see performance.md: million nodes of the file, seconds, GiB.
IMPORTS = ((5.5, 1.75, 0.46), (104.3, 14.25, 2.87))


class Region(NamedTuple):
    """A part of the world.

    Attributes
    ----------
    name : str
        Its name.
    edge_based : float
        Million edge-based nodes of OSRM, for cars.
    osm : float
        Million nodes of OpenStreetMap; 0 if no source has them.
    """

    name: str
    edge_based: float
    osm: float

    @property
    def nodes(self) -> float:
        """Number of nodes of a graph with turn costs."""
        return 1e6 * self.edge_based * NODES_EACH


#: See the page for the sources.
REGIONS = (
    Region("Germany, 2017", 14.6, 0.0),
    Region("Europe, 2015", 86.0, 1475.3),
    Region("planet, 2021", 528.0, 6634.7),
)


def stage(record: Record, name: str, key: str = "seconds") -> float | None:
    """Return a value of a stage, None if the record lacks it."""
    value = record["stages"].get(name, {}).get(key)
    return None if value is None else float(value)


def highest(record: Record, prefix: str) -> float | None:
    """Return the most memory of the stages whose names begin with a prefix, in GB."""
    found = [row["peak_bytes"] for name, row in record["stages"].items() if name.startswith(prefix)]
    known = [value for value in found if value is not None]
    return max(known) / 1e9 if known else None


def gigabytes(value: float | None) -> float | None:
    """Return bytes as GB."""
    return None if value is None else value / 1e9


#: Quantities that grow with the network, by the name of a column: how to read them, and the unit.
QUANTITIES: dict[str, Callable[[Record], float | None]] = {
    "million arcs": lambda record: record["arcs"] / 1e6,
    "million arcs of the hierarchy": lambda record: record["hierarchy"]["arcs"] / 1e6,
    "height": lambda record: record["hierarchy"]["height"],
    "prepare, s": lambda record: record["prepare_s"],
    "prepare, GB": lambda record: highest(record, "preparing"),
    "file, GB": lambda record: record["file_bytes"] / 1e9,
    "load, s": lambda record: stage(record, "loading"),
    "load, GB": lambda record: highest(record, "loading"),
    "start, s": lambda record: stage(record, "device: solver"),
    "device, GB": lambda record: gigabytes(stage(record, "device: solver", "device_bytes")),
    "tree, ms": lambda record: stage(record, "device: a tree", "device_ms"),
    "tree read, ms": lambda record: stage(record, "device: a tree, read", "ms"),
    "pair, ms": lambda record: stage(record, "device: a pair", "ms"),
    "10,000 pairs, ms": lambda record: stage(record, "device: 10,000 pairs", "ms"),
    "table, ms": lambda record: stage(record, "device: table of 1,000 by 1,000", "ms"),
    "new weights, ms": lambda record: stage(record, "device: new weights, and a pair", "ms"),
    "100 new weights, ms": lambda record: stage(record, "device: 100 new weights, and a pair", "ms"),
    "CPU: start, s": lambda record: stage(record, "cpu: solver"),
    "CPU: GB": lambda record: gigabytes(stage(record, "cpu: solver", "device_bytes")),
    "CPU: tree, ms": lambda record: stage(record, "cpu: a tree", "ms"),
    "CPU: pair, ms": lambda record: stage(record, "cpu: a pair", "ms"),
    "CPU: 10,000 pairs, ms": lambda record: stage(record, "cpu: 10,000 pairs", "ms"),
    "CPU: table, ms": lambda record: stage(record, "cpu: table of 1,000 by 1,000", "ms"),
    "CPU: new weights, ms": lambda record: stage(record, "cpu: new weights, and a pair", "ms"),
    "CPU: 100 new weights, ms": lambda record: stage(record, "cpu: 100 new weights, and a pair", "ms"),
    "Dijkstra, ms": lambda record: stage(record, "reference", "ms"),
}
#: Columns of the tables of measurements, by the name of the table.
TABLES: dict[str, tuple[str, ...]] = {
    "preparing": ("prepare, s", "prepare, GB", "file, GB", "load, s", "load, GB"),
    "device": (
        *("start, s", "device, GB", "tree, ms", "tree read, ms", "pair, ms", "10,000 pairs, ms", "table, ms"),
        *("new weights, ms", "100 new weights, ms"),
    ),
    "cpu": (
        *("CPU: start, s", "CPU: GB", "CPU: tree, ms", "CPU: pair, ms", "CPU: 10,000 pairs, ms", "CPU: table, ms"),
        *("CPU: new weights, ms", "CPU: 100 new weights, ms", "Dijkstra, ms"),
    ),
}
#: Stages of preparing, in the table of that name.
STAGES = ("edges", "core", "order of the core", "elimination", "supernodes, levels and lists")
#: Quantities that may grow more slowly than the number of nodes: what depends on the height alone.
SLOWER = ("height", "pair, ms", "10,000 pairs, ms")
#: Quantities of the needs of larger networks.
NEEDS = (
    *("million arcs of the hierarchy", "height", "prepare, s", "prepare, GB", "file, GB", "load, s"),
    *("device, GB", "tree, ms", "10,000 pairs, ms", "new weights, ms"),
)
#: What the figure shows, by the title of a part.
PARTS: dict[str, tuple[str, ...]] = {
    "seconds": ("prepare, s", "load, s", "start, s"),
    "GB": ("prepare, GB", "load, GB", "file, GB", "device, GB"),
    "milliseconds": ("tree, ms", "pair, ms", "10,000 pairs, ms", "table, ms", "new weights, ms"),
    "milliseconds, on the CPU": ("CPU: tree, ms", "CPU: 10,000 pairs, ms", "CPU: new weights, ms", "Dijkstra, ms"),
}


def number(value: float | None) -> str:
    """Return a number with three digits that count, or nothing."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def where(record: Record) -> str:
    """Return the device and the cores of a record."""
    return f"{record['device']['name']}, {record['host']['cores']} cores"


def of_largest(records: Sequence[Record]) -> list[Record]:
    """Return the records of the largest network's host and device, by size, the last of each size."""
    largest = max(records, key=lambda record: record["nodes"])
    alike = {record["nodes"]: record for record in records if where(record) == where(largest)}
    return [alike[nodes] for nodes in sorted(alike)]


def is_mixed(record: Record) -> bool:
    """Return whether a network has copies of about all tiles, so that it resembles larger ones."""
    columns, rows = record["cells"]
    return bool(columns * rows >= len(record["settings"]["tiles"]))


class Law(NamedTuple):
    """Power law: a factor, and the exponent of the number of nodes; another one up to a number of nodes."""

    factor: float
    exponent: float
    within: Law | None = None
    end: float = 0.0

    def at(self, nodes: float) -> float:
        """Return the value for a number of nodes."""
        if self.within is not None and nodes < self.end:
            return self.within.at(nodes)
        return float(self.factor * nodes**self.exponent)


def law_of(records: Sequence[Record], name: str) -> Law | None:
    """Return the power law of a quantity, None if no record has it; with one record it is proportional to the nodes."""
    least = SHARE * max(record["nodes"] for record in records)
    mixed = [record for record in records if is_mixed(record)] or records
    points = [
        (record["nodes"], value) for record in mixed if record["nodes"] >= least and (value := QUANTITIES[name](record))
    ]
    if not points:
        return None
    if len(points) == 1:
        return Law(points[0][1] / points[0][0], 1.0)
    nodes, values = np.log(np.array(points, np.float64)).T
    exponent, logarithm = map(float, np.polyfit(nodes, values, 1))
    if name not in SLOWER and exponent < 1:
        # Fixed costs make it smaller than it can remain, beyond the largest network.
        within = Law(math.exp(logarithm), exponent)
        return Law(math.exp(float(values[-1] - nodes[-1])), 1.0, within, math.exp(float(nodes[-1])))
    return Law(math.exp(logarithm), exponent)


def imported(million_nodes: float) -> tuple[float, float]:
    """Return the seconds and GiB of an import, on the line through the imports that were measured."""
    (few, few_s, few_gib), (many, many_s, many_gib) = IMPORTS
    part = (million_nodes - few) / (many - few)
    return few_s + part * (many_s - few_s), few_gib + part * (many_gib - few_gib)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def networks(records: Sequence[Record]) -> list[str]:
    """Return the table of the networks."""
    head = ("nodes", "arcs", "copies", "roads between", "arcs of the hierarchy", "a node", "levels", "height", "where")
    rows = []
    for record in records:
        hierarchy = record["hierarchy"]
        counts = (record["nodes"], record["arcs"], record["cells"][0] * record["cells"][1], record["joints"])
        each = f"{hierarchy['arcs'] / record['nodes']:.2f}"
        rows.append(
            (
                *map(number, counts),
                *(number(hierarchy["arcs"]), each, number(hierarchy["levels"]), number(hierarchy["height"])),
                f"{where(record)}, {record['commit'][:8]}",
            )
        )
    return markdown(head, rows)


def measured(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Return a table of measurements."""
    shown = [record for record in records if any(QUANTITIES[name](record) for name in names)]
    rows = [(number(record["nodes"]), *(number(QUANTITIES[name](record)) for name in names)) for record in shown]
    return markdown(("nodes", *(name.removeprefix("CPU: ") for name in names)), rows)


def by_stage(records: Sequence[Record]) -> list[str]:
    """Return the table of the stages of preparing: seconds, and GB."""
    rows = [
        (
            number(record["nodes"]),
            *(
                f"{number(stage(record, f'preparing: {name}'))}; "
                f"{number(gigabytes(stage(record, f'preparing: {name}', 'peak_bytes')))}"
                for name in STAGES
            ),
            *(number(stage(record, name)) for name in ("laying out copies", "saving")),
        )
        for record in records
    ]
    return markdown(("nodes", *STAGES, "laying out", "saving"), rows)


def needs(records: Sequence[Record]) -> list[str]:
    """Return the table of the needs of larger networks."""
    alike = of_largest(records)
    count = sum(map(is_mixed, alike))
    laws = {name: law_of(alike, name) for name in NEEDS}
    head = ("", *(region.name for region in REGIONS), "exponent")
    rows = [("million nodes", *(number(region.nodes / 1e6) for region in REGIONS), "")]
    for name, law in laws.items():
        if law is not None:
            rows.append((name, *(number(law.at(region.nodes)) for region in REGIONS), f"{law.exponent:.2f}"))
    ratio = next(region.osm * 1e6 / region.nodes for region in REGIONS if region.osm)
    osm = [region.osm or ratio * region.nodes / 1e6 for region in REGIONS]
    rows.append(("million nodes of OpenStreetMap", *map(number, osm), ""))
    rows.append(("import, s", *(number(imported(count)[0]) for count in osm), "1"))
    rows.append(("import, GiB", *(number(imported(count)[1]) for count in osm), "1"))
    return [f"By {count or len(alike)} networks, {where(alike[-1])}.", "", *markdown(head, rows)]


def limits(records: Sequence[Record]) -> list[str]:
    """Return the table of what breaks at how many nodes, the first first."""
    alike = of_largest(records)
    arcs, given, height = (law_of(alike, name) for name in ("million arcs of the hierarchy", "million arcs", "height"))
    assert arcs is not None and given is not None and height is not None
    bounds = [
        ("numbers of arcs of the hierarchy, 31 bits", arcs, MOST_ARCS / 1e6),
        ("the weights of the graph in one binding of a device, 4 GiB", given, BINDING / ARC_BYTES / 1e6),
        ("nodes on a path to the root", height, float(MOST_HEIGHT)),
    ]
    for name, bound in (("device, GB", 80.0), ("device, GB", 140.0), ("prepare, GB", 128.0), ("load, GB", 128.0)):
        law = law_of(alike, name)
        if law is not None:
            kind, unit = name.split(", ")
            what = "memory of a device" if kind == "device" else f"memory of the host, to {kind}"
            bounds.append((f"{what}, {bound:g} {unit}", law, bound))
    reached = sorted(((bound / law.factor) ** (1 / law.exponent), what) for what, law, bound in bounds)
    rows = [(what, number(nodes / 1e6) if nodes < FAR else f"more than {number(FAR / 1e6)}") for nodes, what in reached]
    return markdown(("limit", "million nodes"), rows)


def tables_of(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return all tables by their names."""
    return {
        "networks": networks(records),
        **{name: measured(records, names) for name, names in TABLES.items()},
        "stages": by_stage(records),
        "needs": needs(records),
        "limits": limits(records),
    }


def filled(page: str, tables: dict[str, list[str]]) -> str:
    """Return a page with its tables replaced.

    Raises
    ------
    FormatError
        If the page has no place for one of them.
    """
    for name, lines in tables.items():
        place = re.compile(rf"<!-- {name} -->\n.*?<!-- end -->", re.DOTALL)
        if not place.search(page):
            raise FormatError(f"the page has no lines '<!-- {name} -->' and '<!-- end -->'; add them")
        content = "\n".join((f"<!-- {name} -->", "", *lines, "", "<!-- end -->")).replace("\\", r"\\")
        page = place.sub(content, page)
    return page


def draw(records: Sequence[Record], path: str) -> None:
    """Draw the figure: parts with lines of quantities over nodes, and for each host and device a style of lines."""
    pyplot = import_pyplot()
    figure = pyplot.figure(figsize=(11, 8), layout="constrained")
    places = sorted({where(record) for record in records}, key=lambda place: place != where(of_largest(records)[-1]))
    for axes, (title, names) in zip(figure.subplots(2, 2).flat, PARTS.items(), strict=True):
        for colour, name in enumerate(names):
            for style, place in zip(("-", "--", ":", "-."), places, strict=False):
                points = sorted(
                    (record["nodes"], value)
                    for record in records
                    if where(record) == place and (value := QUANTITIES[name](record))
                )
                if points:
                    label = re.sub(r", (s|GB|ms)$", "", name.removeprefix("CPU: "))
                    # Only the first host's lines are named: the others have the same colours.
                    label = label if place == places[0] else f"_{label}"
                    axes.plot(*zip(*points, strict=True), style, marker="o", ms=4, color=f"C{colour}", label=label)
        if not axes.lines:
            axes.set_axis_off()
            continue
        axes.set(title=title, xlabel="nodes", xscale="log", yscale="log")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    styles = ("solid", "dashed", "dotted", "dash-dotted")
    figure.suptitle("; ".join(f"{style}: {place}" for style, place in zip(styles, places, strict=False)), fontsize=9)
    save_figure(figure, path)
    pyplot.close(figure)


def load(path: str) -> list[Record]:
    """Return the records of a file, by size.

    Raises
    ------
    FormatError
        If the file has none.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        records: list[Record] = [json.loads(line) for line in lines if line.strip()]
        return sorted(records, key=lambda record: (record["nodes"], where(record))) or [][0]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise FormatError(f"{path} has no records of scripts/measure_scale.py ({error}); give its --json") from None


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=file_name, metavar="FILE.jsonl", help="the file of measure_scale.py --json")
    parser.add_argument("--page", type=file_name, metavar="FILE.md", help="the page whose tables are replaced")
    parser.add_argument("--figure", type=file_name, metavar="FILE", help="the picture to write")
    args = parser.parse_args()

    def run() -> None:
        records = load(args.records)
        if args.figure:
            check_writable(args.figure, args.records, args.page)
            check_figure(args.figure)
        tables = tables_of(records)
        if args.page:
            page = filled(Path(args.page).read_text(encoding="utf-8"), tables)
            with atomic_write(args.page) as stream:
                stream.write(page.encode())
        if args.figure:
            draw(records, args.figure)
        for name, lines in tables.items():
            print_lines([f"{name}:", "", *lines, ""])

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
