"""Selection of several devices, the CPU among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkssp.algorithm import CPU, VULKAN
from vkssp.algorithms.choice import is_cpu, places_of
from vkssp.checks import index_of, is_many, shown
from vkssp.cpu.device import CpuDevice
from vkssp.engine.shaders import lacks_of
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.instance import hardware_devices, list_devices
from vkssp.graph.distance_type import BITS_32, DistanceType

#: Selector of all devices of the machine.
ALL = "all"
#: Type of a selection of one or several devices.
Devices = Device | CpuDevice | int | str | Sequence[Device | CpuDevice | int | str]


def are_several(devices: Devices | None) -> bool:
    """Return whether a selection of devices, as `SolverPool` takes it, may mean more than one device."""
    if isinstance(devices, str):
        parts = [part.strip() for part in devices.split(",")]
        return devices == ALL or (len(parts) > 1 and all(part.isdecimal() or is_cpu(part) for part in parts))
    return is_many(devices)


def chosen(
    devices: Devices | None, algorithm: str, reduces: bool = False, distance_type: DistanceType = BITS_32
) -> tuple[list[Device | CpuDevice | int | str], bool]:
    """Return the selected devices, and whether the caller named each of them.

    Parameters
    ----------
    devices : Device, CpuDevice, int, str, or sequence of them, optional
        See `vkssp.SolverPool`.
    algorithm : str
        Name of the algorithm that will run there.
    reduces : bool
        Whether the graph is to be reduced, which only Vulkan devices search.
    distance_type : DistanceType
        Type of the distances, which devices that are not named can find.

    Raises
    ------
    QueryError
        If the selection is invalid or empty, names an open device or the CPU twice, or the algorithm finds no such
        distances.
    DeviceError
        If the algorithm needs a Vulkan device, and there is no Vulkan loader or driver.
    """
    if devices is None:
        devices = Device.selected() or ALL
    if isinstance(devices, str) and devices == ALL:
        return _all(algorithm, reduces, distance_type), False
    if isinstance(devices, str) and are_several(devices):
        devices = [part.strip() for part in devices.split(",")]
    several: Any = devices
    named = list(several) if is_many(several) else [several]
    if not all(isinstance(device, Device | CpuDevice | str) or index_of(device) is not None for device in named):
        raise QueryError(f"devices is {shown(devices)}; give indices or parts of names, 'cpu', or 'all'")
    if not named:
        raise QueryError("there are no devices; give at least one, or 'all'")
    opened = [id(device) for device in named if isinstance(device, Device | CpuDevice)]
    if len(set(opened)) < len(opened) or sum(map(is_cpu, named)) > 1:
        raise QueryError("a device is named twice; give each once")
    return named, True


def _all(algorithm: str, reduces: bool, distance_type: DistanceType) -> list[Device | CpuDevice | int | str]:
    """Return all devices that are no software, or else the CPU, or software devices if the CPU lacks the algorithm."""
    places = [place for place in places_of(algorithm, distance_type) if place == VULKAN or not reduces]
    able = [info for info in hardware_devices() if not lacks_of(info, distance_type)]
    hardware = [info.index for info in able] if VULKAN in places else []
    if hardware or CPU in places:
        return [*hardware] or [CPU]
    # Opening the device "" raises an error with the list.
    return [info.index for info in list_devices() if not info.unusable] or [""]
