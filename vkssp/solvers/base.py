"""What all algorithms share: the graph on the device, the shape of a search, and how parameters are declared."""

from __future__ import annotations

import operator
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from vkssp.errors import QueryError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.solvers.prepare import PreparedGraph

#: A node and what it takes to get there from the place that is meant, or from there to it.
Terminal = tuple[int, int]
#: Seeds and targets that one search may have, each.
MAX_TERMINALS = 64


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm.

    Attributes
    ----------
    name : str
        Keyword of `Solver`, and of the command line.
    low, high : int
        Least and largest value.
    default : int or None
        Value where none is given; None where it is chosen from the graph and the device.
    meaning : str
        One line for people.
    """

    name: str
    low: int
    high: int
    default: int | None
    meaning: str


def check_parameters(algorithm: type[Algorithm], given: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the values of all parameters of an algorithm.

    Raises
    ------
    QueryError
        If one is unknown, not an integer or out of range.
    """
    known = {parameter.name: parameter for parameter in algorithm.PARAMETERS}
    for name in given:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise QueryError(f"{algorithm.NAME} has no parameter {name!r}; it takes {takes}")
    values: dict[str, int | None] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None:
            values[name] = parameter.default
            continue
        try:
            number = operator.index(value)
        except TypeError:
            raise QueryError(f"{name} is {value!r}; {algorithm.NAME} takes an integer") from None
        if not parameter.low <= number <= parameter.high:
            raise QueryError(f"{name} is {number}; {algorithm.NAME} takes {parameter.low} to {parameter.high}")
        values[name] = number
    return values


@dataclass(frozen=True)
class Outcome:
    """How a search went.

    Attributes
    ----------
    best : int
        Length of the way to the best target; 2**32 - 1 where there is none, or none was asked for.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    device_ms : float
        Milliseconds on the device from the reset of the distances to the last one written.
    counters : dict of str to int
        What the algorithm counted.
    """

    best: int
    overflow: bool
    device_ms: float
    counters: dict[str, int] = field(default_factory=dict)


class DeviceGraph(Resource):
    """A graph's arrays on a device, uploaded once and shared by all searches there.

    Attributes
    ----------
    prepared : PreparedGraph
        The same on the host.
    first_out, arcs : Buffer
        Rows, and (head, weight) of each arc.
    """

    def __init__(self, device: Device, prepared: PreparedGraph) -> None:
        super().__init__(device)
        self.device, self.prepared = device, prepared
        self._lock = threading.Lock()
        self._incoming: tuple[Buffer, Buffer, Any] | None = None
        try:
            # Both sizes are checked before the first of them is allocated and the first byte is copied.
            self.first_out = self._buffer("first_out", 4 * (prepared.num_nodes + 1))
            self.arcs = self._buffer("the arcs", 8 * prepared.num_arcs)
            self.first_out.write(prepared.first_out)
            if prepared.num_arcs:
                self.arcs.write(prepared.arcs)
        except BaseException:
            self.close()
            raise

    @property
    def num_nodes(self) -> int:
        """Number of nodes on the device."""
        return self.prepared.num_nodes

    def incoming(self) -> tuple[Buffer, Buffer, Any]:
        """Return rows and (tail, weight) of the arcs by head, and their ids; uploaded when first asked for."""
        with self._lock:
            if self._incoming is None:
                first_in, arcs_in, arc_in = self.prepared.reverse()
                rows = self._buffer("first_in", first_in.nbytes)
                rows.write(first_in)
                arcs = self._buffer("the incoming arcs", arcs_in.nbytes)
                if len(arcs_in):
                    arcs.write(arcs_in)
                self._incoming = rows, arcs, arc_in
            return self._incoming

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)


class Algorithm(Protocol):
    """A search on the device, with buffers of its own, to be run any number of times by one thread at a time."""

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]

    #: Distances of the last search, one uint32 per node on the device.
    distances: Buffer
    #: Seeds and then targets of the last search, (node, offset) each.
    terminals: Buffer

    def __init__(self, graph: DeviceGraph, **parameters: int | None) -> None:
        """Allocate buffers and make pipelines."""

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = ()) -> Outcome:
        """Find distances from the nearest seed to every node, or to the best target and all nodes that are nearer."""

    def close(self) -> None:
        """Give back the buffers."""
