"""Places that requests name, as routers take them."""

from __future__ import annotations

from vkssp.server.errors import RequestError
from vkssp.server.requests import Request


def places(request: Request) -> tuple[tuple[float, float], ...]:
    """Return the places of a request.

    Raises
    ------
    RequestError
        If it asks for what routers cannot do.
    """
    for name in ("bearings", "radiuses", "approaches"):
        if any(value is not None for value in getattr(request, name) or ()):
            raise RequestError("NotImplemented", f"{name} are not supported")
    if request.exclude:
        raise RequestError("InvalidValue", "Exclude flag combination is not supported.")
    return request.coordinates
