"""Answers of the service ``accessibility``: how much can be reached from places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkssp.errors import QueryError
from vkssp.server.answers.places import router_of
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.requests import OwnRequest, Places, check_places
from vkssp.solver.decay import Decay


@dataclass(frozen=True, kw_only=True)
class AccessibilityRequest(OwnRequest):
    """Request for sums over the opportunities within reach of places.

    Attributes
    ----------
    origins, opportunities : tuple of (float, float)
        Latitude and longitude in degrees.
    weights : list or None
        A number for each opportunity, or a list of as many for each; None to count opportunities.
    limits : list of float
        Limits in seconds, metres or weights, by the metric.
    decays : list of Decay
        Decays with the same.
    """

    SERVICE = "accessibility"

    origins: Places
    opportunities: Places
    weights: list[Any] | None = None
    limits: list[float]
    decays: list[Decay]

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        check_places(self.origins, self.opportunities, limits)
        count = len(self.limits) + len(self.decays)
        if count == 0:
            raise RequestError("InvalidOptions", "There are neither limits nor decays; give limits, such as [600].")
        if 0 <= limits.contours < count:
            told = f"Number of limits and decays {count} is higher than current maximum ({limits.contours})"
            raise RequestError("TooBig", told)
        # Other opportunities cannot have more than the first one.
        columns = len(self.weights[0]) if self.weights and isinstance(self.weights[0], list) else 1
        if 0 <= limits.opportunity_weights < columns:
            told = f"Number of weights of each opportunity {columns} is higher than current maximum "
            raise RequestError("TooBig", f"{told}({limits.opportunity_weights})")
        self.check_network(limits)


def accessibility(dataset: Dataset, request: AccessibilityRequest) -> dict[str, Any]:
    """Return sums for each origin, each limit and then each decay, and each column of weights."""
    router = router_of(dataset, request)
    try:
        sums = router.accessibility(
            request.origins,
            request.opportunities,
            request.weights,
            limits=request.limits or None,
            decays=request.decays or None,
            reverse=request.reverse,
        )
    except QueryError as error:
        raise RequestError("InvalidValue", str(error)) from error
    return {"sums": sums}
