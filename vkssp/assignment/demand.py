"""User classes: groups of travellers with a demand, costs and open arcs of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.assignment.delays import Floats
from vkssp.assignment.network import TrafficNetwork
from vkssp.checks import array_of, dtype_of, is_storable, listed, number_of, real_numbers, shown
from vkssp.errors import QueryError


@dataclass(frozen=True, eq=False)
class UserClass:
    """Group of travellers.

    Parameters
    ----------
    demand : array_like or sparse matrix
        Vehicles from each zone to each other zone, shape (num_zones, num_zones), from 0 on. Trips within a zone are not
        assigned.
    fixed : array_like, optional
        What an arc costs besides its time, in place of `TrafficNetwork.fixed`, shape (num_arcs,), from 0 on.
    pce : float
        Passenger car equivalents of a vehicle: how much of the flow it is.
    open_arcs : array_like, optional
        Whether the class may take each arc, shape (num_arcs,), bool; by default it may take all.
    name : str
        Name of the class in files and errors.
    """

    __repr__ = brief

    demand: Any
    fixed: Any = None
    pce: float = 1.0
    open_arcs: Any = None
    name: str = "all"


@dataclass(frozen=True, eq=False)
class CheckedClass:
    """User class with checked arrays.

    Attributes
    ----------
    name : str
        Its name.
    demand : numpy.ndarray or sparse matrix
        Demand without trips within zones, float64 or int64.
    fixed : numpy.ndarray
        Fixed costs, shape (num_arcs,), float64.
    pce : float
        Passenger car equivalents.
    open_arcs : numpy.ndarray or None
        Open arcs, shape (num_arcs,), bool.
    """

    name: str
    demand: Any
    fixed: Floats
    pce: float
    open_arcs: npt.NDArray[np.bool_] | None


def checked_classes(network: TrafficNetwork, demand: Any) -> list[CheckedClass]:
    """Return the user classes of a demand, which is one of all users, or a list of `UserClass`.

    Raises
    ------
    QueryError
        If they do not suit the network.
    """
    is_list = isinstance(demand, list | tuple) and any(isinstance(one, UserClass) for one in demand)
    given = listed(demand, "demand", "UserClass objects") if is_list else [demand]
    found = [_checked(network, one if isinstance(one, UserClass) else UserClass(one)) for one in given]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise QueryError(f"user classes have the names {shown(names)}; give each a name of its own")
    return found


def checked_table(demand: Any) -> Any:
    """Return a demand between zones as a sparse matrix of rows, float64.

    Raises
    ------
    QueryError
        If it is not square, or has amounts that are no finite numbers from 0 on.
    """
    from scipy import sparse

    if not sparse.issparse(demand):
        demand = array_of(demand, "demand", "numbers, one for each pair of zones", QueryError)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise QueryError(f"demand has shape {demand.shape}; give a row and a column for each zone")
    if demand.dtype.kind not in "biuf":
        raise QueryError(f"demand has dtype {dtype_of(demand)}; give numbers")
    matrix = sparse.csr_array(demand.astype(np.float64))
    if not (np.isfinite(matrix.data) & (matrix.data >= 0)).all():
        raise QueryError("demand has numbers that are negative or not finite; give amounts from 0 on")
    return matrix


def _checked(network: TrafficNetwork, given: UserClass) -> CheckedClass:
    where = f"the user class {given.name!r}"
    pce = number_of(given.pce)
    if pce is None or not 0 < pce < np.inf:
        raise QueryError(f"pce of {where} is {shown(given.pce)}; give a number above 0, such as 1")
    fixed = network.fixed
    if given.fixed is not None:
        fixed = real_numbers(given.fixed, f"fixed of {where}", "numbers, one for each arc", QueryError)
        if len(fixed) != network.num_arcs or not (np.isfinite(fixed) & (fixed >= 0)).all():
            raise QueryError(f"fixed of {where} must be a finite number from 0 on for each of {network.num_arcs} arcs")
    open_arcs = None
    if given.open_arcs is not None:
        open_arcs = array_of(given.open_arcs, f"open_arcs of {where}", "truth values, one for each arc", QueryError)
        if open_arcs.shape != (network.num_arcs,) or open_arcs.dtype != np.bool_:
            raise QueryError(f"open_arcs of {where} must be a truth value for each of {network.num_arcs} arcs")
    name = str(given.name)
    if not is_storable(name):
        raise QueryError(f"a user class has the name {shown(name)}, which no file can have; give it another one")
    return CheckedClass(name, _between_zones(given.demand, network, where), fixed, pce, open_arcs)


def _between_zones(demand: Any, network: TrafficNetwork, where: str) -> Any:
    """Return a demand without trips within zones."""
    shape = (network.num_zones, network.num_zones)
    if hasattr(demand, "tocsr"):
        from scipy import sparse

        table = sparse.coo_array(demand)
        if table.shape == shape:
            row, column = table.coords
            apart = row != column
            # Entries of the same pair are added up where the demand is checked.
            return sparse.coo_array((_wide(table.data[apart]), (row[apart], column[apart])), shape=shape)
    else:
        table = array_of(demand, f"the demand of {where}", "numbers, one for each pair of zones", QueryError)
        if table.shape == shape and table.dtype.kind in "biuf":
            table = _wide(table)
            np.fill_diagonal(table, 0)
            return table
    if table.shape != shape:
        raise QueryError(f"the demand of {where} has shape {table.shape}; there are {shape[0]} zones, give {shape}")
    raise QueryError(f"the demand of {where} has dtype {table.dtype}; give numbers")


def _wide(amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of numbers, of which scipy's matrices do not take the narrow ones, with 64 bits each."""
    kinds = {"f": np.float64, "i": np.int64, "b": np.int64}
    return np.array(amounts, kinds.get(amounts.dtype.kind, amounts.dtype))
