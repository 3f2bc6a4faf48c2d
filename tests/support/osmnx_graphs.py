"""Street networks of osmnx, made of extracts without a download."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import osmium

from tests.support.osm_maps import ANDORRA

_ROADS = ("motorway", "trunk", "primary", "secondary", "tertiary", "unclassified", "residential", "living_street")


@cache
def andorra_network() -> Any:
    """Return the roads of Andorra as osmnx has them, with speeds and travel times."""
    import osmnx

    def wanted(item: Any) -> bool:
        return item.tags.get("highway", "").removesuffix("_link") in _ROADS

    used = {node.ref for way in osmium.FileProcessor(str(ANDORRA), osmium.osm.WAY) if wanted(way) for node in way.nodes}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "andorra.osm"
        with osmium.SimpleWriter(str(path)) as writer:
            for item in osmium.FileProcessor(str(ANDORRA), osmium.osm.NODE | osmium.osm.WAY):
                if item.id in used if item.is_node() else wanted(item):
                    writer.add(item)
        network = osmnx.graph_from_xml(path, retain_all=True)
    return osmnx.add_edge_travel_times(osmnx.add_edge_speeds(network, fallback=30))
