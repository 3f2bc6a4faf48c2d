"""Generators of synthetic graphs; the same seed gives the same graph on every machine."""

from vkssp.generate.attachment import barabasi_albert
from vkssp.generate.expression import FAMILIES, from_expression, is_expression
from vkssp.generate.gnm import gnm
from vkssp.generate.rmat import kronecker, rmat
from vkssp.generate.road import road_grid
from vkssp.generate.uniform import martin, uniform_random

__all__ = [
    "FAMILIES",
    "barabasi_albert",
    "from_expression",
    "gnm",
    "is_expression",
    "kronecker",
    "martin",
    "rmat",
    "road_grid",
    "uniform_random",
]
