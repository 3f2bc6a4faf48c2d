"""Choice of an algorithm by its name or by the graph, and of the place where it runs.

The rules follow measurements, see docs/performance.md. On road networks with local ids, `block_resident` is the fastest
by far. On graphs with a few very large hubs, pulling is the fastest. On all other graphs, work queues are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkssp.algorithm import AUTO, CPU, VULKAN, check_parameters
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.checks import index_of, shown
from vkssp.cpu.device import CpuDevice
from vkssp.engine.device_algorithm import DeviceAlgorithm
from vkssp.engine.shaders import lacks_of
from vkssp.errors import QueryError
from vkssp.former import warn_of
from vkssp.gpu.device import Device
from vkssp.gpu.instance import DeviceInfo, hardware_devices
from vkssp.gpu.instance import choose as choose_device
from vkssp.graph.distance_type import BITS_32, DISTANCE_TYPES, DistanceType
from vkssp.graph.landmarks import BLOCK, leaving_share
from vkssp.prepared.blocks import OTHER_BYTES, bytes_in_blocks
from vkssp.prepared.many_edges import looks_two_way
from vkssp.prepared.renumbered import RenumberedGraph

DEFAULT_ALGORITHM = AUTO
# Maximum mean degree of a sparse graph: street maps have 2 to 3, with turns up to 4.
_SPARSE = 6.0
# Maximum share of arcs that leave their block for ids to be local.
_LOCAL = 0.3
# Multiple of the mean degree from which on a node is a hub, and share of arcs that start at hubs in a skewed graph.
_HUB, _SKEWED = 16.0, 0.2


#: Former names of algorithms, each with the present name and, if the algorithm runs in two places, a device.
_FORMER: dict[str, tuple[str, str | None]] = {
    "dijkstra_gpu": ("dijkstra_scan", None),
    "delta_step_cpu": ("delta_step_buckets", None),
    **{f"{name}_cpu": (name, CPU) for name in ("bellman_ford", "crauser", "crauser_predecessors")},
    **{f"{name}_cpu": (name, CPU) for name in ("martin", "martin_predecessors")},
}


def present(name: str) -> str:
    """Return the present form of a former name, with ``@cpu`` if it implies the CPU; any other name as it is."""
    now, place = _FORMER.get(name, (name, None))
    return now if place is None else f"{now}@{place}"


def current(name: str, device: Any) -> tuple[str, Any]:
    """Return the present name of an algorithm, and the device; a former name causes a warning and may imply a device.

    Raises
    ------
    QueryError
        If the algorithm does not exist.
    """
    if isinstance(name, str) and name in _FORMER:
        name, place = _FORMER[former := name]
        warn_of(f"the algorithm {former!r}", f"{name!r}{'' if place is None else f' with device {place!r}'}")
        if place is not None and device is not None and not is_cpu(device):
            raise QueryError(f"{former} runs on the CPU; leave device out, or choose {name} for a Vulkan device")
        device = place if device is None else device
    if not _is_auto(name) and not (isinstance(name, str) and name in ALGORITHMS):
        raise QueryError(f"algorithm is {shown(name)}; choose one of {', '.join((AUTO, *ALGORITHMS))}")
    return name, device


def checked_type(distance_bits: int) -> DistanceType:
    """Return the type of distances of so many bits; raise `QueryError` if there is none."""
    kind = DISTANCE_TYPES.get(index_of(distance_bits) or 0)
    if kind is None:
        raise QueryError(f"distance_bits is {shown(distance_bits)}; give 32 or 64")
    return kind


def places_of(name: str, distance_type: DistanceType = BITS_32) -> tuple[str, ...]:
    """Return the places where an algorithm finds distances of a type, `VULKAN` first.

    Raises
    ------
    QueryError
        If there are none.
    """
    if _is_auto(name):
        return VULKAN, CPU
    bits = distance_type.bits
    found = {
        each: tuple(place for place, kind in kinds.items() if bits in kind.DESCRIPTION.distance_bits)
        for each, kinds in ALGORITHMS.items()
    }
    if not found[name]:
        names = ", ".join(each for each, places in found.items() if places)
        raise QueryError(f"{name} finds distances of 32 bits only; leave algorithm out, or choose one of {names}")
    return found[name]


def able_hardware(distance_type: DistanceType) -> list[DeviceInfo]:
    """Return the usable devices that are no software and have what distances of a type need."""
    return [info for info in hardware_devices() if not lacks_of(info, distance_type)]


def device_for(device: Any, place: str, distance_type: DistanceType) -> Any:
    """Return a device or, if none is named, the index of the fastest hardware device that can find 64-bit distances.

    None stands for the default device, as for `Device`, which is also a software device if there is no other.
    """
    if device is not None or Device.selected() or place == CPU or distance_type is BITS_32:
        return device
    able = able_hardware(distance_type)
    return choose_device(able, None).index if able else None


def place_of(name: str, device: Any, reduces: bool = False, distance_type: DistanceType = BITS_32) -> str:
    """Return the place where an algorithm runs: `VULKAN` or `CPU`.

    Parameters
    ----------
    name : str
        Name of an algorithm, or `AUTO`.
    device : Device, CpuDevice, int, str or None
        Device that the caller chose. ``"cpu"`` or a `CpuDevice` is the CPU. None is what VKSSP_DEVICE selects or, if
        that is not set, a Vulkan device that is no software and can find such distances, or else the CPU; and the
        place of the algorithm if it has only one.
    reduces : bool
        Whether the graph is to be reduced, which only Vulkan devices search.
    distance_type : DistanceType
        Type of the distances.

    Raises
    ------
    QueryError
        If the algorithm does not run on this device, or finds no such distances.
    """
    places = places_of(name, distance_type)
    is_default = device is None
    wanted = Device.selected() if is_default else device
    if is_cpu(wanted):
        if CPU not in places:
            cure = "unset VKSSP_DEVICE" if is_default else "choose a Vulkan device"
            raise QueryError(f"{name} runs on Vulkan devices only; {cure}, or leave algorithm out")
        return CPU
    if VULKAN not in places and not is_default:
        raise QueryError(f"{name} runs on the CPU; leave device out, or choose another algorithm")
    if is_default and not wanted and CPU in places and not reduces and not able_hardware(distance_type):
        return CPU  # software devices are slower than compiled code
    return places[0]


def is_cpu(device: Any) -> bool:
    """Return whether a choice of a device means the CPU and its compiled code."""
    return isinstance(device, CpuDevice) or (isinstance(device, str) and device.lower() == CPU)


def checked(
    name: str, parameters: Mapping[str, Any], place: str, distance_type: DistanceType = BITS_32
) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Parameters
    ----------
    name : str
        Name of an algorithm, or `AUTO`, which has no parameters.
    parameters : mapping of str to int
        Parameters that differ from the defaults.
    place : str
        Place where the algorithm runs.
    distance_type : DistanceType
        Type of the distances, which bounds parameters that are distances.

    Raises
    ------
    QueryError
        If a parameter does not exist, or a value is out of range.
    """
    if not _is_auto(name):
        return check_parameters(ALGORITHMS[name][place], parameters, distance_type)
    for parameter in parameters:
        raise QueryError(
            f"{parameter} may be a parameter of an algorithm, but algorithm is 'auto', which has none; name one, "
            "such as near_far"
        )
    return {}


def _is_auto(name: object) -> bool:
    # Objects of other types may raise errors or return anything in a comparison with a string.
    return isinstance(name, str) and name == AUTO


def choose(
    renumbered: RenumberedGraph,
    largest_buffer: int,
    most_bindings: int = 2**63,
    distance_type: DistanceType = BITS_32,
    *,
    splits: bool = False,
    free_bytes: int = 2**63,
) -> str:
    """Return the name of the algorithm that is expected to find all distances in a graph fastest.

    The choice depends on the degrees and the numbering of nodes. These suffice for most graphs in practice, but not for
    all graphs. On a device whose kernels have few storage buffers, it is a slower algorithm that needs fewer.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph, with its numbering on the device.
    largest_buffer : int
        Bytes of the largest buffer of the device.
    most_bindings : int
        Most storage buffers of a kernel on the device.
    distance_type : DistanceType
        Type of the distances; only work queues find those of 64 bits.
    splits : bool
        Whether the device can read arcs that are in several buffers.
    free_bytes : int
        Bytes of the device's memory that are free.
    """
    if distance_type is not BITS_32:
        return "near_far"
    fastest = _fastest(renumbered, largest_buffer, splits=splits)
    num_nodes, num_arcs = renumbered.num_nodes, renumbered.num_arcs
    if fastest == "push_pull" and 16 * num_arcs + 13 * num_nodes > free_bytes and not looks_two_way(renumbered):
        # Arcs by head do not fit beside those by tail; edges take 12 bytes each.
        fastest = "bellman_ford_edge" if 12 * num_arcs + 13 * num_nodes <= free_bytes else "near_far"
    if renumbered.arcs.nbytes > largest_buffer and not splits:
        return fastest
    # Sweeps over ids suit graphs whose neighbours have close ones, and sweeps over all nodes any graph.
    is_sparse = num_arcs <= _SPARSE * max(1, num_nodes)
    others = ("near_far", "delta_step", "bellman_ford") if is_sparse else ("near_far", "bellman_ford")
    if fastest == "push_pull":
        others = ("bellman_ford_edge", *others)
    return next((name for name in (fastest, *others) if _bindings_of(name) <= most_bindings), fastest)


def _bindings_of(name: str) -> int:
    kind = ALGORITHMS[name][VULKAN]
    assert issubclass(kind, DeviceAlgorithm)
    return kind.BINDINGS


def _fastest(renumbered: RenumberedGraph, largest_buffer: int, *, splits: bool) -> str:
    """Return the fastest algorithm for distances of 32 bits, on a device whose kernels have enough storage buffers."""
    first_out, num_arcs = renumbered.first_out, renumbered.num_arcs
    mean = num_arcs / max(1, renumbered.num_nodes)
    fits = renumbered.arcs.nbytes <= largest_buffer
    if not fits and not splits:
        return "bellman_ford_edge"  # it has the arcs in three buffers; all others need them in one
    if mean <= _SPARSE:
        is_local = leaving_share(first_out, renumbered.arcs[:, 0]) <= _LOCAL
        return "block_resident" if is_local and _fits_into_blocks(renumbered, largest_buffer) else "near_far"
    degree = np.diff(first_out)
    in_hubs = int(degree[degree >= _HUB * mean].sum(dtype=np.int64))
    if in_hubs < _SKEWED * num_arcs:
        return "near_far"
    # Arcs by head, which directed graphs need beside those by tail, take much time and memory if there are so many.
    return "push_pull" if fits or looks_two_way(renumbered) else "near_far"


def _fits_into_blocks(renumbered: RenumberedGraph, largest_buffer: int) -> bool:
    """Return whether the arrays of block_resident fit into buffers, for blocks of the usual size.

    They are larger than the arcs if nodes have less than two arcs each, or if weights are too heavy for records.
    """
    if max(4 * renumbered.record * renumbered.num_nodes, OTHER_BYTES * renumbered.num_arcs) <= largest_buffer:
        return True
    return max(bytes_in_blocks(renumbered.first_out, renumbered.arcs, BLOCK, renumbered.record)) <= largest_buffer
