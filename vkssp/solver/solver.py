"""Solver: distances and routes on one graph that is kept on one device."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO, COUNTING, Outcome, Terminal
from vkssp.algorithms.choice import DEFAULT_ALGORITHM, checked, current, device_for, place_of
from vkssp.checks import choice, flag, shown
from vkssp.cpu.device import CpuDevice
from vkssp.errors import NoRouteError, QueryError
from vkssp.former import FormerName
from vkssp.gpu.device import Device
from vkssp.gpu.device_array import DeviceArray
from vkssp.graph import Graph, Uint32s
from vkssp.graph.distance_type import Distances, DistanceType
from vkssp.graph.metric import duration
from vkssp.graph.traffic import changed_weights
from vkssp.log import logger
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import ends_by_position, ends_of, node_of
from vkssp.resource import Resource
from vkssp.route import Route, along, osm_nodes
from vkssp.solver.accessibility import accessibility, backward
from vkssp.solver.centrality import Centrality, SampledCentrality, centrality, sampled_centrality
from vkssp.solver.decay import Decay
from vkssp.solver.device_results import distances_on_device, pairs_on_device, table_on_device
from vkssp.solver.hybrid import HybridSession
from vkssp.solver.loads import Betweenness, Flows, betweenness, flows, flows_of
from vkssp.solver.micro_batches import Batching
from vkssp.solver.nearest import NearestSources, nearest_seeds, nearest_sources, several_nearest
from vkssp.solver.rescaling import rescaled
from vkssp.solver.row_maker import RowBlock
from vkssp.solver.session import Session
from vkssp.solver.shared_graph import SharedGraph, Timings, WeightsChange, checked_reduction, share, type_for
from vkssp.solver.straightness import straightness
from vkssp.solver.table_maker import write_weights
from vkssp.solver.tables import distances, pairs, require_32_bits, table
from vkssp.solver.trees import Trees, trees

_log = logger(__name__)


class Solver(Resource):
    """Shortest paths on one graph, on one device; beside a GPU that was not named the CPU answers, too.

    Distances are exact sums of the graph's weights, and the same, bit for bit, on every device. If the weights are real
    numbers, with a `Graph.scale`, distances, limits, offsets and new weights are floats in the caller's units, and
    unreachable nodes are at an infinite distance; offsets are rounded to the scale. Where a distance does not fit into
    32 bits then, the weights get units of twice the size, once or several times, and the question is asked again;
    `graph` has the scale and the error. If nodes have names, `Graph.names`, all methods take and return names; arrays
    by node are in the order of positions. Several threads may use a solver, and take turns, but
    for what a hierarchy on a device answers together: paths, pairs, and distances up to a limit, of all that wait;
    `clone` gives each thread its own buffers over one copy of the graph. Solvers cannot be copied or pickled; another
    process makes its own. If a device is open, start processes by ``"spawn"`` or ``"forkserver"``: in a forked process
    only algorithms that run on the CPU work.

    Parameters
    ----------
    graph : Graph or RenumberedGraph
        The graph; it is uploaded once. A `RenumberedGraph` saves the time of preparation for each further solver, and
        already has an order.
    algorithm : str
        Name of an algorithm, see `vkssp.ALGORITHMS`, or ``"auto"``: the algorithm that should be fastest for all
        distances in this graph, chosen by its degrees and its numbering. ``"auto"`` takes no parameters.
    device : Device, CpuDevice, int or str, optional
        An open device, the index or a part of the name of a Vulkan device to open, or ``"cpu"`` for compiled code on
        the CPU. The default is the environment variable VKSSP_DEVICE, or else the first discrete, integrated or virtual
        Vulkan device, or the CPU if there is none: software devices are slower. An algorithm that does not run on the
        CPU takes a software device if there is no other. On the CPU ``"auto"`` is ``phast`` for prepared graphs, and
        ``dijkstra`` for others. If neither device nor algorithm is chosen, and there is a Vulkan device, the CPU
        answers the queries that it answers sooner, see `answered_by`.
    order : str
        Numbering of nodes on the device: ``"z"`` along the Z-order curve of their coordinates, ``"landmarks"`` by hops
        from landmarks, for road networks without coordinates, ``"natural"`` as in the graph. ``"auto"`` takes ``"z"``
        if there are coordinates, ``"landmarks"`` if it makes a road network's neighbours much closer (this test takes
        about a second for a million nodes), or else ``"natural"``. ``"hierarchy"`` numbers nodes by their hierarchy,
        as ``phast`` always does. Results use the graph's ids in any order.
    reduction : str, optional
        ``"full"`` removes dead ends, chains of nodes with two neighbours and, round by round, nodes with few neighbours
        before searches, which then search only the core; ``"auto"`` does so if it pays and nothing is traced;
        ``"none"`` never does. Distances, and the weights of routes, are the same; counters and traces are those of the
        core. The default is ``"auto"`` if the algorithm is ``"auto"``, and else ``"none"``.
    counters : str
        Counters of searches: ``"iterations"`` costs nothing, ``"totals"`` also counts the work and costs almost
        nothing, ``"trace"`` keeps a row for each iteration, see `trace`.
    distance_bits : int, optional
        Bits of distances, by default `Graph.distance_bits`: 32, unless real weights would be less exact than the graph
        asks for. With 32, paths may weigh up to 2**32 - 2, and distances are uint32, 2**32 - 1 where no path leads.
        With 64 they may weigh up to 2**64 - 2, offsets included, and distances are uint64, 2**64 - 1 where no path
        leads; weights of arcs stay uint32. Distances of real weights are float64 with both. Those of 64 bits are found
        by ``dijkstra``, and by ``near_far`` on devices with 64-bit integers and atomic operations on them; by default
        the CPU answers if there is no such GPU. Graphs are not reduced then, and aggregates, such as `accessibility` or
        `flows`, need 32 bits.
    **parameters : int
        Parameters of the algorithm; ``vkssp algorithms`` lists them.

    Attributes
    ----------
    graph : Graph
        The graph, with its current weights.
    device : Device or CpuDevice
        The device.
    algorithm : str
        Name of the algorithm, also if it was chosen.
    unreachable : int
        Distance of nodes that no path reaches: 2**32 - 1, 2**64 - 1 with 64 bits, infinity if weights are real.
    core_nodes : int or None
        Number of nodes of the core if the graph is reduced, else None.
    last : Outcome or None
        Outcome of the last search: time on the device and counters.
    answered_by : tuple of (Device or CpuDevice, str)
        The device that answered this thread's last query, and the name of the algorithm.

    Raises
    ------
    QueryError
        If `graph` is no graph, or the algorithm, a parameter or the order is not known or out of range.
    DeviceError
        If there is no such device, the graph does not fit on it, or the process was forked while a device was open.

    Examples
    --------
    >>> from vkssp import Graph, Solver
    >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> with Solver(graph) as solver:
    ...     solver.distances(0).tolist()
    [0, 4, 7]
    """

    def __init__(
        self,
        graph: Graph | RenumberedGraph | SharedGraph,
        algorithm: str = DEFAULT_ALGORITHM,
        device: Device | CpuDevice | int | str | None = None,
        *,
        order: str = "auto",
        reduction: str | None = None,
        counters: str = "iterations",
        distance_bits: int | None = None,
        **parameters: Any,
    ) -> None:
        algorithm, device = current(algorithm, device)
        kind = type_for(graph, distance_bits)
        wanted = checked_reduction(reduction, algorithm, kind)
        place = graph.place if isinstance(graph, SharedGraph) else place_of(algorithm, device, wanted == "full", kind)
        values = checked(algorithm, parameters, place, kind)
        choice(counters, "counters", COUNTING)
        began, uploaded_s = time.perf_counter(), device.upload_s if isinstance(device, Device) else 0.0
        if isinstance(graph, SharedGraph):
            shared, uploaded_s = graph, graph.device.upload_s
        else:
            is_free = algorithm == AUTO and device is None and not Device.selected() and wanted != "full"
            has_companion = is_free and counters == "iterations"
            on = device_for(device, place, kind)
            shared = share(graph, algorithm, order, place, on, wanted, counters == "trace", has_companion, kind)
        super().__init__()
        self._session = Session(shared, algorithm, values, COUNTING.index(counters), self)
        self._queries = HybridSession(self._session, self) if shared.has_companion else self._session
        self._is_plain = self.graph.scale is None and self.graph.names is None
        self.device = shared.device
        self._upload_s = self.device.upload_s - uploaded_s
        self._setup_s = time.perf_counter() - began - self._upload_s
        what = (self._session.name, self.device.info.name, self._setup_s + self._upload_s)
        _log.debug("made a solver with %s on %s in %.2f s", *what)

    def clone(self) -> Solver:
        """Return another solver over the same uploaded graph, with its own buffers, for use by another thread."""
        self._session.check_open()
        session = self._session
        session.check_open()
        parameters: dict[str, Any] = dict(session.parameters)
        bits = session.distance_type.bits
        return Solver(
            session.shared, session.name, counters=COUNTING[session.counting], distance_bits=bits, **parameters
        )

    @property
    def session(self) -> Session:
        """Owner of the buffers on the device, used by one thread at a time; for other modules of the package."""
        return self._session

    def __repr__(self) -> str:
        """Return graph, algorithm and device in one line."""
        return f"Solver({self.graph!r}, {self.algorithm!r}, {self.device!r}{', closed' * self.closed})"

    @property
    def graph(self) -> Graph:
        """The graph, with its current weights."""
        return self._session.graph

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, also if it was chosen."""
        return self._session.name

    @property
    def distance_type(self) -> DistanceType:
        """Type of the distances; for other modules of the package."""
        return self._session.distance_type

    @property
    def unreachable(self) -> Any:
        """Distance of nodes that no path reaches: the largest number that distances hold."""
        kind = self.distance_type
        return self.graph.units.typed(kind).value(kind.unreachable)

    @property
    def core_nodes(self) -> int | None:
        """Number of nodes of the core if the graph is reduced, else None."""
        return self._session.shared.core_nodes

    @property
    def last(self) -> Outcome | None:
        """Outcome of the last search: time on the device and counters; None before the first search."""
        return self._queries.answering.last

    @property
    def answered_by(self) -> tuple[Device | CpuDevice, str]:
        """The device that answered this thread's last query, and the name of the algorithm."""
        session = self._queries.answering
        return session.device, session.name

    def holding(self) -> AbstractContextManager[object]:
        """Keep the weights unchanged for several queries, while other threads may have to wait; may be nested."""
        return self._queries.keeping()

    @overload
    def distances(
        self, source: npt.ArrayLike | Sequence[Terminal], *, limit: float | None = None, chunked: Literal[False] = False
    ) -> Distances: ...

    @overload
    def distances(
        self, source: npt.ArrayLike, *, limit: float | None = None, chunked: Literal[True]
    ) -> Iterator[Distances]: ...

    @rescaled
    def distances(
        self, source: Any, *, limit: float | None = None, chunked: bool = False
    ) -> Distances | Iterator[Distances]:
        """Return the distances to every node: from one node, from each of many nodes, or from the best of some seeds.

        With ``block_resident`` and ``phast``, as many searches from many nodes as fit into the memory of the device run
        at once and fill the device: per search, this takes a small part of the time of one search alone.

        Parameters
        ----------
        source : int, name, array_like or sequence of (int or name, float)
            A node; nodes, shape (s,); or seeds: pairs of a node and an offset, the weight between the node and the
            place that is meant. Distances from seeds are those from the best seed, and include its offset.
        limit : float, optional
            Distance beyond which nodes count as unreachable. With ``block_resident``, searches from many nodes do not
            go beyond it.
        chunked : bool
            Whether to return blocks of rows, for many nodes. The rows are computed on demand, so that they may exceed
            the memory. Weights may not change meanwhile.

        Returns
        -------
        numpy.ndarray or iterator of numpy.ndarray
            Distances, uint32, 2**32 - 1 for nodes that no path reaches (uint64 and 2**64 - 1 with 64 bits); or, of real
            weights, float64, infinite for these. Shape (num_nodes,) for one node or seeds, (s, num_nodes) for many
            nodes. If `chunked`, blocks of these rows, shape (rows, num_nodes).

        Raises
        ------
        QueryError
            If there is no such node, or no source, or the limit is not a valid distance.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into the bits of distances; of real weights, only if
            blocks have been handed out before it, and another call succeeds then.
        MemoryShortageError
            If the distances do not fit into memory.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     solver.distances(0).tolist()
        ...     solver.distances([0, 1], limit=4).tolist()
        ...     solver.distances([(0, 10), (1, 2)]).tolist()
        [0, 4, 7]
        [[0, 4, 4294967295], [4294967295, 0, 3]]
        [10, 2, 5]
        >>> with Solver(Graph.from_edges(["a", "b"], ["b", "c"], [0.1, 0.2])) as solver:
        ...     solver.distances("a").tolist()
        ...     solver.distances("b").tolist()
        [0.0, 0.1, 0.3]
        [inf, 0.0, 0.2]
        """
        return distances(self, source, limit, chunked)

    @overload
    def trees(
        self,
        sources: npt.ArrayLike | Sequence[Terminal],
        *,
        limit: float | None = None,
        chunked: Literal[False] = False,
    ) -> Trees: ...

    @overload
    def trees(
        self, sources: npt.ArrayLike, *, limit: float | None = None, chunked: Literal[True]
    ) -> Iterator[Trees]: ...

    @rescaled
    def trees(self, sources: Any, *, limit: float | None = None, chunked: bool = False) -> Trees | Iterator[Trees]:
        """Return shortest-path trees: distances, and the arc and the node before each node on its shortest path.

        Of several shortest paths the tree has the one that `path` returns, on every device and with every algorithm:
        backwards from a node, each time along the arc with the least id that is the end of a shortest path. Arcs of
        weight zero, loops and parallel arcs are no exception: from every node that is reached, predecessors lead to
        the source. (Nodes on a cycle of weight zero are entered from one of them, whose arc has the least id.)

        Parameters
        ----------
        sources : int, name, array_like or sequence of (int or name, float)
            A node; nodes, shape (s,); or seeds, pairs of a node and an offset, as for `distances`.
        limit : float, optional
            Distance beyond which nodes count as unreachable.
        chunked : bool
            Whether to return blocks of trees, for many nodes. They are computed on demand, so that they may exceed the
            memory. Weights may not change meanwhile.

        Returns
        -------
        Trees or iterator of Trees
            Arrays of shape (num_nodes,) for one node or seeds, (s, num_nodes) for many nodes. If `chunked`, blocks of
            these rows, shape (rows, num_nodes).

        Raises
        ------
        QueryError
            If there is no such node, or no source, or the limit is not a valid distance.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into the bits of distances.
        MemoryShortageError
            If the trees do not fit into memory.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     tree = solver.trees(0)
        >>> tree.distance.tolist(), tree.predecessor.tolist(), tree.arc.tolist()
        ([0, 4, 7], [4294967295, 0, 1], [4294967295, 0, 2])
        """
        return trees(self, sources, limit, chunked)

    @overload
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: Literal[False] = False,
    ) -> Distances: ...

    @overload
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: Literal[True],
    ) -> Iterator[Distances]: ...

    @rescaled
    def table(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        chunked: bool = False,
    ) -> Distances | Iterator[Distances]:
        """Return the distances from each source to each target.

        With ``block_resident`` many searches share the device, and searches to few targets end when these are settled.

        Parameters
        ----------
        sources, targets : array_like
            Nodes, shape (s,) and (t,); by default targets are the sources.
        limit : float, optional
            Distance beyond which targets count as unreachable; ``block_resident`` does not look for them.
        chunked : bool
            Whether to return blocks of rows. The rows are computed on demand, so that the table may exceed the memory.
            Weights may not change meanwhile.

        Returns
        -------
        numpy.ndarray or iterator of numpy.ndarray
            Distances, shape (s, t), uint32, 2**32 - 1 where no path leads (uint64 and 2**64 - 1 with 64 bits); or, of
            real weights, float64, infinite there. If `chunked`, blocks of these rows, shape (rows, t).

        Raises
        ------
        QueryError
            If there is no such node, no source or target, or the limit is not a valid distance; while rows are made, if
            weights have changed.
        DistanceOverflowError
            If a shortest distance does not fit into the bits of distances.
        MemoryShortageError
            If the table does not fit into memory.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     solver.table([0, 1], [1, 2]).tolist()
        ...     [row.tolist() for rows in solver.table([0, 1], [1, 2], chunked=True) for row in rows]
        [[4, 7], [0, 3]]
        [[4, 7], [0, 3]]
        """
        return table(self, sources, targets, limit, chunked)

    @rescaled
    def pairs(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> Distances:
        """Return the distances of many pairs of nodes.

        ``phast`` searches all pairs at once, each from both ends; 10,000 pairs take a millisecond on a large GPU. For
        many more it makes labels, the distances of all nodes to their ancestors, if there is memory for them; pairs
        with the same weights are then looked up, 0.2 microseconds each on a core of a CPU. Other algorithms compute a
        row for each source.

        Parameters
        ----------
        sources, targets : array_like
            Nodes, the ends of each pair, shape (k,) each.

        Returns
        -------
        numpy.ndarray
            Distances, shape (k,), uint32, 2**32 - 1 where no path leads (uint64 and 2**64 - 1 with 64 bits); or, of
            real weights, float64, infinite there.

        Raises
        ------
        QueryError
            If there is no such node, no pair, or there are not as many targets as sources.
        DistanceOverflowError
            If a shortest distance does not fit into the bits of distances.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     solver.pairs([0, 1, 2], [2, 2, 0]).tolist()
        [7, 3, 4294967295]
        """
        return pairs(self, sources, targets)

    @rescaled
    def distances_on_device(self, source: Any, *, limit: float | None = None) -> DeviceArray:
        """Return what `distances` does, left in the memory of the device, where other libraries read it in place.

        Nothing is copied to the host, which takes most of the time of many searches over a hierarchy. The array is for
        ``torch.from_dlpack`` and the like; see `DeviceArray`. Devices that compute in the memory of the host, and the
        CPU, leave the results there. Other devices need CUDA, that is a GPU of NVIDIA, on Linux.

        Parameters
        ----------
        source, limit
            As for `distances`.

        Returns
        -------
        DeviceArray
            Distances, uint32, or uint64 with 64 bits, 2**32 - 1 or 2**64 - 1 for nodes that no path reaches; of real
            weights, whole numbers of `Graph.scale`. Shape (num_nodes,) for one node or seeds, (s, num_nodes) for many.

        Raises
        ------
        QueryError
            If there is no such node, or no source, or the limit is not a valid distance.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into the bits of distances.
        DeviceError
            If the distances do not fit into the free memory of the device, or into one allocation, which many drivers
            limit to 4 GiB; or if no other library can read its memory.

        Examples
        --------
        >>> import numpy as np
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph, device="cpu") as solver:
        ...     np.from_dlpack(solver.distances_on_device(0)).tolist()
        [0, 4, 7]
        """
        return distances_on_device(self, source, limit)

    @rescaled
    def table_on_device(
        self, sources: npt.ArrayLike, targets: npt.ArrayLike | None = None, *, limit: float | None = None
    ) -> DeviceArray:
        """Return what `table` does, left in the memory of the device, where other libraries read it in place.

        Parameters
        ----------
        sources, targets, limit
            As for `table`.

        Returns
        -------
        DeviceArray
            Distances, shape (s, t), with values as of `distances_on_device`.

        Raises
        ------
        QueryError, DistanceOverflowError, DeviceError
            As `table` and `distances_on_device` do.

        Examples
        --------
        >>> import numpy as np
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph, device="cpu") as solver:
        ...     np.from_dlpack(solver.table_on_device([0, 1], [1, 2])).tolist()
        [[4, 7], [0, 3]]
        """
        return table_on_device(self, sources, targets, limit)

    @rescaled
    def pairs_on_device(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> DeviceArray:
        """Return what `pairs` does in the memory of the device, where other libraries read it in place.

        Distances of pairs are so few bytes that they go there by way of the host.

        Parameters
        ----------
        sources, targets
            As for `pairs`.

        Returns
        -------
        DeviceArray
            Distances, shape (k,), with values as of `distances_on_device`.

        Raises
        ------
        QueryError, DistanceOverflowError, DeviceError
            As `pairs` and `distances_on_device` do.

        Examples
        --------
        >>> import numpy as np
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> with Solver(graph, device="cpu") as solver:
        ...     np.from_dlpack(solver.pairs_on_device([0, 1, 2], [2, 2, 0])).tolist()
        [7, 3, 4294967295]
        """
        return pairs_on_device(self, sources, targets)

    @rescaled
    def write_table(
        self,
        path: str | Path,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        progress: bool = False,
    ) -> int:
        """Write what `table` returns to a file, row by row, so that it need not fit into memory.

        Parameters
        ----------
        path : str or Path
            A name that ends in .npy, .zarr, .csv or .parquet; see `vkssp.solver.table_file.write_table`.
        sources, targets, limit
            As for `table`.
        progress : bool
            Whether to show a progress bar on stderr once it takes over a second.

        Returns
        -------
        int
            Number of pairs that a path connects.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError, DistanceOverflowError
            As `table` does.
        """
        return write_weights(self, path, sources, targets, limit, progress)

    def row_blocks(
        self,
        graph: Graph,
        seeds: Groups | Sequence[Sequence[Terminal]],
        nodes: Uint32s,
        *,
        whole: bool = False,
        limit: int | None = None,
        aggregates: Aggregates | None = None,
        trees: bool = False,
        into: Distances | None = None,
    ) -> Generator[RowBlock, None, None]:
        """Return distances from seeds to nodes, a row for each group of seeds; see `RowSource.row_blocks`."""
        return self._queries.row_blocks(
            graph, seeds, nodes, whole=whole, limit=limit, aggregates=aggregates, trees=trees, into=into
        )

    def empty(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Distances:
        """Return a new array for results, to which the device writes fast; its values are arbitrary."""
        return self._queries.empty(shape, dtype)

    def fast_pairs(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return distances of pairs of nodes, or None if the algorithm has no faster method than rows."""
        return self._queries.fast_pairs(sources, targets)

    def change_weights(self, change: WeightsChange) -> None:
        """Change weights by a function, as soon as no search runs; see `SharedGraph.set_weights`."""
        self._session.change_weights(change)

    def from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> Distances:
        """Return the distance from the best of some seeds to every node, by positions and in units of the weights."""
        return self._queries.from_seeds(seeds, limit)

    def tree_from_seeds(self, seeds: Sequence[Terminal], limit: int | None = None) -> tuple[Distances, Uint32s]:
        """Return the distance from the best of some seeds to every node, and the arc into each node of the tree."""
        return self._queries.tree_from_seeds(seeds, limit)

    def distance(self, source: Any, target: Any) -> Any:
        """Return the distance from one node to another, ending the search early.

        Parameters
        ----------
        source, target : int or name
            Nodes.

        Returns
        -------
        int or float
            The distance, an int, `unreachable` if there is no path; if the weights of the graph are real numbers, a
            float, infinite if there is no path.

        Raises
        ------
        QueryError
            If there is no such node.
        DistanceOverflowError
            If the distance does not fit into the bits of distances.
        """
        return self._queries.distance(source, target) if self._is_plain else self._distance(source, target)

    @rescaled
    def _distance(self, source: Any, target: Any) -> Any:
        """Return the distance between nodes with names, or in other units than those of searches."""
        with self.holding():
            graph = self.graph
            found = self._queries.distance(node_of(graph, source, "source"), node_of(graph, target, "target"))
            return graph.units.typed(self.distance_type).value(found)

    @rescaled
    def path(self, source: Any, target: Any) -> Route:
        """Return a shortest path from one node to another, as a route with the graph's data about it.

        If several paths are shortest, every device returns the same path.

        Parameters
        ----------
        source, target : int, name or sequence of (int or name, float)
            A node; or seeds or targets: pairs of a node and an offset, the weight between the node and the place that
            is meant; 64 at most. The path joins the best seed and target, and its weight includes their offsets.

        Returns
        -------
        Route
            The nodes, by name if they have names, shape (k + 1,), the arcs, shape (k,), and the weight of the path.

        Raises
        ------
        QueryError
            If there is no such node.
        NoRouteError
            If no path leads there.
        DistanceOverflowError
            If the distance does not fit into the bits of distances.
        """
        began = time.perf_counter()
        with self.holding():
            graph = self.graph
            kind, units = self.distance_type, graph.units.typed(self.distance_type)
            seeds, targets = (
                ends_by_position(graph, end, name, kind) for end, name in ((source, "source"), (target, "target"))
            )
            found = self.search_path(seeds, targets)
        if found is None:
            ends = [f"node {_name(graph, some[0][0])}" if len(some) == 1 else "any seed" for some in (seeds, targets)]
            raise NoRouteError(f"no path leads from {ends[0]} to {ends[1].replace('seed', 'target')}")
        weight, seed, _, arcs = found
        device, algorithm = self.answered_by
        streets, passed = graph.streets, _Passed(graph, seeds[seed][0], arcs)
        return Route.deferring(
            {"nodes": passed.named, "points": passed.points, "osm_nodes": passed.osm_nodes},
            arcs=arcs,
            weight=units.value(weight),
            distance_m=None if streets is None else float(streets.length[arcs].sum(dtype=np.float64)),
            duration_s=duration(graph, weight),
            origin=None,
            destination=None,
            device=device.info.name,
            algorithm=algorithm,
            query_ms=1e3 * (time.perf_counter() - began),
            parts=None,
            legs=(),
        )

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = ()) -> Outcome:
        """Run a search and leave its distances on the device, for measurements.

        Parameters
        ----------
        seeds, targets : sequence of (int, int)
            Nodes, each with the weight between it and the place that is meant. With targets, the search ends as soon as
            the best of them is known; without targets, there may be any number of seeds.

        Raises
        ------
        QueryError
            If there is no such node, no seed, or too many of either.
        """
        session = self._queries.on_device()
        with session.holding():
            return session.run(*ends_of(session.renumbered, seeds, targets, session.distance_type))

    def trace(self) -> npt.NDArray[Any]:
        """Return the trace of the last search.

        Returns
        -------
        numpy.ndarray
            A row for each iteration, of dtype `vkssp.algorithm.TRACE`: its number and phase; its range of distances
            (low up to high); its range of node ids or, if the algorithm has a list of nodes or blocks, of positions in
            this list, both ends included; the numbers of visited nodes, of nodes that relaxed arcs (the frontier), of
            relaxed arcs, and of improvements; microseconds on the device.

        Raises
        ------
        QueryError
            If the solver was not made with ``counters="trace"``, or nothing was searched yet.
        """
        with self._session.holding():
            if COUNTING[self._session.counting] != "trace":
                raise QueryError("this solver keeps no trace; make it with counters='trace'")
            algorithm = self._session.algorithm()
            if self._session.last is None:
                raise QueryError("there is no trace before the first search; ask for distances first")
            return algorithm.trace()

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all or some arcs, from the next search on.

        The change applies to all clones of this solver, and is made as soon as none of them searches. If possible, only
        the changed weights are written to the device. This is not possible if the graph is reduced, because the weights
        of its core change (``reduction="none"`` avoids this); if zero weights appear or vanish in cycles; and
        for ``bellman_ford_edge``, ``push_pull`` and ``crauser``. In these cases all data that depend on weights are
        rebuilt, which takes about as long as making the solver without the numbering, and memory for the old and the
        new data.

        Parameters
        ----------
        weights : array_like
            One for each changed arc: whole numbers from 0 to 2**32 - 2 if those of the graph are, and otherwise finite
            numbers from 0 on. If turns take time, the weight of an arc includes that of the turn into it, see
            `Streets.turn`. The scale of real weights stays if it suits the new ones.
        arcs : array_like, optional
            Ids of the changed arcs, their indices in `graph`; by default all arcs. An arc may be named twice with the
            same weight, but not with different weights.

        Raises
        ------
        GraphError
            If there is no such arc or weight, or there are not as many weights as arcs.
        QueryError
            If an arc has two weights.
        """
        self.change_weights(lambda graph: changed_weights(graph, weights, arcs))

    @rescaled
    def nearest(
        self,
        sources: npt.ArrayLike,
        offsets: npt.ArrayLike | None = None,
        limit: float | None = None,
        *,
        count: int | None = None,
        reverse: bool = False,
    ) -> NearestSources:
        """Return the nearest of some sources to every node, and the distance from it, or several nearest sources.

        One search finds all of them, for any number of sources. scipy has this as ``dijkstra(min_only=True)``, networkx
        as ``voronoi_cells``. If several sources are equally near, the first of them is returned, by every algorithm and
        on every device. Several nearest sources are found on the CPU, whatever the device.

        Parameters
        ----------
        sources : array_like
            Nodes, shape (k,); a node may be given twice.
        offsets : array_like, optional
            Weight between the place that is meant and each source, shape (k,); distances include it. By default 0.
        limit : float, optional
            Distance beyond which nodes count as unreachable.
        count : int, optional
            Number of sources for each node, the nearest first, such as the three nearest hospitals; by default the
            nearest one, without an axis for the number.
        reverse : bool
            Whether distances to the sources count, not those from them. The graph is searched backward then; a copy of
            it is made for the call.

        Returns
        -------
        NearestSources
            Distances, and the indices of sources in the list.

        Raises
        ------
        QueryError
            If there is no such node, no source, another number of offsets, or an offset, the limit or the count is out
            of range.
        MemoryShortageError
            If the result does not fit into memory.
        DistanceOverflowError
            If a shortest distance does not fit into the bits of distances, and there is no limit.
        DeviceError
            If the device has too little memory for the labels, 16 bytes a node, or for the arcs of the graph that the
            algorithm does not have yet.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 1], undirected=True)
        >>> with Solver(graph) as solver:
        ...     found = solver.nearest([4, 0])
        >>> found.distance.tolist(), found.source.tolist()
        ([0, 1, 2, 1, 0], [1, 1, 0, 0, 0])
        >>> with Solver(graph) as solver:
        ...     solver.nearest([4, 0, 3], count=2).source.tolist()
        [[1, 2], [1, 2], [2, 0], [2, 0], [0, 2]]
        """
        if count is not None:
            require_32_bits(self, "nearest with count")
            self._session.check_open()
            graph = backward(self.graph) if flag(reverse, "reverse") else self.graph
            return several_nearest(graph, sources, offsets, limit, count)
        with self._facing(reverse) as solver:
            return nearest_sources(solver, sources, offsets, limit)

    def search_nearest(self, nodes: Uint32s, offsets: Distances, limit: int | None = None) -> NearestSources:
        """Find the nearest of some seeds, by positions and in units of the weights; for other modules of the package.

        Parameters
        ----------
        nodes, offsets : numpy.ndarray
            Seeds by position, shape (k,), uint32, and the weight between each and the place that is meant, of the type
            of distances.
        limit : int, optional
            Distance beyond which nodes count as unreachable; that of unreachable nodes is no limit.

        Returns
        -------
        NearestSources
            Distances in units, and the indices of seeds.

        Raises
        ------
        DistanceOverflowError
            If a shortest distance does not fit into the bits of distances, and there is no limit.
        """
        return nearest_seeds(self._queries.for_all(), nodes, offsets, limit)

    @rescaled
    def accessibility(
        self,
        values: npt.ArrayLike,
        limits: npt.ArrayLike | None = None,
        *,
        decays: Decay | Sequence[Decay] | None = None,
        sources: npt.ArrayLike | None = None,
        reverse: bool = False,
    ) -> npt.NDArray[Any]:
        """Return the sums of values that can be reached from nodes, such as the jobs within half an hour.

        All sums are of integers, and the same, bit for bit, on every device. Values that are not whole numbers, and the
        weights of decays, are rounded: a value to 2**-60 of the sum of all values, with decays to 2**-36 of it, and a
        weight to 2**-24.

        Parameters
        ----------
        values : array_like
            Finite numbers, one for each node, shape (num_nodes,), or several, shape (num_nodes, c).
        limits : float or array_like, optional
            Distances, in the weights of the graph; each sum is of the values at nodes at most as far as that.
        decays : Decay or sequence of Decay, optional
            Decays with distance; each sum is of all values, times the decays' weights for their distances.
        sources : array_like, optional
            Nodes, shape (s,); by default all nodes.
        reverse : bool
            Whether distances to the sources count, not those from them: who can reach a place. The graph is searched
            backward then; a copy of it is made for the call.

        Returns
        -------
        numpy.ndarray
            Shape (s, k, c): a sum for each source, each limit and then each decay, and each column of values. Without
            the last axis if `values` has no columns, and without the one before it if `limits` is a single number and
            there are no decays. int64 if the values are integers and there are no decays, or else float64.

        Raises
        ------
        QueryError
            If an argument is invalid, or there are neither limits nor decays.
        DistanceOverflowError
            If a shortest distance that counts does not fit into 32 bits.
        MemoryShortageError
            If the sums do not fit into memory.

        Examples
        --------
        >>> from vkssp import Decay, Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9], undirected=True)
        >>> with Solver(graph) as solver:
        ...     solver.accessibility([10, 20, 30, 40], limits=[4, 7]).tolist()
        ...     solver.accessibility([10, 20, 30, 40], decays=Decay.linear(8), sources=[0]).tolist()
        [[30, 60], [60, 60], [50, 60], [40, 40]]
        [[23.75]]
        """
        require_32_bits(self, "accessibility")
        with self._facing(reverse) as source:
            return accessibility(source, values, limits, decays, sources)

    @overload
    def centrality(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        reverse: bool = False,
        sample: None = None,
        seed: int = 0,
    ) -> Centrality: ...

    @overload
    def centrality(
        self, *, limit: float | None = None, reverse: bool = False, sample: int, seed: int = 0
    ) -> SampledCentrality: ...

    @rescaled
    def centrality(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        reverse: bool = False,
        sample: int | None = None,
        seed: int = 0,
    ) -> Centrality | SampledCentrality:
        """Return the centrality of nodes: closeness, harmonic centrality and eccentricity, from the same searches.

        Where there are too many nodes, that of all of them can be estimated by their distances to a sample.

        Parameters
        ----------
        sources : array_like, optional
            Nodes, shape (s,); by default all nodes.
        limit : float, optional
            Radius: only nodes up to this distance count.
        reverse : bool
            Whether distances to the nodes count, not those from them; networkx counts these.
        sample : int, optional
            Number of nodes of a sample, drawn at random, all different. The searches go from them, backward unless
            `reverse`.
        seed : int
            Seed of the sample.

        Returns
        -------
        Centrality or SampledCentrality
            Arrays with an entry for each source or, with a sample, estimates for all nodes.

        Raises
        ------
        QueryError
            If there is no such node, the limit is not a valid distance, or the sample is too large.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9], undirected=True)
        >>> with Solver(graph) as solver:
        ...     found = solver.centrality()
        >>> found.closeness.round(3).tolist(), found.eccentricity.tolist()
        ([0.111, 0.158, 0.158, 0.081], [16, 12, 9, 16])
        """
        require_32_bits(self, "centrality")
        if sample is None:
            with self._facing(reverse) as source:
                return centrality(source, sources, limit)
        if sources is not None:
            raise QueryError("both sources and sample are given; give one of them")
        with self._facing(not flag(reverse, "reverse")) as source:
            return sampled_centrality(source, sample, seed, limit)

    @rescaled
    def straightness(
        self, sources: npt.ArrayLike | None = None, *, limit: float | None = None, reverse: bool = False
    ) -> npt.NDArray[np.float64]:
        """Return how straight the shortest paths from nodes are: the mean of straight distances over those of paths.

        This is the straightness centrality of S. Porta, P. Crucitti and V. Latora (The network analysis of urban
        streets: a primal approach, 2006), if the weights of the graph are lengths.

        Parameters
        ----------
        sources : array_like, optional
            Nodes, shape (s,); by default all nodes.
        limit : float, optional
            Radius: only nodes up to this distance count.
        reverse : bool
            Whether the paths to the nodes count, not those from them.

        Returns
        -------
        numpy.ndarray
            For each source the mean, over the other nodes that it reaches, of metres in a straight line over the
            distance, shape (s,), float64; NaN if it reaches no other. Nodes at distance 0 do not count. Straight lines
            lead through the earth, and are shorter than great circles by 1e-5 at 100 km.

        Raises
        ------
        QueryError
            If the graph has no coordinates, there is no such node, or the limit is not a valid distance.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> places = {"lat": [0, 0, 0.01], "lon": [0, 0.01, 0.01]}
        >>> graph = Graph.from_edges([0, 1], [1, 2], [1200, 1500], undirected=True, **places)
        >>> with Solver(graph) as solver:
        ...     solver.straightness().round(3).tolist()
        [0.755, 0.834, 0.662]
        """
        require_32_bits(self, "straightness")
        with self._facing(reverse) as source:
            return straightness(source, sources, limit)

    @rescaled
    def betweenness(
        self,
        sources: npt.ArrayLike | None = None,
        *,
        limit: float | None = None,
        sample: int | None = None,
        seed: int = 0,
    ) -> Betweenness:
        """Return on how many shortest paths each arc and each node lies, with one path for each pair of nodes.

        Of several shortest paths it is the one that `path` returns. Where shortest paths are unique, this is the
        betweenness of U. Brandes (A faster algorithm for betweenness centrality, 2001) without normalization; a pair
        counts in each direction.

        Parameters
        ----------
        sources : array_like
            Nodes at which paths begin, shape (s,); by default all nodes. A node that is named twice counts twice.
        limit : float, optional
            Radius: only pairs up to this distance count.
        sample : int, optional
            Number of sources that are drawn at random, all different, where all nodes are too many;
            `Betweenness.scale` and `Betweenness.error` tell what the numbers say about all nodes.
        seed : int
            Seed of the sample.

        Returns
        -------
        Betweenness
            Numbers of pairs, by arc and by node.

        Raises
        ------
        QueryError
            If there is no such node, the limit is not a valid distance, or the sample is too large.
        DistanceOverflowError
            If a shortest distance within the limit does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     found = solver.betweenness()
        >>> found.arcs.tolist(), found.nodes.tolist(), found.num_pairs
        ([3, 4, 3], [0, 2, 2, 0], 6)
        """
        require_32_bits(self, "betweenness")
        return betweenness(self, sources, limit, sample, seed)

    @rescaled
    def flows(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        demand: Any,
        *,
        skims: Mapping[str, npt.ArrayLike] | None = None,
        select: Sequence[int | Sequence[int]] | None = None,
        turns: bool = False,
    ) -> Flows:
        """Return the loads of all arcs if a demand takes its shortest paths (all-or-nothing assignment).

        Of several shortest paths it is the one that `path` returns.

        Parameters
        ----------
        sources, targets : array_like
            Nodes, shapes (s,) and (t,); `Router.nearest_nodes` finds those of places.
        demand : array_like or sparse matrix
            What goes from each source to each target, finite numbers from 0 on: an array or a scipy matrix of shape
            (s, t); or, for pairs of a source and a target, shape (s,), with as many targets. Demand from a node to
            itself loads no arc. Numbers that are not whole are rounded to 2**-60 of their sum.
        skims : dict of str to array_like, optional
            Values of arcs, shape (num_arcs,), to add up along the path of each pair, by name; for instance metres, if
            the graph's weights are times.
        select : sequence of int or of sequences of int, optional
            Arcs, or lists of arcs, at most 64: the demand that takes any arc of a list is also assigned alone (select
            link analysis).
        turns : bool
            Whether to return the loads of turns from one arc to the next.

        Returns
        -------
        Flows
            Loads by arc, the demand that no path serves, and what else was asked for.

        Raises
        ------
        QueryError
            If there is no such node or arc, or the demand or a value does not suit.
        DistanceOverflowError
            If a shortest distance does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     found = solver.flows([0, 1], [2, 3], [[10, 20], [0, 5]], skims={"metres": [70, 50, 80]}, select=[0])
        >>> found.arcs.tolist(), found.selected.tolist()
        ([30, 35, 25], [[30, 30, 20]])
        >>> found.skims["metres"].tolist()
        [[120.0, 200.0], [50.0, 130.0]]
        """
        require_32_bits(self, "flows")
        return flows(self, sources, targets, demand, skims, select, turns)

    @rescaled
    def flows_of(
        self,
        parts: Iterable[tuple[npt.ArrayLike, npt.ArrayLike, Any]],
        *,
        select: Sequence[int | Sequence[int]] | None = None,
        turns: bool = False,
    ) -> Flows:
        """Return the loads of all arcs by a demand that comes in parts, so that it need not fit into memory.

        Parameters
        ----------
        parts : iterable of (array_like, array_like, array_like)
            Sources, targets and demand of each part, as for `flows`; `vkssp.read_demand` reads them from a file.
        select : sequence of int or of sequences of int, optional
            See `flows`.
        turns : bool
            See `flows`.

        Returns
        -------
        Flows
            The sums of the loads of all parts, without values of pairs.

        Raises
        ------
        QueryError
            As `flows` does, or if `parts` is no iterable of three arrays each.
        DistanceOverflowError
            If a shortest distance does not fit into 32 bits.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 9])
        >>> with Solver(graph) as solver:
        ...     solver.flows_of([([0, 1], [2, 3], [10, 5]), ([0], [1], [7])]).arcs.tolist()
        [17, 15, 5]
        """
        require_32_bits(self, "flows_of")
        return flows_of(self, parts, select, turns)

    def for_graph(self, graph: Graph) -> Solver:
        """Return a solver of another graph, with the same algorithm and parameters, on the same device."""
        session = self._session
        parameters: dict[str, Any] = dict(session.parameters)
        bits = session.distance_type.bits
        solver = Solver(graph, session.name, self.device, distance_bits=bits, **parameters)
        solver.session.micro_batches.batching = session.micro_batches.batching
        return solver

    @contextmanager
    def _facing(self, reverse: bool) -> Iterator[Solver]:
        """Hand over this solver or, if `reverse`, one on the same device that searches the graph backward."""
        if not flag(reverse, "reverse"):
            yield self
            return
        with self.for_graph(backward(self.graph)) as solver:
            yield solver

    distances_from = FormerName("distances", seeds="source")
    distances_between = FormerName("pairs")
    route = FormerName("path")
    nearest_sources = FormerName("nearest")
    prepare_routes = FormerName("warm_up")

    @property
    def batching(self) -> Batching:
        """Limit and counts of batches of questions that threads ask together; for other modules of the package."""
        return self._session.micro_batches.batching

    @property
    def timings(self) -> Timings:
        """Times that the solver has spent, from its construction to the last download."""
        download_s = self._queries.answering.download_s
        return Timings(
            setup_ms=1e3 * self._setup_s,
            upload_ms=1e3 * self._upload_s,
            device_ms=None if self.last is None else self.last.device_ms,
            download_ms=None if download_s is None else 1e3 * download_s,
        )

    @property
    def memory_bytes(self) -> int:
        """Bytes of the graph and of the buffers of all solvers over this copy of it, on the device or the host."""
        self._session.check_open()
        return self._session.shared.graph.memory_bytes

    def warm_up(self) -> None:
        """Upload the arcs sorted by head, which paths need, and find a path; otherwise the first path does it."""
        self._queries.warm_up()

    def search_path(self, seeds: Sequence[Terminal], targets: Sequence[Terminal]) -> tuple[int, int, int, Any] | None:
        """Find the shortest path from any seed to any target.

        Parameters
        ----------
        seeds, targets : sequence of (int, int)
            Nodes, each with the weight between it and the place that is meant; both weights count.

        Returns
        -------
        tuple of (int, int, int, numpy.ndarray) or None
            The weight of the path, the indices of its seed and its target, and the ids of its arcs, int64; None if
            there is no path.

        Raises
        ------
        QueryError
            If there is no such node.
        DistanceOverflowError
            If the distance does not fit into the bits of distances.
        """
        return self._queries.search_path(seeds, targets)

    def search_paths(self, seeds: Groups, targets: Groups) -> FoundPaths:
        """Find the shortest path of each of many searches, as ``search_path`` finds it for one.

        Over a hierarchy, a device finds 16 to 128 paths by one submission, most often, if they have up to 1,024 pairs
        of a seed and a target, and the CPU finds paths by all cores.

        Parameters
        ----------
        seeds, targets : Groups
            Seeds and targets of each search, at least one each; they are not checked.

        Returns
        -------
        FoundPaths
            The paths, in arrays.

        Raises
        ------
        DistanceOverflowError
            If a distance does not fit into the bits of distances.
        """
        return self._queries.search_paths(seeds, targets)


class _Passed:
    """Nodes that a path passes, made when they are asked for: reads from all over an array take time.

    The graph is not kept, since it has weights.
    """

    def __init__(self, graph: Graph, first: int, arcs: npt.NDArray[np.int64]) -> None:
        self._first, self._head, self._arcs = first, graph.head, arcs
        self._names, self._lat, self._lon, self._streets = graph.names, graph.lat, graph.lon, graph.streets

    @cached_property
    def _nodes(self) -> Uint32s:
        return np.concatenate([np.array([self._first], np.uint32), self._head[self._arcs]])

    def named(self) -> npt.NDArray[Any]:
        """Return the nodes by their names, or by position."""
        return self._nodes if self._names is None else self._names[self._nodes]

    def points(self) -> npt.NDArray[np.float64] | None:
        """Return the points on the way."""
        return along(self._lat, self._lon, self._streets, self._nodes, self._arcs)

    def osm_nodes(self) -> npt.NDArray[np.int64] | None:
        """Return the nodes of OpenStreetMap."""
        return osm_nodes(self._streets, self._nodes)


def _name(graph: Graph, node: int) -> str:
    """Return what errors call a node."""
    return str(node) if graph.names is None else shown(graph.names[node])
