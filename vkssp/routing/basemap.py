"""Coast, water, ice and names of places as data of a map page's script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vkssp.routing.network import encode, encode_points

if TYPE_CHECKING:
    from vkssp.graph.basemap import Basemap

#: Units of one degree in the page: 1e-5 degrees is 1 m.
_SCALE = 10**5
#: 1e-7 degrees in one unit of the page.
_PER_UNIT = 100
#: Names in a page at the most.
_MOST_NAMES = 5000


def basemap_payload(basemap: Basemap) -> dict[str, Any]:
    """Return a basemap as data of the script ``basemap.js``."""
    place = slice(_MOST_NAMES)
    return {
        "scale": _SCALE,
        "surrounded": basemap.surrounded,
        "kinds": encode(basemap.kind),
        "counts": encode(np.diff(basemap.first.astype(np.int64))),
        "points": encode_points(np.rint(basemap.points / _PER_UNIT).astype(np.int64)),
        "places": {
            "at": encode_points(np.rint(basemap.place[place] / _PER_UNIT).astype(np.int64)),
            "kinds": encode(basemap.place_kind[place]),
            "people": encode(basemap.population[place]),
            "names": list(basemap.place_names[place]),
        },
    }
