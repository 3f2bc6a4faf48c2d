"""Questions whose answers are sums over distances: accessibility, centrality and betweenness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkssp.dask.question import VALUE, Facts, Opened, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import QueryError
from vkssp.routing.router import Router
from vkssp.solver.decay import Decay
from vkssp.solver.loads import Betweenness, Flows
from vkssp.solver.solver import Solver
from vkssp.solver.table_file import Block

#: Measures of a node that `vkssp.Solver.centrality` finds.
MEASURES = ("reached", "total", "eccentricity", "closeness", "harmonic")


def _facts_by(question: Question, opened: Opened, prepared: Any, count: int) -> Facts:
    """Return the facts of an answer by its first row."""
    first = question.block(opened, prepared, 0, min(1, count))
    rest = next(iter(first.values())).shape[1:]
    dtypes = {name: values.dtype for name, values in first.items()}
    return Facts((count, *rest), dtypes, opened.solver.graph.scale, question.means.distance_type.bits)


@dataclass(frozen=True, eq=False)
class AccessibilityQuestion(Question):
    """Sums over opportunities within reach of places; see `vkssp.Router.accessibility`.

    Attributes
    ----------
    origins, opportunities, weights, limits, decays, reverse
        Its arguments.
    """

    origins: Any
    opportunities: Any
    weights: Any = None
    limits: Any = None
    decays: Decay | Sequence[Decay] | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> None:
        """Do nothing: the first block checks the arguments."""

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return shape and type of the sums."""
        return _facts_by(self, opened, None, len(self.origins))

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the sums of some origins."""
        router = opened.solver
        assert isinstance(router, Router)
        found = router.accessibility(
            self.origins[first:end],
            self.opportunities,
            self.weights,
            limits=self.limits,
            decays=self.decays,
            reverse=self.reverse,
        )
        return {VALUE: found}


@dataclass(frozen=True, eq=False)
class CentralityQuestion(Question):
    """Measures of nodes; see `vkssp.Solver.centrality`.

    Attributes
    ----------
    sources, limit, reverse
        Its arguments.
    """

    sources: Any = None
    limit: float | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> Any:
        """Return the sources."""
        return _sources(opened, self.sources)

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return the types of the measures."""
        return _facts_by(self, opened, prepared, len(prepared))

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the measures of some nodes."""
        solver = opened.solver
        assert isinstance(solver, Solver)
        found = solver.centrality(prepared[first:end], limit=self.limit, reverse=self.reverse)
        return {name: getattr(found, name) for name in MEASURES}


@dataclass(frozen=True, eq=False)
class BetweennessQuestion(Question):
    """Numbers of shortest paths over arcs and through nodes; see `vkssp.Solver.betweenness`.

    Attributes
    ----------
    sources, limit
        Its arguments.
    """

    sources: Any = None
    limit: float | None = None

    def prepare(self, opened: Opened) -> Any:
        """Return the sources."""
        return _sources(opened, self.sources)

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return the number of sources."""
        dtypes = {name: np.dtype(np.int64) for name in ("arcs", "nodes", "num_pairs")}
        return Facts((len(prepared),), dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the sums of the paths from some sources."""
        solver = opened.solver
        assert isinstance(solver, Solver)
        found = solver.betweenness(prepared[first:end], limit=self.limit)
        return {"arcs": found.arcs, "nodes": found.nodes, "num_pairs": np.array(found.num_pairs, np.int64)}


@dataclass(frozen=True, eq=False)
class FlowsQuestion(Question):
    """Loads of arcs by a demand of whole numbers; see `vkssp.Solver.flows`.

    Attributes
    ----------
    sources, targets, demand
        Its arguments: rows of the demand are of sources, or all three are of pairs.
    """

    sources: Any
    targets: Any
    demand: Any

    def prepare(self, opened: Opened) -> None:
        """Check the shape of the demand."""
        count, shape = len(self.sources), self.demand.shape
        if shape not in ((count, len(self.targets)), (count,)) or (len(shape) == 1 and count != len(self.targets)):
            whole = count, len(self.targets)
            raise QueryError(f"demand has shape {shape}; give an array of shape {whole}, or one number for each pair")

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return the number of rows of the demand."""
        dtypes = {name: np.dtype(np.int64) for name in ("arcs", "unreached")}
        return Facts((len(self.sources),), dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the loads by the demand from some sources."""
        solver = opened.solver
        assert isinstance(solver, Solver)
        targets = self.targets[first:end] if len(self.demand.shape) == 1 else self.targets
        found = solver.flows(self.sources[first:end], targets, self.demand[first:end])
        return {"arcs": found.arcs, "unreached": np.array(found.unreached, np.int64)}


@dataclass(frozen=True, eq=False)
class NearestQuestion(Question):
    """Opportunities that are nearest to places; see `vkssp.Router.nearest_opportunities`.

    Attributes
    ----------
    origins, opportunities, number, limit, reverse
        Its arguments.
    """

    origins: Any
    opportunities: Any
    number: int = 1
    limit: float | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> None:
        """Do nothing: the first block checks the arguments."""

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return shape and types of the result."""
        return _facts_by(self, opened, None, len(self.origins))

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the opportunities nearest to some origins."""
        router = opened.solver
        assert isinstance(router, Router)
        found = router.nearest_opportunities(
            self.origins[first:end], self.opportunities, self.number, limit=self.limit, reverse=self.reverse
        )
        return {"opportunity": found.opportunity, found.column: found.values}


def _sources(opened: Opened, given: Any) -> Any:
    """Return nodes, by default all of the graph."""
    graph = opened.solver.graph
    if given is not None:
        return given
    return np.arange(graph.num_nodes, dtype=np.uint32) if graph.names is None else graph.names


def make_betweenness(question: BetweennessQuestion, first: int, end: int) -> Betweenness:
    """Return the betweenness of some sources; a task of a worker."""
    block = SOLVERS.block(question, first, end)
    return Betweenness(block["arcs"], block["nodes"], int(block["num_pairs"]), end - first)


def added(parts: Sequence[Betweenness]) -> Betweenness:
    """Return the sum of the betweenness of several sets of sources; a task of a worker."""
    arcs, nodes = np.zeros_like(parts[0].arcs), np.zeros_like(parts[0].nodes)
    for part in parts:
        arcs += part.arcs
        nodes += part.nodes
    return Betweenness(arcs, nodes, sum(part.num_pairs for part in parts), sum(part.num_sources for part in parts))


def make_flows(question: FlowsQuestion, first: int, end: int) -> Flows:
    """Return the loads by the demand from some sources; a task of a worker."""
    block = SOLVERS.block(question, first, end)
    return Flows(block["arcs"], int(block["unreached"]))


def added_flows(parts: Sequence[Flows]) -> Flows:
    """Return the sum of several loads; a task of a worker."""
    arcs = np.zeros_like(parts[0].arcs)
    for part in parts:
        arcs += part.arcs
    return Flows(arcs, sum(part.unreached for part in parts))
