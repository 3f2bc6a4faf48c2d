#!/usr/bin/env python3
"""Route between two places of an OpenStreetMap extract, as a map page that opens without a network.

python examples/route_on_a_map.py [EXTRACT] [FROM TO]     # LAT,LON each; by default Andorra, valley to pass
"""

from __future__ import annotations

import sys
from pathlib import Path

import vkssp
from vkssp.routing.map import write_map

ANDORRA = Path(__file__).resolve().parent.parent / "tests" / "data" / "andorra.osm.pbf"


def place(text: str) -> tuple[float, float]:
    """Return the latitude and longitude in LAT,LON."""
    lat, lon = text.split(",")
    return float(lat), float(lon)


def main(extract: str = str(ANDORRA), origin: str = "42.5078,1.5211", destination: str = "42.5425,1.7337") -> None:
    """Find the fastest route by car, print its instructions, and write the map."""
    graph = vkssp.read_graph(extract)
    with vkssp.Router(graph) as router:
        route = router.route(place(origin), place(destination), steps=True)
    for step in route.steps:
        print(f"{step.distance_m / 1000:6.1f} km  {step.instruction}")
    minutes = (route.duration_s or 0.0) / 60
    print(f"{route.distance_m / 1000:6.1f} km in {minutes:.0f} minutes, found by {route.algorithm} on {route.device}")
    write_map("route.html", graph, route)
    print("wrote route.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
