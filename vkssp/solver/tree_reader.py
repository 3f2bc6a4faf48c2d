"""Reader of a shortest-path tree after a search, and of the trees of rows that a batch of searches has made."""

from __future__ import annotations

from vkssp.algorithm import Algorithm, FinishedRows, Reader
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.tree_arcs import CpuTreeArcs
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.gather import Gather
from vkssp.engine.tree_arcs import DeviceTreeArcs
from vkssp.graph import Uint32s
from vkssp.graph.distance_type import Distances, DistanceType
from vkssp.resource import Resource


def tree_arcs_of(graph: DeviceGraph | CpuGraph) -> CpuTreeArcs:
    """Return what finishes the trees of a graph, and finds their arcs on the CPU."""
    if isinstance(graph, DeviceGraph):
        return CpuTreeArcs(graph.renumbered)
    made: CpuTreeArcs = graph.shared("tree arcs", lambda: CpuTreeArcs(graph.renumbered))
    return made


class TreeReader(Resource):
    """Reader of distances and of the arcs of shortest-path trees.

    On a device the arcs are found there, where the distances are; on the CPU by all cores.

    Parameters
    ----------
    graph : DeviceGraph or CpuGraph
        The graph.
    rows : int
        Number of rows that are read at once, at most.
    distance_type : DistanceType
        Type of the distances.
    algorithm : Algorithm, optional
        Algorithm whose searches are read; it closes the reader. Without it the reader is for rows of batches only.
    """

    def __init__(
        self, graph: DeviceGraph | CpuGraph, rows: int, distance_type: DistanceType, algorithm: Algorithm | None = None
    ) -> None:
        super().__init__(graph)
        self._on_cpu = tree_arcs_of(graph)
        self._on_device: DeviceTreeArcs | None = None
        self._reader: Reader | None = None
        try:
            if isinstance(graph, DeviceGraph):
                self._on_device = DeviceTreeArcs(graph, rows, self, distance_type)
            if algorithm is not None:
                self._reader = algorithm.reader(graph.renumbered.node)
        except BaseException:
            self.close()
            raise

    def read(self) -> tuple[Distances, Uint32s]:
        """Return distances and arcs of the algorithm's last search, as `CpuTreeArcs.finish` takes a row of each."""
        assert self._reader is not None
        found = self._reader.read()
        if self._on_device is not None and isinstance(self._reader, Gather):
            return found, self._on_device.find(self._reader.gathered, [(0, 1)])[0]
        return found, self._on_cpu.find(found[None])[0]

    def arcs_of(self, rows: FinishedRows, found: Distances) -> Uint32s:
        """Return the arcs of rows that a batch of searches has made, as `CpuTreeArcs.finish` takes them."""
        if self._on_device is not None and rows.place is not None:
            return self._on_device.find(*rows.place)
        return self._on_cpu.find(found)
