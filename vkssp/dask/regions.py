"""The same work for many graphs: each is prepared once, kept on shared storage, and worked on by one worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import vkssp
from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag, path_of, shown
from vkssp.dask.asking import means_of
from vkssp.dask.cluster import connected, resources_of
from vkssp.dask.driver import results
from vkssp.dask.graph_source import GraphFile, file_digest, hash_of, read_unchanged
from vkssp.dask.question import Facts, Means, Opened, Question, check_version
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import FormatError, QueryError
from vkssp.graph import Graph
from vkssp.hierarchy.prepare import prepare
from vkssp.reading import read_graph
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class Regions:
    """Work on each of some graphs.

    Attributes
    ----------
    function : callable
        Takes a solver or router and the name of a region.
    files : dict of str to str
        File of each region.
    digests : dict of str to str
        Hash of the content of each file.
    cache : str
        Folder of graphs that are ready.
    means : Means
        How the graphs are searched.
    reading : dict
        Arguments of `vkssp.read_graph`.
    prepares : bool
        Whether graphs get a hierarchy.
    version : str
        Version of vkssp that asks.
    """

    function: Callable[[Any, str], Any]
    files: Mapping[str, str]
    digests: Mapping[str, str]
    cache: str
    means: Means
    reading: Mapping[str, Any]
    prepares: bool
    version: str

    def ready(self, name: str) -> Path:
        """Return the file of the graph of a region, which is made if it is not there.

        Raises
        ------
        FormatError
            If the file of the region has changed.
        """
        made = hash_of([self.digests[name], self.version, dict(self.reading), self.prepares])
        path = Path(self.cache) / f"{made}.graph"
        if not path.exists():
            read = partial(read_graph, **self.reading)
            graph = read_unchanged(self.files[name], self.digests[name], read)
            if self.prepares and graph.hierarchy is None:
                graph = prepare(graph)
            _keep(graph, path)
        return path


def _keep(graph: Graph, path: Path) -> None:
    """Save a graph, unless another worker has saved it meanwhile, from which others may be reading."""
    other = path.with_name(f"{path.stem}-{os.urandom(6).hex()}.graph")
    graph.save(other)
    try:
        os.link(other, path)
    except FileExistsError:
        pass
    except OSError:  # storage without links
        os.replace(other, path)
    other.unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class RegionQuestion(Question):
    """Question that only names a graph and how it is searched."""

    def prepare(self, opened: Opened) -> None:
        """Do nothing."""

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return that there are no rows."""
        return Facts((0,), {}, opened.solver.graph.scale, 32)

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return no rows."""
        return {}


def work_on(regions: Regions, name: str) -> Any:
    """Return the result of one region; a task of a worker."""
    check_version(regions.version)
    path = regions.ready(name)
    question = RegionQuestion(GraphFile(str(path), file_digest(str(path))), regions.means, version=regions.version)
    return SOLVERS.work(question, lambda opened: regions.function(opened.solver, name))


def map_regions(
    function: Callable[[Any, str], Any],
    regions: Mapping[str, str | Path],
    cache: str | Path,
    *,
    router: bool = True,
    prepared: bool = True,
    reading: Mapping[str, Any] | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> dict[str, Any]:
    """Call a function for each of many graphs, on the workers of a cluster.

    Needs the extra ``dask``. The graph of a region is read and prepared by the first task that needs it, and kept in a
    folder under the hash of the file's content and the arguments, for later calls and other workers.

    Parameters
    ----------
    function : callable
        Takes a `vkssp.Router` or `vkssp.Solver` over the graph, which it leaves open and unchanged, and the name of the
        region; its result is sent back, and so should be small. If a worker ends, it is called again.
    regions : dict of str to path
        File of each region: a saved graph, an OpenStreetMap extract or a graph of a collection, on storage that all
        workers share.
    cache : str or Path
        Folder for graphs that are ready, on such storage.
    router : bool
        Whether the function takes routers, not solvers.
    prepared : bool
        Whether graphs get a hierarchy; see `vkssp.prepare`.
    reading : dict, optional
        Arguments of `vkssp.read_graph`, such as ``{"profile": "bike"}``.
    cluster : distributed.Client, cluster, str or None
        See `vkssp.dask.connected`.
    algorithm : str
        Name of an algorithm; see `vkssp.Solver`.
    **parameters : object
        Other arguments of `vkssp.Router` or `vkssp.Solver`.

    Returns
    -------
    dict of str to object
        Result for each region, in the order of `regions`.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If a file cannot be read, or the folder cannot be written.
    ClusterError
        If the scheduler is lost, workers end again and again, or the function fails.
    """
    if not callable(function):
        raise QueryError(f"function is {shown(function)}; give a function of a router and a name")
    if not isinstance(regions, Mapping) or not all(isinstance(name, str) for name in regions):
        raise QueryError(f"regions is {shown(regions)}; give a dictionary of names and files")
    if reading is not None and not isinstance(reading, Mapping):
        raise QueryError(f"reading is {shown(reading)}; give a dictionary of arguments of read_graph")
    files = {name: str(path_of(path, f"regions[{name!r}]").absolute()) for name, path in regions.items()}
    folder = path_of(cache, "cache").absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot make {folder}: {error.strerror or error}; choose another folder") from error
    plan = Regions(
        function,
        files,
        {name: file_digest(path) for name, path in files.items()},
        str(folder),
        means_of(algorithm, parameters, is_router=flag(router, "router")),
        dict(reading or {}),
        flag(prepared, "prepared"),
        vkssp.__version__,
    )
    names, found = list(files), dict[str, Any]()
    if not names:
        return found
    with connected(cluster) as client:
        tasks = [(name,) for name in names]
        with closing(results(client, plan, work_on, tasks, resources_of(client), "region")) as made:
            found.update((names[number], result) for number, result in made)
    return {name: found[name] for name in names}
