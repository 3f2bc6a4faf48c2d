"""First requests of a server, made before it is ready, so that no client waits for kernels and indices."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import orjson

from vkssp.errors import VksspError
from vkssp.graph.mercator import in_tile
from vkssp.server.answers import answer
from vkssp.server.answers.accessibility import AccessibilityRequest
from vkssp.server.answers.isochrone import IsochroneRequest
from vkssp.server.answers.opportunities import OpportunitiesRequest
from vkssp.server.dataset import Dataset
from vkssp.server.parsing import parsed_query, parsed_target
from vkssp.server.requests import TileRequest
from vkssp.solver.decay import Decay

#: Requests of each kind, from a place to another one, in the ways that need kernels or indices of their own.
_URLS = (
    "/nearest/v1/any/{a}?number=2",
    "/route/v1/any/{a};{b}?steps=true&annotations=true&overview=full&geometries=geojson",
    "/route/v1/any/{a};{b};{a}",
    "/route/v1/any/{a};{b}?alternatives=1",
    "/table/v1/any/{a};{b}?annotations=duration,distance",
    "/match/v1/any/{a};{b}",
    "/trip/v1/any/{a};{b};{a}",
)
#: Zoom of a tile.
_ZOOM = 16
_MINUTES = 1.0


def warm_up(dataset: Dataset) -> None:
    """Make a request of each kind, between neighbouring nodes; what cannot be answered there has no effect."""
    router = dataset.router
    graph = router.graph
    assert graph.lat is not None and graph.lon is not None
    arc = graph.num_arcs // 2
    ends = [(float(graph.lat[node]), float(graph.lon[node])) for node in (graph.tail[arc], graph.head[arc])]
    a, b = (f"{lon:.6f},{lat:.6f}" for lat, lon in ends)
    for url in _URLS:
        with suppress(VksspError):
            request = parsed_query(parsed_target(url.format(a=a, b=b).encode()))
            orjson.dumps(answer(dataset, request), option=orjson.OPT_SERIALIZE_NUMPY)
    some = tuple(ends)
    seconds = 60.0 * _MINUTES
    for own in (
        IsochroneRequest((ends[0],), (_MINUTES,)),
        AccessibilityRequest(origins=some, opportunities=some, limits=[seconds], decays=[Decay.linear(seconds)]),
        OpportunitiesRequest(origins=some, opportunities=some),
    ):
        with suppress(VksspError):
            answer(dataset, own)
    east, south = in_tile(np.array(ends[0][0]), np.array(ends[0][1]), _ZOOM, 0, 0)
    with suppress(VksspError):
        dataset.tiles.tile(TileRequest(x=int(east), y=int(south), zoom=_ZOOM))
    with suppress(VksspError):
        router.set_weights(graph.weight[:1], [0])  # the same as before
