"""Answers of the service ``table``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import ground_metres
from vkssp.routing.table_places import PlaceTable
from vkssp.server.answers.places import places, router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.requests import TableRequest
from vkssp.solver.row_maker import WeightsChangedError

#: Most tenths of a second, or of a metre.
_MOST_TENTHS = 2.0**31 - 2


def table(dataset: Dataset, request: TableRequest) -> dict[str, Any]:
    """Return a table of durations, of distances, or both."""
    router, given = router_of(dataset, request), places(request)
    everything = tuple(range(len(given)))
    rows = everything if request.sources is None else request.sources
    columns = everything if request.destinations is None else request.destinations
    sources = [given[index] for index in rows]
    targets = None if rows == columns else [given[index] for index in columns]
    wanted = list(dict.fromkeys(request.annotations))

    def read() -> tuple[PlaceTable, dict[str, npt.NDArray[Any]]]:
        found = router.table(sources, targets, wanted, snapping=request.snapping)
        return found, found.read()

    try:
        found, values = read()
    except WeightsChangedError:
        with router.solver.holding():  # not at first: weights that are held cannot be rescaled
            found, values = read()
    answer: dict[str, Any] = {}
    if request.fallback_speed is not None:
        lacking = np.isnan(next(iter(values.values())))
        ends: Any = [[request.coordinates[index] for index in indices] for indices in (rows, columns)]
        if request.fallback_coordinate == "snapped":
            snapped = found.source_places, found.target_places
            ends = [[(place.snapped_lat, place.snapped_lon) for place in places] for places in snapped]
        metres = _metres(np.array(ends[0]), np.array(ends[1]))[lacking]
        for name, cells in values.items():
            # OSRM takes the quotient for whole tenths of a second; clients know these durations.
            cells[lacking] = np.floor(metres / request.fallback_speed) / 10.0 if name == "duration" else metres
        answer["fallback_speed_cells"] = np.ascontiguousarray(np.argwhere(lacking))
    for name, cells in values.items():
        scale = request.scale_factor if name == "duration" else 1.0
        with np.errstate(over="ignore"):  # the largest factors make infinity of all but zero
            tenths = scale * cells.astype(np.float64) * 10.0
        answer[f"{name}s"] = np.minimum(np.floor(tenths + 0.5), _MOST_TENTHS) / 10.0
    if not request.skip_waypoints:
        answer["sources"] = [waypoint(place, request) for place in found.source_places]
        answer["destinations"] = (
            answer["sources"] if targets is None else [waypoint(place, request) for place in found.target_places]
        )
    return answer


def _metres(sources: npt.NDArray[np.float64], targets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the metres of straight lines from each source to each target."""
    ends = np.repeat(sources, len(targets), axis=0), np.tile(targets, (len(sources), 1))
    metres = ground_metres(*ends[0].T, *ends[1].T)
    return metres.reshape(len(sources), len(targets))
