"""Datasets: routers with what answers need beside them, by names, replaceable while requests run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from vkssp.cpu.device import CpuDevice
from vkssp.routing.router import Router
from vkssp.server.errors import RequestError
from vkssp.server.tiles import Tiles
from vkssp.solver.micro_batches import Batching
from vkssp.solver.solver import Solver

#: Parts that answers may have to do without, as OSRM names them.
FEATURES = ("ROUTE_STEPS", "ROUTE_GEOMETRY")
#: Arguments of `Router` by which places are snapped as OSRM does it.
SNAPPING: dict[str, Any] = {"small_component_size": 1000, "farther_streets": True, "radius_m": math.inf}


class Dataset:
    """Router and what the answers from it need.

    Parameters
    ----------
    router : Router
        The router.
    without : frozenset of str
        Parts that answers have to do without, some of `FEATURES`.
    data_version : str
        Version of the data, which answers name; empty for none.

    Attributes
    ----------
    router, without, data_version
        As given.
    """

    def __init__(self, router: Router, without: frozenset[str] = frozenset(), data_version: str = "") -> None:
        self.router, self.without, self.data_version = router, without, data_version

    @property
    def is_on_cpu(self) -> bool:
        """Whether searches run on the CPU only."""
        solver = self.router.solver
        return isinstance(solver, Solver) and isinstance(solver.device, CpuDevice)

    @property
    def batchings(self) -> list[Batching]:
        """Limits and counts of the batches of searches that devices make together."""
        solver = self.router.solver
        return [one.batching for one in ([solver] if isinstance(solver, Solver) else solver.solvers)]

    @property
    def is_quick(self) -> bool:
        """Whether a route takes a millisecond or so: by a hierarchy, on the CPU."""
        return self.is_on_cpu and self.router.solver.graph.hierarchy is not None

    @cached_property
    def tiles(self) -> Tiles:
        """Vector tiles of the streets."""
        return Tiles(self.router)

    def need(self, *features: str) -> None:
        """Raise `RequestError` if answers have to do without one of some parts."""
        for feature in features:
            if feature in self.without:
                raise RequestError(
                    "DisabledDataset",
                    f"DisabledDatasetException: Your query tried to access the "
                    f"disabled dataset {feature}. Please check your configuration: "
                    f"https://github.com/Project-OSRM/osrm-backend/wiki/Disabled-Datasets",
                )


class Datasets:
    """Datasets by the names that profiles have in URLs.

    Parameters
    ----------
    datasets : mapping of str to Dataset
        At least one.
    """

    def __init__(self, datasets: Mapping[str, Dataset]) -> None:
        self._datasets = dict(datasets)

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(tuple(self._datasets))

    def find(self, name: str) -> Dataset:
        """Return the dataset of a profile; if there is one dataset only, it is that of every profile.

        Raises
        ------
        RequestError
            If there is no dataset of this name.
        """
        datasets = self._datasets
        return datasets[_name(datasets, name)]

    def name_of(self, name: str) -> str:
        """Return the name of the dataset that `find` returns.

        Raises
        ------
        RequestError
            If there is no dataset of this name.
        """
        return _name(self._datasets, name)

    def replace(self, name: str, dataset: Dataset) -> None:
        """Answer from another dataset from the next request on; requests that have begun keep theirs."""
        self._datasets = {**self._datasets, name: dataset}


def _name(datasets: Mapping[str, Dataset], name: str) -> str:
    if len(datasets) == 1:
        return next(iter(datasets))
    if name not in datasets:
        raise RequestError("InvalidValue", f"There is no profile {name}; there are {', '.join(sorted(datasets))}.")
    return name
