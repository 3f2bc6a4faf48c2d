#!/usr/bin/env python3
"""Large extracts made of small ones, to measure how imports grow: copies side by side round the Earth, with new ids.

Nodes come before ways and these before relations, each by ascending ids, as in the extracts of whole countries. Copies
are not joined to each other; all sources of a round move by the same distance. The script writes some 150 000 objects a
second.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import osmium
from osmium.osm import NODE, RELATION, WAY
from tqdm import tqdm

from vkssp.bench.evaluation import exit_code
from vkssp.files import check_writable
from vkssp.signals import undoing


def count_nodes(source: Path) -> tuple[int, int]:
    """Return the number of nodes of an extract, and the largest id of its objects."""
    nodes = largest = 0
    for item in osmium.FileProcessor(str(source)):
        nodes += item.is_node()
        largest = max(largest, item.id)
    return nodes, largest


def shifted(item: Any, by: int, degrees: float) -> Any:
    """Return a copy of an object with shifted ids, and a place farther east."""
    if item.is_node():
        east = (item.location.lon + degrees + 180.0) % 360.0 - 180.0
        return item.replace(id=item.id + by, location=(east, item.location.lat))
    if item.is_way():
        return item.replace(id=item.id + by, nodes=[node.ref + by for node in item.nodes])
    return item.replace(id=item.id + by, members=[(m.type, m.ref + by, m.role) for m in item.members])


def tile(sources: list[Path], target: Path, wanted: int) -> int:
    """Write copies of extracts until there are enough nodes; return the number of nodes."""
    sizes = [count_nodes(source) for source in sources]
    rounds = max(1, round(wanted / sum(nodes for nodes, _ in sizes)))
    copies, by = [], 0
    for turn in range(rounds):
        for source, (_, largest) in zip(sources, sizes, strict=True):
            copies.append((source, by, 360.0 * turn / rounds))
            by += largest + 1
    # In a folder, since the ending of the file name selects the format of the writer.
    folder = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    with undoing(lambda: shutil.rmtree(folder, ignore_errors=True)):
        folder.mkdir()
        write(copies, folder / target.name)
        os.replace(folder / target.name, target)
    return rounds * sum(nodes for nodes, _ in sizes)


def write(copies: list[tuple[Path, int, float]], target: Path) -> None:
    """Write copies of extracts, each with the shift of its ids and its shift east in degrees."""
    with osmium.SimpleWriter(str(target)) as writer:
        kinds = (("nodes", NODE, writer.add_node), ("ways", WAY, writer.add_way))
        for name, kind, add in (*kinds, ("relations", RELATION, writer.add_relation)):
            for source, shift, degrees in tqdm(copies, name, unit=" copies"):
                for item in osmium.FileProcessor(str(source), kind):
                    add(shifted(item, shift, degrees))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", metavar="EXTRACT", type=Path, nargs="+", help="extracts to copy in every round")
    parser.add_argument("target", metavar="OUT", type=Path, help="the extract to write, such as big.osm.pbf")
    parser.add_argument("--nodes", metavar="N", type=int, required=True, help="approximate number of nodes")
    args = parser.parse_args()

    def run() -> None:
        check_writable(args.target, *args.sources)
        print(f"{tile(args.sources, args.target, args.nodes):,} nodes")

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
