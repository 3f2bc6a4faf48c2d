"""Single-source shortest paths on any GPU that speaks Vulkan, and a router for OpenStreetMap extracts."""

# Imports are deferred until they are needed, so that the command line answers to Ctrl-C from its start on.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from vkssp.algorithms.registry import ALGORITHMS
    from vkssp.bench.tuning import Tuning, tune
    from vkssp.cpu.device import CpuDevice
    from vkssp.errors import (
        ClusterError,
        DeviceError,
        DistanceOverflowError,
        FormatError,
        GraphError,
        MemoryShortageError,
        NoRouteError,
        QueryError,
        VksspError,
    )
    from vkssp.features.features import Features
    from vkssp.formats.traffic_csv import read_segment_speeds, read_turn_penalties
    from vkssp.gpu.device import Device
    from vkssp.gpu.device_array import DeviceArray
    from vkssp.gpu.instance import DeviceInfo, list_devices
    from vkssp.graph import UNREACHABLE, Graph
    from vkssp.graph.landmarks import landmark_order
    from vkssp.graph.node_traffic import with_segment_speeds, with_turn_penalties
    from vkssp.graph.order import Order, z_order
    from vkssp.graph.streets import Streets
    from vkssp.hierarchy.prepare import prepare
    from vkssp.interop.edge_tables import from_dataframe
    from vkssp.interop.gmns_folder import from_gmns
    from vkssp.interop.graph_libraries import from_igraph, from_networkit
    from vkssp.interop.line_layers import from_geodataframe
    from vkssp.interop.networkx_backend.convert import from_networkx
    from vkssp.interop.osmnx_graph import from_osmnx
    from vkssp.prepared.renumbered import RenumberedGraph
    from vkssp.reading import read_graph
    from vkssp.route import Leg, Place, Route, Step
    from vkssp.routing.cells import Cells
    from vkssp.routing.isochrone import Isochrone
    from vkssp.routing.matching import Matching, Tracepoint
    from vkssp.routing.opportunities import NearestOpportunities
    from vkssp.routing.router import Router
    from vkssp.routing.routes import Routes
    from vkssp.routing.service_areas import ServiceAreas
    from vkssp.routing.table_places import PlaceTable
    from vkssp.routing.trip import Trip
    from vkssp.solver.centrality import Centrality, SampledCentrality
    from vkssp.solver.decay import Decay
    from vkssp.solver.demand_file import read_demand
    from vkssp.solver.loads import Betweenness, Flows, Turns
    from vkssp.solver.nearest import NearestSources
    from vkssp.solver.pool import SolverPool
    from vkssp.solver.solver import Solver
    from vkssp.solver.table import Table
    from vkssp.solver.trees import Trees

    #: Version of the installed distribution, such as 1.2.0, or 1.2.1.dev3+g0123abc three commits after the tag v1.2.0.
    __version__: str

__all__ = [
    "ALGORITHMS",
    "UNREACHABLE",
    "Betweenness",
    "Cells",
    "Centrality",
    "ClusterError",
    "CpuDevice",
    "Decay",
    "Device",
    "DeviceArray",
    "DeviceError",
    "DeviceInfo",
    "DistanceOverflowError",
    "Features",
    "Flows",
    "FormatError",
    "Graph",
    "GraphError",
    "Isochrone",
    "Leg",
    "Matching",
    "MemoryShortageError",
    "NearestOpportunities",
    "NearestSources",
    "NoRouteError",
    "NoStreetError",
    "Order",
    "Place",
    "PlaceTable",
    "QueryError",
    "RenumberedGraph",
    "Route",
    "Router",
    "Routes",
    "SampledCentrality",
    "ServiceAreas",
    "Solver",
    "SolverPool",
    "Step",
    "Stop",
    "Streets",
    "Table",
    "Tracepoint",
    "Trees",
    "Trip",
    "Tuning",
    "Turns",
    "VksspError",
    "from_dataframe",
    "from_geodataframe",
    "from_gmns",
    "from_igraph",
    "from_networkit",
    "from_networkx",
    "from_osmnx",
    "landmark_order",
    "list_devices",
    "prepare",
    "read_demand",
    "read_graph",
    "read_segment_speeds",
    "read_turn_penalties",
    "tune",
    "with_segment_speeds",
    "with_turn_penalties",
    "z_order",
]

#: Module of each public name; it is imported on first access to the name.
_MODULES = {
    "ALGORITHMS": "vkssp.algorithms.registry",
    "UNREACHABLE": "vkssp.graph.graph",
    "Betweenness": "vkssp.solver.loads",
    "Cells": "vkssp.routing.cells",
    "Centrality": "vkssp.solver.centrality",
    "ClusterError": "vkssp.errors",
    "CpuDevice": "vkssp.cpu.device",
    "Decay": "vkssp.solver.decay",
    "Device": "vkssp.gpu.device",
    "DeviceArray": "vkssp.gpu.device_array",
    "DeviceError": "vkssp.errors",
    "DeviceInfo": "vkssp.gpu.instance",
    "DistanceOverflowError": "vkssp.errors",
    "Features": "vkssp.features.features",
    "Flows": "vkssp.solver.loads",
    "FormatError": "vkssp.errors",
    "Graph": "vkssp.graph.graph",
    "GraphError": "vkssp.errors",
    "Isochrone": "vkssp.routing.isochrone",
    "Leg": "vkssp.route",
    "Matching": "vkssp.routing.matching",
    "MemoryShortageError": "vkssp.errors",
    "NearestOpportunities": "vkssp.routing.opportunities",
    "NearestSources": "vkssp.solver.nearest",
    "NoRouteError": "vkssp.errors",
    "NoStreetError": "vkssp.errors",
    "Order": "vkssp.graph.order",
    "Place": "vkssp.route",
    "PlaceTable": "vkssp.routing.table_places",
    "QueryError": "vkssp.errors",
    "RenumberedGraph": "vkssp.prepared.renumbered",
    "Route": "vkssp.route",
    "Router": "vkssp.routing.router",
    "Routes": "vkssp.routing.routes",
    "SampledCentrality": "vkssp.solver.centrality",
    "ServiceAreas": "vkssp.routing.service_areas",
    "Solver": "vkssp.solver.solver",
    "SolverPool": "vkssp.solver.pool",
    "Step": "vkssp.route",
    "Stop": "vkssp.routing.stops",
    "Streets": "vkssp.graph.streets",
    "Table": "vkssp.solver.table",
    "Tracepoint": "vkssp.routing.matching",
    "Trees": "vkssp.solver.trees",
    "Trip": "vkssp.routing.trip",
    "Tuning": "vkssp.bench.tuning",
    "Turns": "vkssp.solver.loads",
    "VksspError": "vkssp.errors",
    "from_dataframe": "vkssp.interop.edge_tables",
    "from_geodataframe": "vkssp.interop.line_layers",
    "from_gmns": "vkssp.interop.gmns_folder",
    "from_igraph": "vkssp.interop.graph_libraries",
    "from_networkit": "vkssp.interop.graph_libraries",
    "from_osmnx": "vkssp.interop.osmnx_graph",
    "from_networkx": "vkssp.interop.networkx_backend.convert",
    "landmark_order": "vkssp.graph.landmarks",
    "list_devices": "vkssp.gpu.instance",
    "prepare": "vkssp.hierarchy.prepare",
    "read_demand": "vkssp.solver.demand_file",
    "read_graph": "vkssp.reading",
    "read_segment_speeds": "vkssp.formats.traffic_csv",
    "read_turn_penalties": "vkssp.formats.traffic_csv",
    "tune": "vkssp.bench.tuning",
    "with_segment_speeds": "vkssp.graph.node_traffic",
    "with_turn_penalties": "vkssp.graph.node_traffic",
    "z_order": "vkssp.graph.order",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a public name, or a module of the package, on first access."""
        from importlib import import_module, util

        module = f"{__name__}.{name}"
        if name == "__version__":
            value = _version()
        elif name == "Assignment":
            from vkssp.former import warn_of

            warn_of("vkssp.Assignment", "vkssp.ServiceAreas")
            return import_module(_MODULES["ServiceAreas"]).ServiceAreas  # not kept: each use warns
        elif name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name.startswith("_") or util.find_spec(module) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            value = import_module(module)
        globals()[name] = value
        return value

    def __dir__():
        """Return all names, including names that have not been imported yet."""
        return sorted({*globals(), *__all__, "__version__"})

    def _version():
        """Return the version that the installation recorded."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version(__name__)
        except PackageNotFoundError:  # a folder that only lies on the path
            return "0+unknown"
