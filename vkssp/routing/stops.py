"""Places with conditions on the streets that they are snapped to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vkssp.checks import choice, items_of, number_of, shown
from vkssp.errors import QueryError
from vkssp.features.places import LatLon

#: Sides of the street from which a place may be approached; see `Stop`.
APPROACHES = ("unrestricted", "curb", "opposite")
#: Streets that places may be snapped to; see `Router.route`.
SNAPPINGS = ("default", "any")


@dataclass(frozen=True)
class Stop:
    """Place of a query with conditions on the street that it is snapped to.

    Attributes
    ----------
    lat, lon : float
        The place, in degrees.
    bearing : tuple of (float, float), optional
        Direction in which the street is travelled there, in degrees clockwise from north, 0 to 360, and how many
        degrees to either side of it are allowed, 0 to 180. A street whose direction at the place, rounded to a degree,
        is another one is passed over.
    radius_m : float, optional
        Largest distance of the street from the place in metres, by default that of the router. Of streets that are
        travelled in certain directions only, those up to 20 km beyond the nearest street count.
    approach : str
        ``"curb"``: on two-way streets the place is on the side on which traffic drives; ``"opposite"``: it is on the
        other side; ``"unrestricted"``: either. A place exactly on a street is on its right.
    hint : str, optional
        `Place.hint` of an earlier answer: the same place is then snapped without a search. A hint of another place or
        another graph, or one that does not meet the conditions, is ignored.
    """

    lat: float
    lon: float
    bearing: tuple[float, float] | None = None
    radius_m: float | None = None
    approach: str = "unrestricted"
    hint: str | None = None

    def check(self, name: str) -> None:
        """Raise `QueryError` unless the conditions are valid; `name` is the place's name in the error."""
        if self.bearing is not None:
            pair = items_of(self.bearing) or ()
            bearing, around = [number_of(one) for one in pair] if len(pair) == 2 else (None, None)
            if bearing is None or around is None or not (0 <= bearing <= 360 and 0 <= around <= 180):
                raise QueryError(
                    f"the bearing of {name} is {shown(self.bearing)}; give degrees from 0 to 360 and their range, 0 to "
                    "180, such as (90, 20)"
                )
        radius = 0.0 if self.radius_m is None else number_of(self.radius_m)
        if radius is None or not radius >= 0:
            raise QueryError(f"the radius of {name} is {shown(self.radius_m)}; give metres, 0 or more")
        choice(self.approach, f"the approach of {name}", APPROACHES)
        if self.hint is not None and not isinstance(self.hint, str):
            raise QueryError(f"the hint of {name} is {shown(self.hint)}; give the hint of a place in an answer")

    @property
    def is_directed(self) -> bool:
        """Whether the conditions may rule out a direction of a street."""
        return self.bearing is not None or self.approach != "unrestricted"


class CheckedStop(tuple[float, float]):
    """Latitude and longitude of a place, with its conditions, and whether any street is good enough for it."""

    stop: Stop
    any_street: bool

    def __new__(cls, stop: Stop, any_street: bool) -> CheckedStop:
        """Return the place of a stop."""
        new = super().__new__(cls, (float(stop.lat), float(stop.lon)))
        new.stop, new.any_street = stop, any_street
        return new


def all_with_snapping(places: Sequence[LatLon], snapping: Any) -> Sequence[LatLon]:
    """Return what `with_snapping` returns for each of some places."""
    if choice(snapping, "snapping", SNAPPINGS) == "default":
        return places
    return [with_snapping(place, snapping) for place in places]


def with_snapping(place: LatLon, snapping: Any) -> LatLon:
    """Return a checked place that may be snapped to any street, if that is what `snapping` says."""
    if choice(snapping, "snapping", SNAPPINGS) == "default":
        return place
    return CheckedStop(place.stop if isinstance(place, CheckedStop) else Stop(*place), True)
