"""The algorithms, one file each."""

from vkssp.solvers.base import Algorithm
from vkssp.solvers.delta_step import DeltaStep

#: Every algorithm by its name.
ALGORITHMS: dict[str, type[Algorithm]] = {algorithm.NAME: algorithm for algorithm in (DeltaStep,)}
