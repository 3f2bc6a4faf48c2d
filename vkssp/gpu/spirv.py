"""Compiled shaders: shipped in the wheel; in a source checkout recompiled after their source has changed."""

from __future__ import annotations

import functools
import runpy
import threading
from pathlib import Path

from vkssp.errors import DeviceError

_FOLDER = Path(__file__).resolve().parent.parent / "spirv"
_BUILDER = _FOLDER.parent.parent / "scripts" / "build_shaders.py"
_lock = threading.Lock()


@functools.cache
def _bring_up_to_date() -> None:
    # Only a checkout has the sources beside the package; an installed wheel has the shaders of its build.
    if not (_BUILDER.exists() and (_BUILDER.parent.parent / "shaders").is_dir()):
        return
    builder = runpy.run_path(str(_BUILDER))
    try:
        if builder["stale"]():
            builder["build"]()
    except builder["ShaderError"] as error:
        raise DeviceError(str(error)) from None


def load(name: str) -> bytes:
    """Return the SPIR-V code of a shader.

    Raises
    ------
    DeviceError
        If the compiled shader is missing, or a changed source does not compile.
    """
    with _lock:
        _bring_up_to_date()
    path = _FOLDER / f"{name}.spv"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DeviceError(f"the compiled shader {path} is missing; install vkssp again") from None
