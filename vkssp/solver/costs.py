"""Costs of queries on a Vulkan device and on the CPU of the same machine, kept on disk beside compiled pipelines.

Whether a query is faster on the device or on the CPU depends on both, so nothing here is a constant of one machine. The
costs are those of a generated road grid. A query in another graph is predicted by its work: nodes and arcs that a
search visits, or arcs of a hierarchy.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, TypeVar

from vkssp.cores import num_cores
from vkssp.cpu.device import cpu_model
from vkssp.files import atomic_write, cache_folder
from vkssp.gpu.instance import DeviceInfo

# Version of the files and of what they are the costs of, and microseconds that no query takes.
_VERSION, _MOST_US = 2, 1e12

_Costs = TypeVar("_Costs", "SearchCosts", "HierarchyCosts")
# Costs by the names of their files.
_known: dict[str, SearchCosts | HierarchyCosts] = {}


class Line(NamedTuple):
    """Time of a query: a fixed part, and a part for each unit of work, in microseconds."""

    fixed_us: float
    each_us: float

    def of(self, work: float) -> float:
        """Return the time of some work in microseconds."""
        return self.fixed_us + self.each_us * work

    def crossing(self, other: Line) -> float:
        """Return the work from which on the time of another line is less; infinite if it never is."""
        saved, lost = self.each_us - other.each_us, other.fixed_us - self.fixed_us
        return 0.0 if lost <= 0 else lost / saved if saved > 0 else math.inf


@dataclass(frozen=True)
class SearchCosts:
    """Costs of searches without a hierarchy; work is the number of nodes and arcs.

    Attributes
    ----------
    cpu, device : Line
        A search for all distances.
    cpu_node_us : float
        Microseconds for each node that a search on the CPU settles.
    """

    cpu: Line
    device: Line
    cpu_node_us: float


@dataclass(frozen=True)
class HierarchyCosts:
    """Costs of queries over a hierarchy.

    Attributes
    ----------
    cpu_tree, device_tree : Line
        All distances from one node. On the CPU, work is the number of all arcs. On a device it is the number of levels,
        since a level takes as long as a dispatch unless it is very large.
    cpu_pair, device_pair : Line
        A single pair; work is the number of arcs of both upward searches.
    cpu_pairs, device_pairs : Line
        Many pairs at once; work is the number of arcs of all upward searches.
    cpu_select, device_select : Line
        A small table, most of which is the search for the nodes that lead to its columns; work is the number of nodes.
    cpu_row_us, device_row_us : float
        Microseconds for each unit of `table_work` in a larger table.
    customize_us : float
        Microseconds for each arc that the CPU takes to customize the hierarchy for new weights.
    """

    cpu_tree: Line
    device_tree: Line
    cpu_pair: Line
    device_pair: Line
    cpu_pairs: Line
    device_pairs: Line
    cpu_select: Line
    device_select: Line
    cpu_row_us: float
    device_row_us: float
    customize_us: float


def table_work(rows: int, columns: int, upward: float, num_arcs: int) -> float:
    """Return the work of a table: the arcs that lead to the columns for each row, and the searches from both sides."""
    return rows * min(float(num_arcs), columns * upward) + (rows + columns) * upward


def known_costs(info: DeviceInfo, kind: type[_Costs]) -> _Costs | None:
    """Return the costs on a device that `keep_costs` has kept, perhaps in another process; None if there are none."""
    name = _name(info, kind)
    if name not in _known:
        found = _load(name, info, kind)
        if found is None:
            return None
        _known[name] = found
    costs = _known[name]
    assert isinstance(costs, kind)
    return costs


def forget_costs() -> None:
    """Forget the costs in memory, so that files are read again."""
    _known.clear()


def keep_costs(info: DeviceInfo, costs: SearchCosts | HierarchyCosts) -> None:
    """Keep the costs on a device for this process, and for others if a file can be written."""
    name = _name(info, type(costs))
    _known[name] = costs
    with contextlib.suppress(Exception):  # no home folder, or a full disk
        path = cache_folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as stream:
            stream.write(json.dumps({"of": _machine(info), "microseconds": asdict(costs)}, indent=1).encode())


def _machine(info: DeviceInfo) -> dict[str, Any]:
    """Return what costs depend on."""
    return {"version": _VERSION, **info.identity, "cpu": cpu_model(), "cores": num_cores()}


def _name(info: DeviceInfo, kind: type[Any]) -> str:
    digest = hashlib.sha256(json.dumps(_machine(info)).encode()).hexdigest()[:16]
    return f"{kind.__name__.removesuffix('Costs').lower()}-costs-{digest}.json"


def _load(name: str, info: DeviceInfo, kind: type[_Costs]) -> _Costs | None:
    """Return the costs in a file, or None if there are none of this machine."""
    found: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RuntimeError, RecursionError):
        content = json.loads((cache_folder() / name).read_text(encoding="utf-8"))
        if content["of"] == _machine(info):
            for field in fields(kind):
                value = content["microseconds"][field.name]
                is_line = field.type == "Line"
                numbers = value if is_line and isinstance(value, list) else [value]
                is_sound = all(type(number) in (int, float) and 0 <= number < _MOST_US for number in numbers)
                if is_sound and len(numbers) == 1 + is_line:
                    found[field.name] = Line(*numbers) if is_line else value
    return kind(**found) if len(found) == len(fields(kind)) else None
