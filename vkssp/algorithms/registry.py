"""Registry of all algorithms, on the device and on the CPU (`vkssp.cpu`)."""

from vkssp.algorithm import Algorithm
from vkssp.algorithms.bellman_ford import BellmanFord
from vkssp.algorithms.bellman_ford_edge import BellmanFordEdge
from vkssp.algorithms.bellman_ford_subgroup import BellmanFordSubgroup
from vkssp.algorithms.block_resident import BlockResident
from vkssp.algorithms.crauser import Crauser
from vkssp.algorithms.crauser_predecessors import CrauserPredecessors
from vkssp.algorithms.delta_step import DeltaStep
from vkssp.algorithms.delta_step_array import DeltaStepArray
from vkssp.algorithms.delta_step_subgroup import DeltaStepSubgroup
from vkssp.algorithms.dijkstra_gpu import DijkstraGpu
from vkssp.algorithms.martin import Martin
from vkssp.algorithms.martin_predecessors import MartinPredecessors
from vkssp.algorithms.near_far import NearFar
from vkssp.algorithms.phast import Phast
from vkssp.cpu.bellman_ford import BellmanFordCpu
from vkssp.cpu.crauser import CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu
from vkssp.cpu.delta_step import DeltaStepCpu
from vkssp.cpu.dijkstra import Dijkstra

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
