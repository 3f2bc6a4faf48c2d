"""Isochrones of many places that tasks of dask compute."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag
from vkssp.dask.asking import are_places, divided, means_of, plain
from vkssp.dask.cluster import resources_of
from vkssp.dask.driver import FEW_AHEAD, results
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import asked, delayed
from vkssp.dask.question import VALUE, Facts, Opened, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.graph import Graph
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, Isochrone
from vkssp.routing.router import Router
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class IsochronesQuestion(Question):
    """Isochrones of places; see `vkssp.Router.isochrones_of_each`.

    Attributes
    ----------
    origins, limits, width_m, reverse
        Its arguments.
    """

    origins: Any
    limits: float | Sequence[float]
    width_m: float = DEFAULT_WIDTH_M
    reverse: bool = False

    def prepare(self, opened: Opened) -> None:
        """Do nothing: the first block checks the arguments."""

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return the numbers of places and limits."""
        first = self.block(opened, None, 0, 1)[VALUE]
        return Facts((len(self.origins), first.shape[1]), {VALUE: first.dtype}, opened.solver.graph.scale, 32)

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the isochrones of some places, shape (places, limits), object."""
        router = opened.solver
        assert isinstance(router, Router)
        given = self.origins[first:end], self.limits, self.width_m
        found = list(router.isochrones_of_each(*given, reverse=self.reverse, first_number=first))
        made = np.empty((len(found), len(found[0])), object)
        for row, some in enumerate(found):
            made[row] = some
        return {VALUE: made}


def make_isochrones(question: IsochronesQuestion, first: int, end: int) -> list[list[Isochrone]]:
    """Return the isochrones of some places; a task of a worker."""
    found: list[list[Isochrone]] = SOLVERS.block(question, first, end)[VALUE].tolist()
    return found


def isochrones(
    graph: Graph | str | Path,
    origins: Any,
    limits: float | Sequence[float],
    width_m: float = DEFAULT_WIDTH_M,
    *,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the isochrones of each of many places as a lazy bag.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    origins, limits, width_m, reverse
        See `vkssp.Router.isochrones_of_each`.

    Returns
    -------
    dask.bag.Bag
        For each place a list with a `vkssp.Isochrone` for each limit, in ascending order; a partition for each block.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    bag = optional("dask.bag", "lazy bags need", "dask")
    question = isochrones_question(graph, origins, limits, width_m, reverse, algorithm, parameters)
    _, blocks = divided(question, cluster, rows)
    node, make = asked(question), delayed(make_isochrones)
    return bag.from_delayed([make(node, first, end) for first, end in blocks.ranges()])


def isochrones_in_order(question: IsochronesQuestion, client: Any) -> Generator[list[Isochrone], None, None]:
    """Yield the isochrones of each place, while workers make those of other places.

    Raises
    ------
    ClusterError
        If the scheduler is lost, or workers end again and again.
    VksspError
        As `vkssp.Router.isochrones_of_each` does.
    """
    ranges, resources = divided(question, client, None)[1].ranges(), resources_of(client)
    given = client, question, make_isochrones, ranges, resources, "isochrones"
    with closing(results(*given, ordered=True, ahead=FEW_AHEAD)) as made:
        for _, found in made:
            yield from found


def isochrones_question(
    graph: Graph | str | Path,
    origins: Any,
    limits: float | Sequence[float],
    width_m: float,
    reverse: bool,
    algorithm: str,
    parameters: dict[str, Any],
) -> IsochronesQuestion:
    """Return isochrones as a question to workers; see `isochrones`."""
    places = plain(origins, "origins")
    if not are_places(places) or not len(places):
        raise QueryError("origins are places; give pairs of latitude and longitude, at least one")
    means = means_of(algorithm, parameters, is_router=True)
    return IsochronesQuestion(source_of(graph), means, places, limits, width_m, flag(reverse, "reverse"))
