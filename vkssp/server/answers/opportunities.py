"""Answers of the service ``opportunities``: those that are nearest to places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE
from vkssp.server.answers.places import router_of
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.requests import OwnRequest, Places, check_places


@dataclass(frozen=True, kw_only=True)
class OpportunitiesRequest(OwnRequest):
    """Request for the opportunities that are nearest to each of some places.

    Attributes
    ----------
    origins, opportunities : tuple of (float, float)
        Latitude and longitude in degrees.
    number : int
        Number of opportunities for each origin.
    limit : float or None
        Limit in seconds, metres or weights, by the metric; None for none.
    """

    SERVICE = "opportunities"

    origins: Places
    opportunities: Places
    number: int = 1
    limit: float | None = None

    def check(self, limits: Limits) -> None:
        """Raise `RequestError` unless the request is valid, and within limits."""
        check_places(self.origins, self.opportunities, limits)
        if self.number < 1:
            raise RequestError("InvalidOptions", "number is 0; give 1 or more.")
        if 0 <= limits.nearest < self.number:
            told = f"Number of results {self.number} is higher than current maximum ({limits.nearest})"
            raise RequestError("TooBig", told)
        self.check_network(limits)


def opportunities(dataset: Dataset, request: OpportunitiesRequest) -> dict[str, Any]:
    """Return the nearest opportunities of each origin, the nearest first, and the values of the paths."""
    router, count = router_of(dataset, request), min(request.number, len(request.opportunities))
    try:
        found = router.nearest_opportunities(
            request.origins, request.opportunities, count, limit=request.limit, reverse=request.reverse
        )
    except QueryError as error:
        raise RequestError("InvalidValue", str(error)) from error
    known = (found.opportunity != UNREACHABLE).sum(axis=1)
    if found.values.dtype.kind == "f":
        values = np.floor(10.0 * found.values.astype(np.float64) + 0.5) / 10.0
    else:
        values = found.values
    return {
        name: [row[:length].tolist() for row, length in zip(rows, known.tolist(), strict=True)]
        for name, rows in (("opportunities", found.opportunity), (f"{request.metric}s", values))
    }
