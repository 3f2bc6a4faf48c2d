"""Traffic assignment: networks whose arcs become slower with their flow, and the equilibrium of a demand on them."""

from vkssp.assignment.delays import BPR, Conical
from vkssp.assignment.demand import UserClass
from vkssp.assignment.equilibrium import Equilibrium, Iteration, equilibrium
from vkssp.assignment.network import TrafficNetwork
from vkssp.assignment.skims import skims

__all__ = ["BPR", "Conical", "Equilibrium", "Iteration", "TrafficNetwork", "UserClass", "equilibrium", "skims"]
