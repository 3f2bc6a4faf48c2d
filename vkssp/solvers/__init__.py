"""The algorithms, one file each; those that run on the CPU are in `vkssp.cpu`."""

from vkssp.cpu.bellman_ford import BellmanFordCpu
from vkssp.cpu.crauser import CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu
from vkssp.cpu.delta_step import DeltaStepCpu
from vkssp.cpu.dijkstra import Dijkstra
from vkssp.solvers.base import Algorithm
from vkssp.solvers.bellman_ford import BellmanFord
from vkssp.solvers.bellman_ford_edge import BellmanFordEdge
from vkssp.solvers.bellman_ford_subgroup import BellmanFordSubgroup
from vkssp.solvers.block_resident import BlockResident
from vkssp.solvers.crauser import Crauser
from vkssp.solvers.crauser_predecessors import CrauserPredecessors
from vkssp.solvers.delta_step import DeltaStep
from vkssp.solvers.delta_step_array import DeltaStepArray
from vkssp.solvers.delta_step_subgroup import DeltaStepSubgroup
from vkssp.solvers.dijkstra_gpu import DijkstraGpu
from vkssp.solvers.martin import Martin
from vkssp.solvers.martin_predecessors import MartinPredecessors
from vkssp.solvers.near_far import NearFar
from vkssp.solvers.phast import Phast

_DEVICE: tuple[type[Algorithm], ...] = (
    *(NearFar, BlockResident, Phast, DeltaStep, DeltaStepArray, DeltaStepSubgroup),
    *(BellmanFord, BellmanFordSubgroup, BellmanFordEdge),
    *(Crauser, CrauserPredecessors, Martin, MartinPredecessors, DijkstraGpu),
)
_HOST: tuple[type[Algorithm], ...] = (
    *(Dijkstra, DeltaStepCpu, BellmanFordCpu),
    *(CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu),
)

#: Every algorithm by its name.
ALGORITHMS: dict[str, type[Algorithm]] = {algorithm.NAME: algorithm for algorithm in (*_DEVICE, *_HOST)}
