"""Places that requests name, as routers take them."""

from __future__ import annotations

from collections.abc import Collection

from vkssp.server.errors import RequestError
from vkssp.server.requests import Request


def places(request: Request, apart_from: Collection[str] = ()) -> tuple[tuple[float, float], ...]:
    """Return the places of a request; what is named `apart_from` them is not looked at.

    Raises
    ------
    RequestError
        If it asks for what routers cannot do.
    """
    for name in ("bearings", "radiuses", "approaches"):
        if name not in apart_from and any(value is not None for value in getattr(request, name) or ()):
            raise RequestError("NotImplemented", f"{name} are not supported")
    if request.exclude:
        raise RequestError("InvalidValue", "Exclude flag combination is not supported.")
    return request.coordinates
