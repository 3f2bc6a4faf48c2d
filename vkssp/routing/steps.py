"""Steps along a leg: an instruction at each place where a traveller has to decide, none where the route is obvious.

A kernel decides where steps are and what they say; see `vkssp.routing.kernels.steps`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from vkssp.jit import kernels
from vkssp.route import Place, Step, made
from vkssp.routing.formatting import arrival, compass, instruction, street_label
from vkssp.routing.leg_geometry import LegGeometry
from vkssp.routing.step_tables import StepTables

#: A place nearer to its street than this, in metres, is on neither side of it.
_ON_STREET_M = 5.0
#: A place ahead of the end of its leg, up to this angle in degrees, is on neither side of it.
_AHEAD = 20.0


def steps_of(
    tables: StepTables,
    geometry: LegGeometry,
    destination: Place,
    seconds_per_weight: float | None,
    number: int,
    is_last: bool,
) -> tuple[Step, ...]:
    """Return the steps of a leg.

    Parameters
    ----------
    tables : StepTables
        The tables of the graph.
    geometry : LegGeometry
        The geometry of the leg.
    destination : Place
        The place where the leg ends.
    seconds_per_weight : float, optional
        Seconds for one unit of the weights of the geometry; None if weights are not durations.
    number : int
        Number of the leg, from 1.
    is_last : bool
        Whether the leg is the last one.
    """
    module, names = kernels("vkssp.routing.kernels.steps"), tables.names
    arcs, (points, first_points) = geometry.arcs, geometry.shape
    found = np.zeros((len(arcs) + 1, 5), np.int64)
    count = module.find_manoeuvres(*(arcs, geometry.metres, np.empty(len(arcs), np.int64), found, *tables.columns))
    found = found[:count]
    begin, _, _, onto, _ = found.T
    steps = []
    if count:
        first = first_points[begin]
        last = first_points[np.append(begin[1:], len(arcs))]
        columns = (
            found.tolist(),
            tables.rows[onto, 1:3].tolist(),
            [None] * count if tables.way is None else tables.way[onto].tolist(),
            np.add.reduceat(geometry.metres, begin).tolist(),
            np.add.reduceat(geometry.weights, begin).tolist(),
            points[first].tolist(),
            first.tolist(),
            last.tolist(),
        )
        for row, (name_id, ref_id), way, metres, weight, (lat, lon), low, high in zip(*columns, strict=True):
            kind, modifier, nth = module.TYPES[row[1]], module.MODIFIERS[row[2]], row[4] or None
            # If the name is only the number, the step has the number alone.
            name, ref = "" if name_id == ref_id else names[name_id], names[ref_id]
            toward = compass(float(tables.columns[6][row[3]])) if kind == "depart" else modifier
            text = instruction(kind, toward, street_label(name, ref), nth)
            seconds = None if seconds_per_weight is None else weight * seconds_per_weight
            step = made(
                Step,
                type=kind,
                modifier=modifier,
                instruction=text,
                name=name,
                ref=ref,
                way=way,
                exit=nth,
                distance_m=metres,
                duration_s=seconds,
                lat=lat,
                lon=lon,
                first=low,
                last=high,
            )
            steps.append(step)
    side, end = _side(points, destination), len(points) - 1
    arrived = Step(
        type="arrive",
        modifier=side,
        instruction=arrival(number, is_last, side),
        name=steps[-1].name if steps else destination.name,
        ref=steps[-1].ref if steps else "",
        way=steps[-1].way if steps else None,
        exit=None,
        distance_m=0.0,
        duration_s=None if seconds_per_weight is None else 0.0,
        lat=float(points[end, 0]),
        lon=float(points[end, 1]),
        first=end,
        last=end,
    )
    return (*steps, arrived)


def _side(points: npt.NDArray[np.float64], place: Place) -> str:
    """Return the side on which a place is of the street along some points, ``"straight"`` if on neither side."""
    if place.snapped_m < _ON_STREET_M or len(points) < 2:
        return "straight"
    (lat0, lon0), (lat1, lon1) = points[-2:].tolist()
    width, plane_at = math.cos(math.radians(lat1)), kernels("vkssp.routing.kernels.snap").plane_at
    # The street before its end, and the place, as seen from the end.
    (south, west), (north, east) = (
        plane_at(lat, lon + 360.0 * round((lon1 - lon) / 360.0), lat1, lon1, width)
        for lat, lon in ((lat0, lon0), (place.lat, place.lon))
    )
    # A place beyond the end of the street is ahead, on neither side.
    across, ahead = west * north - south * east, -(south * north + west * east)
    if abs(across) <= abs(ahead) * math.tan(math.radians(_AHEAD)):
        return "straight"
    return "right" if across > 0 else "left"
