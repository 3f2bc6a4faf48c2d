"""Questions that tasks answer block by block: what a worker needs to know to make any rows of a result."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import vkssp
from vkssp.cpu.device import CpuDevice
from vkssp.dask.graph_source import GraphSource, hash_of
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.graph.distance_type import BITS_32, DISTANCE_TYPES, DistanceType
from vkssp.graph.units import Units
from vkssp.routing.router import Router
from vkssp.solver.solver import Solver
from vkssp.solver.table import Table
from vkssp.solver.table_file import Block
from vkssp.solver.table_maker import table_of_nodes

#: Name of the only array of results that have no metrics.
VALUE = "value"
#: Nodes as targets that stand for all nodes of the graph.
ALL = "all"


class Opened:
    """Solver or router over a graph on a device, and what else answers need.

    Attributes
    ----------
    solver : Solver or Router
        Whatever searches.
    forward : tuple of (Graph, numpy.ndarray) or None
        If the solver searches backward: the graph, and its arc for each arc that is searched.
    """

    def __init__(self, solver: Solver | Router, forward: tuple[Graph, npt.NDArray[np.int64]] | None = None) -> None:
        self.solver, self.forward = solver, forward

    def close(self) -> None:
        """Close the solver."""
        self.solver.close()


@dataclass(frozen=True)
class Means:
    """How a graph is searched: by a solver or a router, and its arguments.

    Attributes
    ----------
    algorithm : str
        Name of the algorithm.
    parameters : dict
        Other arguments of `Solver` or `Router`.
    is_router : bool
        Whether places are routed between, not nodes.
    is_backward : bool
        Whether a solver searches the graph with every arc reversed.
    """

    algorithm: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_router: bool = False
    is_backward: bool = False

    def open(self, graph: Graph, device: Device | CpuDevice) -> Opened:
        """Return the solver or router of a graph on a device."""
        if self.is_router:
            return Opened(Router(graph, self.algorithm, device, **self.parameters))
        if not self.is_backward:
            return Opened(Solver(graph, self.algorithm, device, **self.parameters))
        turned, arcs = graph.reversed()
        searched = dataclasses.replace(turned, hierarchy=graph.hierarchy)
        return Opened(Solver(searched, self.algorithm, device, **self.parameters), (graph, arcs))

    @property
    def distance_type(self) -> DistanceType:
        """Type of the distances that are asked for."""
        bits = self.parameters.get("distance_bits")
        return DISTANCE_TYPES.get(bits, BITS_32) if isinstance(bits, int) else BITS_32


@dataclass(frozen=True)
class Facts:
    """What is known of the result of a question before it is computed.

    Attributes
    ----------
    shape : tuple of int
        Shape of the result; its rows are what blocks are made of.
    dtypes : dict of str to numpy.dtype
        Type of each array of a block.
    scale : float or None
        Unit of the weights of the graph.
    bits : int
        Bits of distances.
    sources, targets : numpy.ndarray or None
        Latitude and longitude of the places.
    reverse : bool
        Whether rows are of destinations.
    row_seconds : float
        Time that a row takes on one device, in blocks of some rows.
    block_seconds : float
        Time that a block takes besides.
    """

    shape: tuple[int, ...]
    dtypes: dict[str, np.dtype[Any]]
    scale: float | None
    bits: int
    sources: npt.NDArray[np.float64] | None = None
    targets: npt.NDArray[np.float64] | None = None
    reverse: bool = False
    row_seconds: float = 0.0
    block_seconds: float = 0.0

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of all arrays."""
        columns = int(np.prod(self.shape[1:], dtype=np.int64))
        return max(1, columns * sum(dtype.itemsize for dtype in self.dtypes.values()))

    def table(self, blocks: Callable[[int, int], Iterator[Block]] | None = None) -> Table:
        """Return a table of this shape, of the rows that a function makes; without one only for names and types."""

        def none(first: int, end: int) -> Any:
            raise QueryError("the rows of this table are made by tasks")

        units = Units(self.scale, DISTANCE_TYPES[self.bits])
        shape = (self.shape[0], self.shape[1])
        return Table(shape, tuple(self.dtypes), blocks or none, units, self.sources, self.targets, self.reverse)


@dataclass(frozen=True, eq=False)
class Question(ABC):
    """Question about a graph whose answer has rows that can be computed apart from each other.

    Attributes
    ----------
    graph : GraphFile or GraphInMemory
        The graph.
    means : Means
        How it is searched.
    version : str
        Version of vkssp that asks.
    """

    graph: GraphSource
    means: Means
    version: str = field(default_factory=lambda: vkssp.__version__, kw_only=True)

    @cached_property
    def token(self) -> str:
        """Hash of all that the answer depends on, the content of the graph included."""
        own = {name.name: getattr(self, name.name) for name in dataclasses.fields(self) if name.name != "graph"}
        return hash_of([type(self).__name__, self.graph.digest, own])

    @cached_property
    def solver_token(self) -> str:
        """Hash of what the solver depends on, which other questions may share."""
        return hash_of([self.graph.digest, self.means])

    @abstractmethod
    def prepare(self, opened: Opened) -> Any:
        """Check the arguments, and return what all blocks of the answer share."""

    @abstractmethod
    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return what is known before any row is computed."""

    @abstractmethod
    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return some rows of the answer."""


def check_version(version: str) -> None:
    """Raise `QueryError` if another version of vkssp asks than this process has."""
    if version != vkssp.__version__:
        raise QueryError(
            f"vkssp {version} asks, and this worker has vkssp {vkssp.__version__}; install one version everywhere"
        )


def _scale_of(opened: Opened) -> float | None:
    return opened.solver.graph.scale


@dataclass(frozen=True, eq=False)
class TableQuestion(Question):
    """Table between nodes, see `vkssp.solver.table_maker.table_of_nodes`, or places, see `vkssp.Router.table`.

    Attributes
    ----------
    sources, targets : array_like or None
        Nodes, or places if the means are a router; targets are the sources by default, or `ALL` nodes.
    metrics : tuple of str or None
        Metrics of the table.
    limit : float or None
        Weight beyond which targets do not count.
    snapping : str
        See `vkssp.Router.route`.
    reverse : bool
        Whether rows are of destinations.
    """

    sources: Any
    targets: Any = None
    metrics: Sequence[str] | str | None = None
    limit: float | None = None
    snapping: str = "default"
    reverse: bool = False

    def prepare(self, opened: Opened) -> Table:
        """Return the table, whose rows are not computed yet."""
        solver = opened.solver
        if isinstance(solver, Router):
            ends = self.sources, self.targets
            return solver.table(*ends, self.metrics, reverse=self.reverse, snapping=self.snapping)
        targets = self.targets
        if isinstance(targets, str) and targets == ALL:
            graph = solver.graph
            targets = np.arange(graph.num_nodes) if graph.names is None else graph.names
        return table_of_nodes(solver, self.sources, targets, self.metrics, limit=self.limit, forward=opened.forward)

    def facts(self, opened: Opened, prepared: Table) -> Facts:
        """Return shape and types of the table."""
        return Facts(
            prepared.shape,
            prepared.dtypes,
            _scale_of(opened),
            prepared.units.distance_type.bits,
            prepared.sources,
            prepared.targets,
            prepared.reverse,
        )

    def block(self, opened: Opened, prepared: Table, first: int, end: int) -> Block:
        """Return some rows of the table."""
        return prepared.part(first, end).read()


@dataclass(frozen=True, eq=False)
class PairsQuestion(Question):
    """Distances of pairs of nodes; see `vkssp.Solver.pairs`.

    Attributes
    ----------
    sources, targets : array_like
        The ends of each pair.
    """

    sources: Any
    targets: Any

    def prepare(self, opened: Opened) -> None:
        """Check that there are as many sources as targets."""
        if len(self.sources) != len(self.targets):
            raise QueryError(
                f"there are {len(self.sources)} sources and {len(self.targets)} targets; give as many of each"
            )

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return the number of pairs, and the type of distances."""
        solver = solver_of(opened)
        units = solver.graph.units.typed(solver.distance_type)
        return Facts((len(self.sources),), {VALUE: units.dtype}, units.scale, solver.distance_type.bits)

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the distances of some pairs."""
        return {VALUE: solver_of(opened).pairs(self.sources[first:end], self.targets[first:end])}


def facts_by_row(question: Question, opened: Opened, prepared: Any, count: int) -> Facts:
    """Return the facts of an answer by its first row."""
    first = question.block(opened, prepared, 0, min(1, count))
    rest = next(iter(first.values())).shape[1:]
    dtypes = {name: values.dtype for name, values in first.items()}
    return Facts((count, *rest), dtypes, opened.solver.graph.scale, question.means.distance_type.bits)


def solver_of(opened: Opened) -> Solver:
    """Return the solver that answers questions about nodes."""
    solver = opened.solver
    assert isinstance(solver, Solver)
    return solver


def sources_of(opened: Opened, given: Any) -> Any:
    """Return nodes, by default all of the graph."""
    graph = opened.solver.graph
    if given is not None:
        return given
    return np.arange(graph.num_nodes, dtype=np.uint32) if graph.names is None else graph.names


def num_origins(opened: Opened, origins: Any) -> int:
    """Return the number of origins, by default that of all nodes."""
    return opened.solver.graph.num_nodes if origins is None else len(origins)
