"""Subcommand ``vkssp devices``."""

from __future__ import annotations

import argparse
import dataclasses
import math
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import Result
from vkssp.commands.parser import CommandParser
from vkssp.errors import DeviceError
from vkssp.options import Help

if TYPE_CHECKING:
    from vkssp.gpu.instance import DeviceInfo
    from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts

SUMMARY = "list the devices of this machine: the CPU, and Vulkan devices"
EXAMPLE = "vkssp devices"
_UNTUNED = "not tuned: vkssp tune measures what is fastest here"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "--measure",
        action="store_true",
        help=Help(
            "measure again what each GPU answers faster than the CPU",
            "; without this it is measured when a GPU is first used",
        ),
    )


def run(args: argparse.Namespace) -> Result:
    """List the devices."""
    from vkssp.algorithm import CPU
    from vkssp.cores import num_cores
    from vkssp.cpu.device import cpu_model
    from vkssp.gpu.instance import list_devices
    from vkssp.tunables import TUNED_VARIABLE, is_on, is_tuned, kept_values

    found: list[DeviceInfo] = []
    defaults: list[int | str] = []
    trouble, missing = "", ""
    try:
        found = list_devices()
    except DeviceError as error:  # no loader, or no driver
        missing = str(error)
    try:
        defaults = _defaults(found)
    except DeviceError as error:  # a wrong VKSSP_DEVICE, which this list helps to correct
        trouble = str(error)
    lines, costs, tuned = [], dict[int, dict[str, Any]](), dict[int, dict[str, int]]()
    for device in found:
        mark = "*" if device.index in defaults else " "
        memory = f"{device.memory / 2**30:.1f} GiB"
        lines.append(f"{mark} {device.index}  {device.name}  ({device.kind_name}, {memory})")
        lines.append(f"     {device.driver}, Vulkan {device.api_version}, subgroups of {device.limits.subgroup_size}")
        if device.unusable:
            lines.append(f"     cannot be used: {device.unusable}")
            continue
        tuned[device.index] = kept_values(device.identity, dataclasses.asdict(device.limits))
        if device.kind != "cpu" or tuned[device.index]:
            count = len(tuned[device.index])
            are = f"tuned: {count} value{'s' * (count != 1)} by vkssp tune" if is_tuned(device.identity) else _UNTUNED
            if not is_on():
                are = f"tuned values are off: {TUNED_VARIABLE}"
            lines.append(f"     {are}")
        if device.kind != "cpu":
            searches, hierarchies = _costs(device, args.measure)
            lines += [f"     {line}" for line in crossings(searches, hierarchies)]
            costs[device.index] = {
                "searches": None if searches is None else dataclasses.asdict(searches),
                "hierarchies": None if hierarchies is None else dataclasses.asdict(hierarchies),
            }
    cores = num_cores()
    lines.append(f"{'*' if CPU in defaults else ' '} cpu  {cpu_model()}  ({cores} core{'s' * (cores > 1)})")
    compiler = _compiler()
    lines.append(
        f"       compiled by {compiler}, without Vulkan" if compiler else "       cannot be used: it needs numba"
    )
    if trouble:
        lines.append(f"None of these is used by default: {trouble}")
    elif len(defaults) > 1:
        lines.append("Those with a star share the work where several can, since VKSSP_DEVICE names them.")
    else:
        lines.append("The one with the star is used unless --device or VKSSP_DEVICE says otherwise.")
    if args.measure and not costs:
        lines.append("There is nothing to measure: no GPU can be used, and software devices are slower than the CPU.")
    if missing:
        lines.append(f"There are no Vulkan devices: {missing}")
    described = [
        {
            **dataclasses.asdict(each),
            "features": sorted(each.features),
            "costs": costs.get(each.index),
            "tuned": tuned.get(each.index),
        }
        for each in found
    ]
    cpu = {"name": cpu_model(), "cores": cores, "compiler": compiler}
    default = defaults if len(defaults) > 1 else next(iter(defaults), None)
    return {"devices": described, "cpu": cpu, "default": default, "no_vulkan": missing}, lines


def _costs(device: DeviceInfo, measures: bool) -> tuple[SearchCosts | None, HierarchyCosts | None]:
    """Return what is known of the costs of queries on a device and on the CPU."""
    from vkssp.solver.costs import HierarchyCosts, SearchCosts, known_costs

    if measures:
        from vkssp.gpu.device import Device
        from vkssp.solver.cost_measurement import measured_costs

        with Device(device.index) as opened:
            measured_costs(opened, SearchCosts, anew=True)
            measured_costs(opened, HierarchyCosts, anew=True)
    return known_costs(device, SearchCosts), known_costs(device, HierarchyCosts)


def crossings(searches: SearchCosts | None, hierarchies: HierarchyCosts | None) -> list[str]:
    """Return lines about the sizes of queries from which on a device is faster than the CPU."""

    def crossing(cpu: Line, device: Line) -> str:
        size = cpu.crossing(device)
        return f"up to {size:,.0f}" if math.isfinite(size) else "any number of"

    lines = []
    if searches is not None:
        lines.append(
            f"the CPU is faster in graphs of {crossing(searches.cpu, searches.device)} nodes and arcs, and to "
            f"targets up to {searches.device.fixed_us / searches.cpu_node_us:,.0f} nodes away"
        )
    if hierarchies is not None:
        lines.append(
            f"prepared graphs: a pair takes {hierarchies.cpu_pair.fixed_us:,.0f} µs on the CPU and "
            f"{hierarchies.device_pair.fixed_us:,.0f} here; pairs at once are faster on the CPU for "
            f"{crossing(hierarchies.cpu_pairs, hierarchies.device_pairs)} arcs of upward searches"
        )
    return lines or ["not yet compared with the CPU; the first solver does it, or --measure"]


def _compiler() -> str:
    """Return the name and version of the compiler, without an import of it, which is slow; empty if there is none."""
    try:
        return f"numba {version('numba')}"
    except PackageNotFoundError:
        return ""


def _defaults(found: list[DeviceInfo]) -> list[int | str]:
    """Return the selectors of the default devices: indices of Vulkan devices, or "cpu"; several if VKSSP_DEVICE does.

    Raises
    ------
    DeviceError
        If VKSSP_DEVICE selects no device.
    """
    from vkssp.algorithm import AUTO, CPU
    from vkssp.algorithms.choice import is_cpu
    from vkssp.checks import shown
    from vkssp.gpu.device import DEVICE_VARIABLE, Device
    from vkssp.gpu.instance import choose
    from vkssp.solver.several import are_several, chosen

    selected = Device.selected()
    if are_several(selected):
        several: list[Any] = chosen(selected, AUTO)[0]
        return [CPU if is_cpu(one) else choose(found, one).index for one in several]
    if is_cpu(selected) or (not selected and not any(d.kind != "cpu" and not d.unusable for d in found)):
        return [CPU]
    if not found:
        raise DeviceError(f"{DEVICE_VARIABLE} is {shown(selected)}, and there are no Vulkan devices; unset it")
    return [Device.default(found).index]
