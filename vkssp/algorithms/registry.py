"""Registry of all algorithms, on Vulkan devices and on the CPU (`vkssp.cpu`)."""

from vkssp.algorithm import Algorithm
from vkssp.algorithms.bellman_ford import BellmanFord
from vkssp.algorithms.bellman_ford_edge import BellmanFordEdge
from vkssp.algorithms.bellman_ford_subgroup import BellmanFordSubgroup
from vkssp.algorithms.block_resident import BlockResident
from vkssp.algorithms.delta_step import DeltaStep
from vkssp.algorithms.delta_step_array import DeltaStepArray
from vkssp.algorithms.delta_step_subgroup import DeltaStepSubgroup
from vkssp.algorithms.dijkstra_scan import DijkstraScan
from vkssp.algorithms.near_far import NearFar
from vkssp.algorithms.phast import Phast
from vkssp.algorithms.push_pull import PushPull
from vkssp.algorithms.threshold import Crauser, CrauserPredecessors, Martin, MartinPredecessors
from vkssp.cpu.bellman_ford import BellmanFordCpu
from vkssp.cpu.delta_step_buckets import DeltaStepBuckets
from vkssp.cpu.dijkstra import Dijkstra
from vkssp.cpu.phast import PhastCpu
from vkssp.cpu.threshold import CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu

_VULKAN: tuple[type[Algorithm], ...] = (
    *(NearFar, BlockResident, PushPull, Phast, DeltaStep, DeltaStepArray, DeltaStepSubgroup),
    *(BellmanFord, BellmanFordSubgroup, BellmanFordEdge),
    *(Crauser, CrauserPredecessors, Martin, MartinPredecessors, DijkstraScan),
)
_CPU: tuple[type[Algorithm], ...] = (
    *(Dijkstra, PhastCpu, DeltaStepBuckets, BellmanFordCpu),
    *(CrauserCpu, CrauserPredecessorsCpu, MartinCpu, MartinPredecessorsCpu),
)

#: Classes of each algorithm by its name, and then by the place where they run: ``"vulkan"``, then ``"cpu"``.
ALGORITHMS: dict[str, dict[str, type[Algorithm]]] = {}
for _algorithm in (*_VULKAN, *_CPU):
    ALGORITHMS.setdefault(_algorithm.NAME, {})[_algorithm.RUNS_ON] = _algorithm
