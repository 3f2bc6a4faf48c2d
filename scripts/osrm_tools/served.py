"""Server of one graph in a thread of the resident process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn

from vkssp import Graph, Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset, Datasets
from vkssp.server.limits import Limits

#: Seconds in which a server has to be ready, and those in which it has to end.
_START_S, _STOP_S = 30.0, 5.0


class Served:
    """Server of a graph at an address.

    Parameters
    ----------
    graph : Graph
        The graph.
    algorithm : str
        "ch" or "mld", the name under which the caller prepared the graph.
    disabled : frozenset of str
        What answers must do without: "ROUTE_STEPS", "ROUTE_GEOMETRY".
    about : dict of str to (str or int)
        The version of the data, which answers name, and the size of small components.
    options : argparse.Namespace
        Options of osrm-routed.
    say : callable
        Tells the caller something.
    """

    def __init__(
        self,
        graph: Graph,
        algorithm: str,
        disabled: frozenset[str],
        about: Mapping[str, Any],
        options: Any,
        say: Callable[[str], None],
    ) -> None:
        self.algorithm, self._say = algorithm, say
        self._datasets = Datasets({"graph": _dataset(graph, disabled, about)})
        limits = Limits(
            coordinates=options.max_viaroute_size,
            trip=options.max_trip_size,
            table=options.max_table_size,
            matching=options.max_matching_size,
            nearest=options.max_nearest_size,
            alternatives=options.max_alternatives,
        )
        config = uvicorn.Config(
            application(self._datasets, limits, live_map=False),
            host=options.ip,
            port=options.port,
            log_level="error",
            timeout_keep_alive=options.keepalive_timeout,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> None:
        """Start and return when requests can come."""
        self._thread.start()
        end = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise OSError(f"cannot listen at {self._server.config.host}:{self._server.config.port}")
            time.sleep(0.002)

    def replace(self, graph: Graph, disabled: frozenset[str], about: Mapping[str, Any]) -> None:
        """Answer from another graph from now on."""
        self._datasets.replace("graph", _dataset(graph, disabled, about))
        self._say("[info] updated facade to the new data\n")

    def stop(self) -> None:
        """End, after the answers that have begun."""
        self._server.should_exit = True
        self._thread.join(_STOP_S)


def _dataset(graph: Graph, disabled: frozenset[str], about: Mapping[str, Any]) -> Dataset:
    router = Router(graph, device="cpu", small_component_size=about["small_component_size"])
    return Dataset(router, disabled, about["data_version"])
