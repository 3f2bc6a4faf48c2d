#!/usr/bin/env python3
"""Table of travel times between two lists of places, in a Parquet file (extra `table`).

python examples/table_to_parquet.py [EXTRACT]     # by default Andorra
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import vkssp

ANDORRA = Path(__file__).resolve().parent.parent / "tests" / "data" / "andorra.osm.pbf"
SOURCES, TARGETS = 20, 200


def main(extract: str = str(ANDORRA)) -> None:
    """Make a table between random junctions of an extract, and print the number of connected pairs."""
    graph = vkssp.read_graph(extract)
    if graph.lat is None or graph.lon is None:
        sys.exit(f"{extract} has no coordinates; give an OpenStreetMap extract")
    chosen = np.random.default_rng(1).integers(0, graph.num_nodes, SOURCES + TARGETS)
    places = list(zip(graph.lat[chosen].tolist(), graph.lon[chosen].tolist(), strict=True))
    with vkssp.Router(graph) as router:
        table = router.table(places[:SOURCES], places[SOURCES:], metrics=["duration", "distance"])
        connected = table.write("table.parquet", progress=True)
    print(f"wrote table.parquet: {connected:,} of {SOURCES * TARGETS:,} pairs are connected")


if __name__ == "__main__":
    main(*sys.argv[1:])
