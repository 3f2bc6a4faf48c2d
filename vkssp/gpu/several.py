"""Selection of several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkssp.checks import index_of, is_many, shown
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.instance import list_devices

#: Selector of all devices of the machine.
ALL = "all"
#: Type of a selection of one or several devices.
Devices = Device | int | str | Sequence[Device | int | str]


def are_several(devices: Devices | None) -> bool:
    """Return whether a selection of devices, as `SolverPool` takes it, may mean more than one device."""
    if isinstance(devices, str):
        indices = [index.strip() for index in devices.split(",")]
        return devices == ALL or (len(indices) > 1 and all(index.isdecimal() for index in indices))
    return is_many(devices)


def chosen(devices: Devices | None) -> tuple[list[Device | int | str], bool]:
    """Return the selected devices, and whether the caller named each of them.

    Parameters
    ----------
    devices : Device, int, str, or sequence of them, optional
        See `vkssp.SolverPool`.

    Raises
    ------
    QueryError
        If the selection is invalid or empty, or names an open device twice.
    DeviceError
        If all devices are selected, and there is no Vulkan loader or driver.
    """
    if devices is None:
        devices = Device.selected() or ALL
    if isinstance(devices, str) and devices == ALL:
        listed = [info for info in list_devices() if not info.unusable]
        hardware = [info.index for info in listed if info.kind != "cpu"]
        found: list[Device | int | str] = [*(hardware or [info.index for info in listed])]
        return (found, False) if found else ([""], True)  # opening the device "" raises an error with the list
    if isinstance(devices, str) and are_several(devices):
        return [index.strip() for index in devices.split(",")], True
    several: Any = devices
    named = list(several) if is_many(several) else [several]
    if not all(isinstance(device, Device | str) or index_of(device) is not None for device in named):
        raise QueryError(f"devices is {shown(devices)}; give indices or parts of names, or 'all'")
    if not named:
        raise QueryError("there are no devices; give at least one, or 'all'")
    opened = [id(device) for device in named if isinstance(device, Device)]
    if len(set(opened)) < len(opened):
        raise QueryError("an open device is named twice; give each once")
    return named, True
