"""Subcommand ``vkssp devices``."""

from __future__ import annotations

import argparse
import dataclasses
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from vkssp.checks import shown
from vkssp.commands.common import Result, add_json
from vkssp.errors import DeviceError

if TYPE_CHECKING:
    from vkssp.gpu.instance import DeviceInfo

SUMMARY = "list the devices of this machine: the CPU, and Vulkan devices"
EXAMPLE = "vkssp devices"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)


def run(args: argparse.Namespace) -> Result:
    """List the devices."""
    from vkssp.algorithm import CPU
    from vkssp.cpu.cores import num_cores
    from vkssp.cpu.device import cpu_model
    from vkssp.gpu.instance import list_devices

    found: list[DeviceInfo] = []
    default: int | str | None = None
    trouble, missing = "", ""
    try:
        found = list_devices()
    except DeviceError as error:  # no loader, or no driver
        missing = str(error)
    try:
        default = _default(found)
    except DeviceError as error:  # a wrong VKSSP_DEVICE, which this list helps to correct
        trouble = str(error)
    lines = []
    for device in found:
        mark = "*" if device.index == default else " "
        lines.append(f"{mark} {device.index}  {device.name}  ({device.kind}, {device.memory / 2**30:.1f} GiB)")
        lines.append(f"     {device.driver}, Vulkan {device.api_version}, subgroups of {device.limits.subgroup_size}")
        if device.unusable:
            lines.append(f"     cannot be used: {device.unusable}")
    cores = num_cores()
    lines.append(f"{'*' if default == CPU else ' '} cpu  {cpu_model()}  ({cores} core{'s' * (cores > 1)})")
    compiler = _compiler()
    lines.append(
        f"       compiled by {compiler}, without Vulkan" if compiler else "       cannot be used: it needs numba"
    )
    if trouble:
        lines.append(f"None of these is used by default: {trouble}")
    else:
        lines.append("The one with the star is used unless --device or VKSSP_DEVICE says otherwise.")
    if missing:
        lines.append(f"There are no Vulkan devices: {missing}")
    described = [{**dataclasses.asdict(d), "features": sorted(d.features)} for d in found]
    cpu = {"name": cpu_model(), "cores": cores, "compiler": compiler}
    return {"devices": described, "cpu": cpu, "default": default, "no_vulkan": missing}, lines


def _compiler() -> str:
    """Return the name and version of the compiler, without an import of it, which is slow; empty if there is none."""
    try:
        return f"numba {version('numba')}"
    except PackageNotFoundError:
        return ""


def _default(found: list[DeviceInfo]) -> int | str:
    """Return the selector of the default device: the index of a Vulkan device, or "cpu".

    Raises
    ------
    DeviceError
        If VKSSP_DEVICE selects no device.
    """
    from vkssp.algorithm import CPU
    from vkssp.algorithms.choice import is_cpu
    from vkssp.gpu.device import DEVICE_VARIABLE, Device

    selected = Device.selected()
    if is_cpu(selected) or (not selected and not any(d.kind != "cpu" and not d.unusable for d in found)):
        return CPU
    if not found:
        raise DeviceError(f"{DEVICE_VARIABLE} is {shown(selected)}, and there are no Vulkan devices; unset it")
    return Device.default(found).index
