"""Former names, which still work and give a warning."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class FormerNameWarning(DeprecationWarning):
    """Warning of the use of a former name."""


class FormerName:
    """Former name of a method: a method that calls the present one, and gives a warning.

    Parameters
    ----------
    name : str
        Present name of the method.
    **keywords : str
        Present names of parameters, by their former names.
    """

    def __init__(self, name: str, **keywords: str) -> None:
        self._name, self._keywords = name, keywords

    def __set_name__(self, owner: type, former: str) -> None:
        """Put the method in the place of this object."""
        name, keywords = self._name, self._keywords

        def method(self: Any, *arguments: Any, **given: Any) -> Any:
            kind = type(self).__name__
            warn_of(f"{kind}.{former}", f"{kind}.{name}")
            return getattr(self, name)(*arguments, **{keywords.get(key, key): value for key, value in given.items()})

        method.__name__, method.__qualname__ = former, f"{owner.__qualname__}.{former}"
        method.__doc__ = f"Former name of `{name}`."
        setattr(owner, former, method)

    def __call__(self, *arguments: Any, **given: Any) -> Any:
        """Do nothing: the class has a method in place of this object."""
        raise NotImplementedError


def warn_of(former: str, name: str) -> None:
    """Warn the caller of the package that something has another name now."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "vkssp":
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{former} is called {name} now; use this name", FormerNameWarning, level)
