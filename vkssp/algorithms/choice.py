"""Choice of an algorithm by its name or by the graph, and of the place where it runs.

The rules follow measurements, see docs/performance.md: on road networks with local ids `block_resident` is the fastest
by far, on graphs with a few very large hubs a sweep over all edges is, and on all other graphs work queues are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from vkssp.algorithm import AUTO, CPU, VULKAN, check_parameters
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.checks import shown
from vkssp.cpu.device import CpuDevice
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.graph.landmarks import BLOCK, leaving_share
from vkssp.prepared.blocks import OTHER_BYTES, RECORD_BYTES, bytes_in_blocks
from vkssp.prepared.renumbered import RenumberedGraph

DEFAULT_ALGORITHM = AUTO
# Mean degree of a graph that is sparse: street maps have 2 to 3, with turns up to 4.
_SPARSE = 6.0
# The share of arcs that leave their block up to which ids are local.
_LOCAL = 0.3
# A graph is skewed where such a share of its arcs starts at nodes of so many times the mean degree.
_HUB, _SKEWED = 16.0, 0.2


#: Former names of algorithms, and what stands for them now: a name and, if it runs in two places, a device.
_FORMER: dict[str, tuple[str, str | None]] = {
    "dijkstra_gpu": ("dijkstra_scan", None),
    "delta_step_cpu": ("delta_step_buckets", None),
    **{f"{name}_cpu": (name, CPU) for name, classes in ALGORITHMS.items() if len(classes) > 1},
}


def current(name: str, device: Any) -> tuple[str, Any]:
    """Return the present name of an algorithm, and the device; a former name implies one, and gives a warning.

    Raises
    ------
    QueryError
        If there is no such algorithm.
    """
    if isinstance(name, str) and name in _FORMER:
        name, place = _FORMER[former := name]
        also = "" if place is None else f" and device {place!r}"
        warnings.warn(f"the algorithm {former!r} is called {name!r} now; use this name{also}", DeprecationWarning, 3)
        device = place if device is None else device
    if not _is_auto(name) and not (isinstance(name, str) and name in ALGORITHMS):
        raise QueryError(f"algorithm is {shown(name)}; choose one of {', '.join((AUTO, *ALGORITHMS))}")
    return name, device


def place_of(name: str, device: Any) -> str:
    """Return the place where an algorithm runs: `VULKAN` or `CPU`.

    Parameters
    ----------
    name : str
        Name of an algorithm, or `AUTO`.
    device : Device, CpuDevice, int, str or None
        The device that the caller chose: ``"cpu"`` or a `CpuDevice` is the CPU, None the place that the algorithm has.
        If it has both, that is the CPU if VKSSP_DEVICE is ``"cpu"``, and else a Vulkan device.

    Raises
    ------
    QueryError
        If the algorithm does not run there.
    """
    places = (VULKAN, CPU) if _is_auto(name) else tuple(ALGORITHMS[name])
    is_default = device is None
    wanted = Device.selected() if is_default else device
    if is_cpu(wanted):
        if CPU not in places:
            cure = "unset VKSSP_DEVICE" if is_default else "leave device out"
            raise QueryError(f"{name} runs on Vulkan devices only; {cure}, or choose another algorithm")
        return CPU
    if VULKAN not in places and not is_default:
        raise QueryError(f"{name} runs on the CPU; leave device out, or choose another algorithm")
    return places[0]


def is_cpu(device: Any) -> bool:
    """Return whether a choice of a device means the CPU and its compiled code."""
    return isinstance(device, CpuDevice) or (isinstance(device, str) and device.lower() == CPU)


def checked(name: str, parameters: Mapping[str, Any], place: str) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Parameters
    ----------
    name : str
        Name of an algorithm, or `AUTO`, which has no parameters.
    parameters : mapping of str to int
        Parameters that differ from the defaults.
    place : str
        Place where it runs.

    Raises
    ------
    QueryError
        If there is no such parameter, or a value is out of range.
    """
    if not _is_auto(name):
        return check_parameters(ALGORITHMS[name][place], parameters)
    for parameter in parameters:
        raise QueryError(
            f"{parameter} may be a parameter of an algorithm, but algorithm is 'auto', which has none; name one, "
            "such as near_far"
        )
    return {}


def _is_auto(name: object) -> bool:
    # Another type may do anything in a comparison with a text.
    return isinstance(name, str) and name == AUTO


def choose(renumbered: RenumberedGraph, largest_buffer: int) -> str:
    """Return the name of the algorithm that should find all distances in a graph first.

    It goes by degrees and by numbering, which say much of the graphs that people have, and nothing of some that one
    could think of.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph, with the numbering that it has on the device.
    largest_buffer : int
        Bytes of the largest buffer of the device.
    """
    first_out, num_arcs = renumbered.first_out, renumbered.num_arcs
    mean = num_arcs / max(1, renumbered.num_nodes)
    if renumbered.arcs.nbytes > largest_buffer:
        return "bellman_ford_edge"  # the others need all arcs in one buffer, this one has them in three
    if mean <= _SPARSE:
        is_local = leaving_share(first_out, renumbered.arcs[:, 0]) <= _LOCAL
        return "block_resident" if is_local and _fits_into_blocks(renumbered, largest_buffer) else "near_far"
    degree = np.diff(first_out)
    in_hubs = int(degree[degree >= _HUB * mean].sum(dtype=np.int64))
    return "bellman_ford_edge" if in_hubs >= _SKEWED * num_arcs else "near_far"


def _fits_into_blocks(renumbered: RenumberedGraph, largest_buffer: int) -> bool:
    """Return whether buffers hold what block_resident makes of the arcs, for blocks of the usual size.

    That is more than the arcs themselves where nodes have less than two of them, or weights are too heavy for records.
    """
    if max(RECORD_BYTES * renumbered.num_nodes, OTHER_BYTES * renumbered.num_arcs) <= largest_buffer:
        return True
    return max(bytes_in_blocks(renumbered.first_out, renumbered.arcs, BLOCK)) <= largest_buffer
