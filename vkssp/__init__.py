"""Single-source shortest paths on any GPU that speaks Vulkan, and a router for OpenStreetMap extracts."""

# Nothing is imported before it is needed, so that the command line answers to Ctrl-C from its first moments on.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from vkssp.errors import (
        DeviceError,
        DistanceOverflowError,
        FormatError,
        GraphError,
        MemoryShortageError,
        NoRouteError,
        QueryError,
        VksspError,
    )
    from vkssp.graph import UNREACHABLE, Graph
    from vkssp.hierarchy.prepare import prepare
    from vkssp.landmarks import landmark_order
    from vkssp.order import Order, z_order
    from vkssp.pool import SolverPool
    from vkssp.reading import read_graph
    from vkssp.routing.assignment import Assignment
    from vkssp.routing.route import Leg, Place, Route, Step
    from vkssp.routing.router import Router
    from vkssp.routing.table import Table
    from vkssp.solver import Solver
    from vkssp.solvers import ALGORITHMS
    from vkssp.solvers.nearest import NearestSources
    from vkssp.streets import Streets

__version__ = "0.1.0"

__all__ = [
    "ALGORITHMS",
    "UNREACHABLE",
    "Assignment",
    "DeviceError",
    "DistanceOverflowError",
    "FormatError",
    "Graph",
    "GraphError",
    "Leg",
    "MemoryShortageError",
    "NearestSources",
    "NoRouteError",
    "Order",
    "Place",
    "QueryError",
    "Route",
    "Router",
    "Solver",
    "SolverPool",
    "Step",
    "Streets",
    "Table",
    "VksspError",
    "landmark_order",
    "prepare",
    "read_graph",
    "z_order",
]

#: The module of each public name; it is imported when the name is first asked for.
_MODULES = {
    "ALGORITHMS": "vkssp.solvers",
    "UNREACHABLE": "vkssp.graph",
    "Assignment": "vkssp.routing.assignment",
    "DeviceError": "vkssp.errors",
    "DistanceOverflowError": "vkssp.errors",
    "FormatError": "vkssp.errors",
    "Graph": "vkssp.graph",
    "GraphError": "vkssp.errors",
    "Leg": "vkssp.routing.route",
    "MemoryShortageError": "vkssp.errors",
    "NearestSources": "vkssp.solvers.nearest",
    "NoRouteError": "vkssp.errors",
    "Order": "vkssp.order",
    "Place": "vkssp.routing.route",
    "QueryError": "vkssp.errors",
    "Route": "vkssp.routing.route",
    "Router": "vkssp.routing.router",
    "Solver": "vkssp.solver",
    "SolverPool": "vkssp.pool",
    "Step": "vkssp.routing.route",
    "Streets": "vkssp.streets",
    "Table": "vkssp.routing.table",
    "VksspError": "vkssp.errors",
    "landmark_order": "vkssp.landmarks",
    "prepare": "vkssp.hierarchy.prepare",
    "read_graph": "vkssp.reading",
    "z_order": "vkssp.order",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a public name, or a module of the package, when it is first asked for."""
        from importlib import import_module, util

        module = f"{__name__}.{name}"
        if name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name.startswith("_") or util.find_spec(module) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            value = import_module(module)
        globals()[name] = value
        return value

    def __dir__():
        """Return all names, also those that have not been imported yet."""
        return sorted({*globals(), *__all__})
