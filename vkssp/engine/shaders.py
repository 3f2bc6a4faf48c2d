"""Compiled shaders and layouts of states for the types of distances."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from vkssp.errors import DeviceError
from vkssp.gpu.instance import DeviceInfo
from vkssp.graph.distance_type import BITS_32, DistanceType

#: Features of a device that distances of 64 bits need, with their names in Vulkan.
NEEDS_64 = {"int64": "shaderInt64", "int64_atomics": "shaderBufferInt64Atomics"}
#: Storage buffers of the kernel of near_far, which alone finds them.
BINDINGS_64 = 9


def shader_of(name: str, distance_type: DistanceType) -> str:
    """Return the name of a compiled shader for distances of a type; scripts/build_shaders.py has those for 64 bits."""
    return name if distance_type is BITS_32 else f"{name}_{distance_type.bits}"


def needs_of(distance_type: DistanceType) -> tuple[str, ...]:
    """Return the features of a device that distances of a type need, as `DeviceInfo.features` names them."""
    return () if distance_type is BITS_32 else tuple(NEEDS_64)


def lacks_of(info: DeviceInfo, distance_type: DistanceType) -> list[str]:
    """Return Vulkan's names of the features, and other things, that distances of a type need and a device lacks."""
    lacking = [NEEDS_64[name] for name in needs_of(distance_type) if name not in info.features]
    if distance_type is not BITS_32 and info.limits.storage_buffers < BINDINGS_64:
        lacking.append(f"{BINDINGS_64} storage buffers in a kernel")
    return lacking


def require(info: DeviceInfo, distance_type: DistanceType) -> None:
    """Raise `DeviceError` if a device lacks what distances of a type need."""
    lacking = lacks_of(info, distance_type)
    if lacking:
        raise DeviceError(
            f"distances of {distance_type.bits} bits need {' and '.join(lacking)}, which {info.name} lacks; leave the "
            "device out, or choose another, such as 'cpu'"
        )


def widened(layout: np.dtype[Any], distances: Collection[str], distance_type: DistanceType) -> np.dtype[Any]:
    """Return the layout of a state, given that for distances of 32 bits and the names of the fields with distances."""
    if distance_type is BITS_32:
        return layout
    fields = [(name, distance_type.dtype if name in distances else kind, *shape) for name, kind, *shape in layout.descr]
    return np.dtype(fields, align=True)  # as std430 aligns the fields of a struct
