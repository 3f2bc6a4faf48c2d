"""The algorithms that run on the CPU, compiled by numba: what the papers measure GPUs against.

numba is an optional dependency (``pip install 'vkssp[cpu]'``); it is imported when the first algorithm is made.
"""

from vkssp.cpu.bellman_ford import BellmanFordCpu
from vkssp.cpu.bidirectional import BidirectionalDijkstra
from vkssp.cpu.crauser import CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu
from vkssp.cpu.delta_step import DeltaStepCpu
from vkssp.cpu.dijkstra import Dijkstra, settle_order
from vkssp.cpu.host import Host, HostGraph, HostInfo
from vkssp.cpu.path import HostWalker

__all__ = [
    "BellmanFordCpu",
    "BidirectionalDijkstra",
    "CrauserCpu",
    "CrauserPredecessorsCpu",
    "DeltaStepCpu",
    "Dijkstra",
    "Host",
    "HostGraph",
    "HostInfo",
    "HostWalker",
    "MartinCpu",
    "MartinPredecessorsCpu",
    "settle_order",
]
