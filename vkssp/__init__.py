"""Single-source shortest paths on any GPU that speaks Vulkan, and a router for OpenStreetMap extracts."""

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
