"""Dependencies of preprocessing: the library that computes orders, and the compiler of kernels."""

from __future__ import annotations

import importlib
from typing import Any

from vkssp import jit
from vkssp.errors import QueryError


def require_library() -> Any:
    """Return the module routingkit_cch, which computes orders; also check for numba, which compiles the kernels.

    Raises
    ------
    QueryError
        If routingkit-cch or numba cannot be imported.
    """
    try:
        importlib.import_module("numba")
        return importlib.import_module("routingkit_cch")
    except ImportError as error:
        raise QueryError(
            f"preparing a graph needs numba and routingkit-cch ({error}); install them: "
            "pip install numba routingkit-cch"
        ) from None


def kernels() -> Any:
    """Return the module of compiled kernels."""
    return jit.kernels("vkssp.hierarchy.kernels")
