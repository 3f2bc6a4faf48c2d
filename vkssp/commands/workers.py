"""Workers of a cluster, to which commands give their work."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import is_watched
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError

if TYPE_CHECKING:
    from vkssp.graph import Graph

#: Scheduler that stands for workers of this machine, which end with the command.
LOCAL = "local"


def add_scheduler(parser: CommandParser, what: str) -> None:
    """Add the scheduler; `what` says what workers do."""
    parser.rare_group("many machines").add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"scheduler of dask, such as tcp://10.0.0.1:8786, whose workers {what}; or {LOCAL}, for a worker on each "
        "GPU of this machine (needs vkssp[dask])",
    )


def check_scheduler(args: argparse.Namespace) -> None:
    """Raise an error if no scheduler can have the address, or workers that have their own devices are given one."""
    if args.scheduler not in (None, LOCAL) and args.device is not None:
        raise QueryError("--device is of this machine, and workers have their own; leave it out")
    if args.scheduler not in (None, LOCAL):
        from vkssp.dask.cluster import check_address

        if args.scheduler.lower() == LOCAL:
            raise QueryError(f"--scheduler is {args.scheduler!r}; write {LOCAL}, or the address of a scheduler")
        check_address(args.scheduler)


@contextmanager
def workers(args: argparse.Namespace) -> Iterator[Any]:
    """Connect to the cluster that the arguments name; yield a client."""
    from vkssp.dask.cluster import connected, local_cluster

    if args.scheduler != LOCAL:
        with connected(args.scheduler) as client:
            yield client
        return
    # After Ctrl-C there is no time to end processes in order; they end all the same, and what they leave is removed.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    # Workers would also tell of errors that this process tells of.
    with local_cluster(args.device, silence_logs=logging.CRITICAL) as cluster, connected(cluster) as client:
        yield client


class Asker:
    """Cluster whose workers answer questions about a graph, in place of a solver or a router of this process.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    source : Graph or str
        The graph, as workers are told of it; see `graph_for_workers`.
    means : dict
        Arguments of all questions, such as the algorithm.
    progress : bool
        Whether to show progress bars.
    """

    def __init__(self, client: Any, source: Graph | str, means: dict[str, Any], *, progress: bool) -> None:
        self._client, self._source, self._means, self._progress = client, source, means, progress

    def ask(self, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Return the value of what a function of `vkssp.dask` makes, or its values by their names."""
        from vkssp.dask.driver import computed

        lazy = make(self._source, *given, cluster=self._client, **self._means, **named)
        parts = list(lazy.values()) if isinstance(lazy, dict) else [lazy]
        found = computed(self._client, parts, progress=self._progress)
        return dict(zip(lazy, found, strict=True)) if isinstance(lazy, dict) else found[0]


@contextmanager
def asking(args: argparse.Namespace, source: Graph | str, means: dict[str, Any]) -> Iterator[Asker]:
    """Connect to the cluster that the arguments name; see `Asker`."""
    with workers(args) as client:
        yield Asker(client, source, {"algorithm": args.algorithm, **means}, progress=is_watched(args))


def graph_for_workers(args: argparse.Namespace, graph: Graph) -> Graph | str:
    """Return what workers are told of a graph: its file, which need not be sent, if it has the same content."""
    from vkssp.reading import is_saved

    is_file = args.traffic is None and os.path.isfile(args.graph) and is_saved(args.graph)
    return str(args.graph) if is_file else graph
