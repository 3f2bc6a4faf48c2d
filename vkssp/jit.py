"""Compilation of CPU kernels with numba, an optional dependency that is imported on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from vkssp.errors import QueryError
from vkssp.memory import require_addresses

# Bytes of address space for compiling the kernels of a module; with less the compiler ends the process.
_ADDRESSES = 192 << 20

Function = TypeVar("Function", bound=Callable[..., Any])


def require_numba() -> Any:
    """Return the module numba.

    Raises
    ------
    QueryError
        If numba is not installed.
    """
    try:
        return importlib.import_module("numba")
    except ImportError as error:
        raise QueryError(f"algorithms on the CPU need numba ({error}); install it: pip install 'vkssp[cpu]'") from None


def jit(function: Function) -> Function:
    """Return a function compiled by numba for the types of its first call, without the interpreter's lock."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    njit = require_numba().njit
    # A cached function does not notice changes of functions that it calls in other files. So kernels only call
    # functions of their own file.
    try:
        compiled: Function = njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        compiled = njit(**options)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Return a compiled function that becomes a part of each function that calls it."""
    made: Function = require_numba().njit(
        nogil=True, error_model="numpy", inline="always", no_cfunc_wrapper=True, no_cpython_wrapper=True, _nrt=False
    )(function)
    return made


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
