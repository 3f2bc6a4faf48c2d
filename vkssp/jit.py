"""Compiles the kernels with numba, which is an optional dependency and is imported when the first of them is needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from vkssp.errors import QueryError
from vkssp.memory import require_addresses

# Address space that compiling the kernels of a module may take; the compiler ends the process where there is less.
_ADDRESSES = 192 << 20

Function = TypeVar("Function", bound=Callable[..., Any])


def require_numba() -> Any:
    """Return the module numba.

    Raises
    ------
    QueryError
        If it is not installed.
    """
    try:
        return importlib.import_module("numba")
    except ImportError as error:
        raise QueryError(f"algorithms on the CPU need numba ({error}); install it: pip install 'vkssp[cpu]'") from None


def jit(function: Function) -> Function:
    """Return a function compiled by numba for the types of its first call, without the interpreter's lock."""
    options = {"nogil": True, "error_model": "numpy"}
    njit = require_numba().njit
    # A cached function does not notice when one in another file that it calls has changed, so kernels call only
    # functions of their own file.
    try:
        compiled: Function = njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        compiled = njit(**options)(function)
    return compiled


def kernels(name: str) -> Any:
    """Import a module of compiled functions.

    Parameters
    ----------
    name : str
        Name of the module, such as ``"vkssp.cpu.kernels.dijkstra"``.

    Raises
    ------
    QueryError
        If numba is not installed.
    """
    require_numba()
    if name not in sys.modules:
        require_addresses(_ADDRESSES, f"compiling {name}")
    return importlib.import_module(name)
