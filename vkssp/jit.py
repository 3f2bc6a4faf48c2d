"""Compilation of CPU kernels with numba, which is imported on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from vkssp.errors import QueryError
from vkssp.memory import require_addresses

# Bytes of address space for compiling the kernels of a module; with less the compiler ends the process.
_ADDRESSES = 192 << 20

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Latest version of numba whose inner parts are known.
_TESTED = (0, 68)
# Arrays need no counters of references where none is made.
_NEVER_ALLOCATES = {"_nrt": False}

Function = TypeVar("Function", bound=Callable[..., Any])


def require_numba() -> Any:
    """Return the module numba.

    Raises
    ------
    QueryError
        If numba cannot be imported.
    """
    try:
        numba = importlib.import_module("numba")
    except ImportError as error:
        raise QueryError(f"searches on the CPU need numba ({error}); install it: pip install numba") from None
    _watch()
    return numba


@cache
def _watch() -> None:
    """Log what takes long."""
    from numba.core import event

    from vkssp.jit_cache import Notice

    event.register("numba:compile", Notice())  # type: ignore[no-untyped-call]


def jit(function: Function) -> Function:
    """Return a function compiled for the types of its first call, without the interpreter's lock.

    It cannot make arrays; see `jit_allocating`.
    """
    return _compiled(function, {})


def jit_part(function: Function) -> Function:
    """Return what `jit` does, for a function that only compiled functions call; it compiles in half of the time."""
    return _compiled(function, {"no_cpython_wrapper": True})


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    numba, own = require_numba(), dict(options)
    if tuple(map(int, numba.__version__.split(".")[:2])) <= _TESTED:
        with suppress(ImportError, AttributeError):  # numba of a version with other inner parts takes longer
            # Imported only here, because it imports numba.
            from vkssp.jit_compiler import KernelCompiler

            own["pipeline_class"] = KernelCompiler
    return _cached(numba.njit(**own, **_OPTIONS, **_NEVER_ALLOCATES)(function), function, allocates=False)


def jit_allocating(function: Function) -> Function:
    """Return what `jit` does, for a function that makes arrays."""
    return _cached(require_numba().njit(**_OPTIONS)(function), function, allocates=True)


def _cached(compiled: Any, function: Function, *, allocates: bool) -> Function:
    from vkssp.jit_cache import Cache

    # A cached function does not notice changes of functions that it calls in other folders, so kernels call none.
    with suppress(RuntimeError):  # no folder for a cache: compiled anew in each process
        compiled._cache = Cache(function, allocates=allocates)
    made: Function = compiled
    return made


def inlined(function: Function) -> Function:
    """Return a function that becomes a part of each compiled function that calls it."""
    made: Function = require_numba().njit(inline="always", **_OPTIONS, **_NEVER_ALLOCATES)(function)
    return made


@cache
def kernels(name: str) -> Any:
    """Import a module of compiled functions.

    Parameters
    ----------
    name : str
        Name of the module, such as ``"vkssp.cpu.kernels.dijkstra"``.

    Raises
    ------
    QueryError
        If numba cannot be imported.
    """
    require_numba()
    if name not in sys.modules:
        require_addresses(_ADDRESSES, f"compiling {name}")
    return importlib.import_module(name)
