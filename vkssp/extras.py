"""Packages that only some users need: extras of the installation, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from vkssp.errors import QueryError


def optional(module: str, what: str, extra: str, instead: str = "") -> Any:
    """Return a module of a package that may not be installed.

    Parameters
    ----------
    module : str
        Name of the module.
    what : str
        What needs it, with the verb: ``"GeoPackage files need"``.
    extra : str
        The extra of vkssp that installs it.
    instead : str
        What else can be done, such as ``"write .geojson"``.

    Raises
    ------
    QueryError
        If it cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package, other = module.partition(".")[0], f", or {instead}" if instead else ""
        raise QueryError(f"{what} {package}, which is not installed; pip install 'vkssp[{extra}]'{other}") from error
