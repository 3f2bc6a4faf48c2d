"""Former names, which still work and give a warning."""

from __future__ import annotations

import warnings
from typing import Any


class FormerName:
    """Former name of a method: an alias that gives a `DeprecationWarning`.

    Parameters
    ----------
    name : str
        Present name of the method.
    """

    def __init__(self, name: str) -> None:
        self._name, self._former = name, ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep the former name, which the class gives."""
        self._former = name

    def __get__(self, holder: object, owner: type) -> Any:
        """Return the method."""
        kind = owner.__name__
        warn_of(f"{kind}.{self._former}", f"{kind}.{self._name}", 2)
        return getattr(owner if holder is None else holder, self._name)


def warn_of(former: str, name: str, level: int) -> None:
    """Warn that something has another name now; `level` counts the callers, as for `warnings.warn`."""
    warnings.warn(f"{former} is called {name} now; use this name", DeprecationWarning, level + 1)
