"""Rescaling: questions are asked again, on a graph in units of twice the size, where a distance does not fit.

Only graphs of real weights have units. No answer mixes two scales: each is made anew, from its beginning, or is an
error if a part of it has been handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from vkssp.errors import DistanceOverflowError, GraphError, QueryError
from vkssp.graph import Graph
from vkssp.graph.scaling import bound_of_distances
from vkssp.graph.units import MOST_UNITS
from vkssp.solver.row_maker import WeightsChangedError
from vkssp.solver.shared_graph import WeightsChange

# Units are not doubled for an offset where the mean weight is of fewer units.
_LEAST_MEAN = 1024


class Rescalable(Protocol):
    """Solver, pool or router, whose graph can be replaced by one with other weights."""

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs."""


class PartGivenError(DistanceOverflowError):
    """A distance does not fit, and a part of the answer has been handed out; the same question has an answer now."""


_Method = TypeVar("_Method", bound=Callable[..., Any])
_Answer = TypeVar("_Answer")


def coarsen(source: Rescalable, graph: Graph, error: DistanceOverflowError) -> None:
    """Double the unit of the weights, unless they are no longer those of a graph.

    Raises
    ------
    DistanceOverflowError
        If weights are whole numbers, are held by this thread, or would pass the largest float or be wrong by more than
        `Graph.max_weight_error`.
    """
    if graph.scale is None:
        raise error
    if source.graph is not graph:
        return  # another thread has found that distances do not fit
    mean = float(graph.weight.sum()) / max(1, graph.num_arcs)
    if 0 < mean < _LEAST_MEAN and bound_of_distances(graph.first_out, graph.weight) <= MOST_UNITS // 2:
        # It is an offset. In larger units it would leave little of the weights for all further questions.
        raise DistanceOverflowError(
            f"an offset does not fit in units of {graph.scale:g}, in which arcs weigh {mean:.3g} on average; give "
            "smaller offsets, or the graph a larger scale"
        ) from error
    try:
        source.change_weights(lambda now: (now.coarsened() if now is graph else now, None))
    except (GraphError, QueryError) as refused:
        told = f"a distance does not fit in units of {graph.scale:g}, and these cannot grow: {refused}"
        cure = ", or give the graph a larger scale" if isinstance(refused, QueryError) else ""
        raise DistanceOverflowError(told + cure) from error
    if source.graph is graph:  # the distance is one of another metric
        raise error


def rescaled(ask: _Method) -> _Method:
    """Let a method ask again, in larger units, where a distance does not fit.

    Generators among its arguments can be read only once; the method then raises `PartGivenError`.
    """

    @wraps(ask)
    def again(source: Rescalable, /, *given: Any, **named: Any) -> Any:
        if source.graph.scale is None:
            return ask(source, *given, **named)
        kept, kept_by_name = [_kept(one) for one in given], {name: _kept(one) for name, one in named.items()}
        while True:
            graph = source.graph
            try:
                return ask(source, *kept, **kept_by_name)
            except DistanceOverflowError as error:
                coarsen(source, graph, error)
                if any(isinstance(one, Generator) for one in (*kept, *kept_by_name.values())):
                    raise PartGivenError(_told(graph)) from error
            except WeightsChangedError:
                if source.graph.scale == graph.scale:
                    raise

    return cast(_Method, again)


def _kept(argument: Any) -> Any:
    """Return an argument that can be read again, except for a generator, which may yield more than fits into memory."""
    if isinstance(argument, list | tuple) and any(isinstance(one, Iterator) for one in argument):
        return [list(one) if isinstance(one, Iterator) else one for one in argument]
    return list(argument) if isinstance(argument, Iterator) and not isinstance(argument, Generator) else argument


def _told(graph: Graph) -> str:
    return f"a distance does not fit in units of {graph.scale:g}, but they are larger now; ask again"


def restarting(
    source: Rescalable, graph: Graph, make: Callable[[Graph], Iterator[_Answer]]
) -> Generator[_Answer, None, None]:
    """Yield the parts of an answer, made anew, in larger units, where a distance does not fit.

    Parameters
    ----------
    source : Solver, SolverPool or Router
        Whatever is asked.
    graph : Graph
        Its graph, with the expected weights.
    make : callable
        Returns the parts for a graph of the source.

    Raises
    ------
    PartGivenError
        If a distance does not fit that comes after a part that was yielded; the unit is doubled then, too.
    """
    while True:
        is_begun = False
        try:
            with ExitStack() as stack:
                parts = make(graph)
                if isinstance(parts, Generator):
                    stack.callback(parts.close)
                for part in parts:
                    is_begun = True
                    yield part
            return
        except DistanceOverflowError as error:
            coarsen(source, graph, error)
            if is_begun:
                raise PartGivenError(_told(graph)) from error
        except WeightsChangedError as error:
            if source.graph.scale == graph.scale:
                raise
            if is_begun:
                raise PartGivenError(_told(graph)) from error
        graph = source.graph
