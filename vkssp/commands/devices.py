"""Subcommand ``vkssp devices``."""

from __future__ import annotations

import argparse
import dataclasses

from vkssp.commands.common import Result, add_json
from vkssp.errors import DeviceError

SUMMARY = "list the Vulkan devices of this machine"
EXAMPLE = "vkssp devices"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)


def run(args: argparse.Namespace) -> Result:
    """List the Vulkan devices."""
    from vkssp.algorithms.choice import is_cpu
    from vkssp.gpu.device import Device
    from vkssp.gpu.instance import list_devices

    found, default, trouble = list_devices(), -1, ""
    try:
        if not is_cpu(Device.selected()):
            default = Device.default(found).index
        else:
            trouble = "VKSSP_DEVICE selects the CPU, with compiled code"
    except DeviceError as error:  # such as a wrong VKSSP_DEVICE, which this list helps to correct
        trouble = str(error)
    lines = []
    for device in found:
        mark = "*" if device.index == default else " "
        lines.append(f"{mark} {device.index}  {device.name}  ({device.kind}, {device.memory / 2**30:.1f} GiB)")
        lines.append(f"     {device.driver}, Vulkan {device.api_version}, subgroups of {device.limits.subgroup_size}")
        if device.unusable:
            lines.append(f"     cannot be used: {device.unusable}")
    if default >= 0:
        lines.append("The one with the star is used unless --device or VKSSP_DEVICE says otherwise.")
    if trouble:
        lines.append(f"None of these is used by default: {trouble}")
    described = [{**dataclasses.asdict(d), "features": sorted(d.features)} for d in found]
    return {"devices": described, "default": default}, lines
