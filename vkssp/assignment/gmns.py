"""GMNS folders: networks as files of nodes and links, in the General Modeling Network Specification.

https://github.com/zephyr-data-specs/GMNS has the specification. It knows no delay functions; the columns of these, and
the file of the demand, are those of DTALite and of the collection GMNS Plus: ``vdf_fftt`` in minutes, ``vdf_alpha``,
``vdf_beta``, ``vdf_cap``, with or without a 1 for the first period; ``o_zone_id``, ``d_zone_id``, ``volume``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.assignment.delays import BPR
from vkssp.assignment.demand import checked_table
from vkssp.assignment.network import TrafficNetwork
from vkssp.checks import flag, instance, number_of, path_of, shown
from vkssp.csv_file import csv_lines, csv_writer, no_columns
from vkssp.errors import FormatError, QueryError
from vkssp.files import atomic_folder

#: File of the demand in a folder.
DEMAND = "demand.csv"
#: Files of the nodes and of the links.
NODES, LINKS = "node.csv", "link.csv"
_CONFIG = "config.csv"
#: All files in a folder that are read.
FILES = (NODES, LINKS, _CONFIG, DEMAND)
# Metres of units of length, and metres per minute of units of speed.
_LENGTHS = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), 1000.0),
    **dict.fromkeys(("mi", "mile", "miles"), 1609.344),
    **dict.fromkeys(("ft", "foot", "feet"), 0.3048),
}
_SPEEDS = {
    **dict.fromkeys(("kph", "kmh", "km/h", "kmph", "kilometers per hour", "kilometres per hour"), 1000 / 60),
    **dict.fromkeys(("mph", "mi/h", "miles per hour"), 1609.344 / 60),
    **dict.fromkeys(("m/s", "mps", "meters per second", "metres per second"), 60.0),
}
# Texts, in lower case, that stand for no value, and for truth values.
_NOTHING = ("", "nan")
_TRUE, _FALSE = ("1", "true", "t", "yes"), ("0", "false", "f", "no")


def read_network(
    folder: str | Path, *, toll_weight: float = 0.0, length_weight: float = 0.0, through_zones: bool = True
) -> TrafficNetwork:
    """Read a network from the files node.csv and link.csv of a folder.

    The free time of a link is its ``vdf_fftt``, or its length by its free speed, in minutes; for these config.csv must
    name the units. Its capacity is its ``vdf_cap``, or its capacity per lane times its lanes. Parameters of BPR are
    0.15 and 4 where ``vdf_alpha`` and ``vdf_beta`` are not given.

    Parameters
    ----------
    folder : str or Path
        The folder.
    toll_weight, length_weight : float
        Minutes that a traveller gives for a unit of toll, and for a unit of length.
    through_zones : bool
        Whether paths may lead through the nodes of zones.

    Raises
    ------
    FormatError
        If a file cannot be read; the message names the file and the line.
    QueryError
        If a weight is no number from 0 on.
    """
    folder = path_of(folder, "folder")
    for name, given in (("toll_weight", toll_weight), ("length_weight", length_weight)):
        weight = number_of(given)
        if weight is None or not 0 <= weight < np.inf:
            raise QueryError(f"{name} is {shown(given)}; give a number from 0 on")
    names: dict[str, int] = {}
    zones: dict[str, int] = {}
    coordinates = []
    for where, row in rows_of(folder / NODES, ("node_id",)):
        add_node(where, row, names)
        zone = row.get("zone_id", "")
        if zone.lower() not in _NOTHING:
            if zone in zones:
                raise FormatError(f"{where}: a second node has zone_id {zone}; keep it at the node where trips begin")
            zones[zone] = names[row["node_id"]]
        coordinates.append([number_in(where, row, column, np.nan) for column in ("x_coord", "y_coord")])
    if not zones:
        raise FormatError(f"{folder / NODES} has no zone_id; give one to the nodes at which trips begin and end")
    links = _links(folder, names)
    table = np.array([link[2:] for link in links], np.float64).reshape(len(links), 6)
    ends = np.array([link[:2] for link in links], np.int64).reshape(len(links), 2)
    length, free, capacity, alpha, beta, toll = table.T
    points = np.array(coordinates, np.float64)
    return TrafficNetwork(
        len(names),
        ends[:, 0],
        ends[:, 1],
        BPR(free, capacity, alpha, beta),
        zones=list(zones.values()),
        fixed=toll_weight * toll + length_weight * length,
        closed=[] if flag(through_zones, "through_zones") else list(zones.values()),
        node_names=names_of(list(names)),
        zone_names=names_of(list(zones)),
        length=length,
        coordinates=points if np.isfinite(points).all() else None,
    )


def _links(folder: Path, names: dict[str, int]) -> list[tuple[float, ...]]:
    """Return the arcs: tail, head, length, free time, capacity, alpha, beta and toll."""
    path, units, arcs = folder / LINKS, units_of(folder), []
    for where, row in rows_of(path, ("from_node_id", "to_node_id")):
        ends = ends_of(where, row, names)
        length = number_in(where, row, "length", 0.0)
        free = number_in(where, row, "vdf_fftt", np.nan)
        if np.isnan(free):
            free = free_minutes(where, row, units)
        alpha, beta = number_in(where, row, "vdf_alpha", 0.15), number_in(where, row, "vdf_beta", 4.0)
        capacity = number_in(where, row, "vdf_cap", np.nan)
        if np.isnan(capacity):
            capacity = number_in(where, row, "capacity", np.nan) * number_in(where, row, "lanes", 1.0)
        if not capacity > 0:
            if alpha and beta and free:
                raise FormatError(f"{where} has no capacity; give one per lane, or a vdf_alpha of 0")
            capacity = 1.0
        arc = length, free, capacity, alpha, beta, number_in(where, row, "toll", 0.0)
        arcs.append((*ends, *arc))
        if leads_back(where, row):
            arcs.append((*ends[::-1], *arc))
    return arcs


def add_node(where: str, row: Mapping[str, str], names: dict[str, int]) -> None:
    """Give the node of a line of node.csv a number, or raise `FormatError` if it has no id of its own."""
    name = row["node_id"]
    if not name or name in names:
        raise FormatError(f"{where}: node_id is {shown(name)}; give each node an id of its own")
    names[name] = len(names)


def ends_of(where: str, row: Mapping[str, str], names: Mapping[str, int]) -> list[int]:
    """Return the numbers of the nodes that a link leads from and to, or raise `FormatError`."""
    ends = []
    for column in ("from_node_id", "to_node_id"):
        if row[column] not in names:
            raise FormatError(f"{where}: {column} is {shown(row[column])}, which is no node of {NODES}")
        ends.append(names[row[column]])
    return ends


def leads_back(where: str, row: Mapping[str, str]) -> bool:
    """Return whether a link leads in both directions, or raise `FormatError` if it does not tell."""
    directed = row.get("directed", "").lower()
    if directed not in (*_TRUE, *_FALSE, *_NOTHING):
        raise FormatError(f"{where}: directed is {shown(directed)}; give 1 or 0")
    return directed in _FALSE


def free_minutes(where: str, row: Mapping[str, str], units: tuple[float, float] | None) -> float:
    """Return the minutes that a link takes by its length and its free speed, or raise `FormatError`."""
    length, speed = (number_in(where, row, column, np.nan) for column in ("length", "free_speed"))
    if np.isnan(length) or not speed > 0:
        raise FormatError(f"{where} has neither vdf_fftt nor both length and free_speed; give one of them")
    if units is None:
        raise FormatError(
            f"{where} has no vdf_fftt, and no {_CONFIG} tells the units of length and free_speed; add one"
        )
    return length * units[0] / (speed * units[1])


def units_of(folder: Path) -> tuple[float, float] | None:
    """Return the metres of a unit of length and the metres per minute of a unit of speed, or None if unknown."""
    path = folder / _CONFIG
    if not path.is_file():
        return None
    for where, row in rows_of(path, ("long_length", "speed")):
        found = []
        for column, known in (("long_length", _LENGTHS), ("speed", _SPEEDS)):
            unit = row[column].lower()
            if unit not in known:
                raise FormatError(f"{where}: {column} is {shown(unit)}; known are {', '.join(known)}")
            found.append(known[unit])
        return found[0], found[1]
    return None


def read_demand(path: str | Path, network: TrafficNetwork) -> Any:
    """Read a demand from a CSV file with columns o_zone_id, d_zone_id and volume; pairs that come twice are added.

    Parameters
    ----------
    path : str or Path
        Name of the file.
    network : TrafficNetwork
        The network, whose zone names are those of the file.

    Returns
    -------
    scipy.sparse.csr_array
        Vehicles from each zone to each zone, shape (num_zones, num_zones), float64.

    Raises
    ------
    FormatError
        If the file cannot be read, or names an unknown zone; the message names the line.
    """
    from scipy import sparse

    instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files")
    number = {str(name): zone for zone, name in enumerate(network.zone_names.tolist())}
    ends: list[tuple[int, int]] = []
    volumes: list[float] = []
    columns = "o_zone_id", "d_zone_id"
    for where, row in rows_of(path_of(path), (*columns, "volume")):
        for column in columns:
            if row[column] not in number:
                raise FormatError(f"{where}: {column} is {shown(row[column])}, which is no zone of the network")
        ends.append((number[row[columns[0]]], number[row[columns[1]]]))
        volumes.append(number_in(where, row, "volume", 0.0))
    rows, into = np.array(ends, np.int64).reshape(-1, 2).T
    shape = (network.num_zones, network.num_zones)
    return sparse.coo_array((np.array(volumes, np.float64), (rows, into)), shape=shape).tocsr()


def write(folder: str | Path, network: TrafficNetwork, demand: Any = None) -> None:
    """Write a network, and a demand, to the files node.csv, link.csv and demand.csv of a folder.

    Fixed costs become tolls; GMNS does not tell closed nodes, see `read_network`. A folder that has a node.csv is
    replaced.

    Parameters
    ----------
    folder : str or Path
        The folder.
    network : TrafficNetwork
        The network, whose delay is a `BPR`.
    demand : array_like or sparse matrix, optional
        The demand, shape (num_zones, num_zones).

    Raises
    ------
    QueryError
        If its delay is no `BPR`, if a name would not be the same when it is read, or if the demand is not valid.
    FormatError
        If the folder cannot be written.
    """
    from scipy import sparse

    instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files")
    delay, nodes = network.delay, network.node_names.tolist()
    for name in (*map(str, nodes), *map(str, network.zone_names.tolist())):
        if name != name.strip() or name.lower() in _NOTHING:
            raise QueryError(f"a node or zone has the name {shown(name)}, which GMNS files do not keep; rename it")
    for what, names in (("nodes", nodes), ("zones", network.zone_names.tolist())):
        if len(set(map(str, names))) < len(names):
            raise QueryError(f"several {what} have the same name; give each a name of its own")
    table = None if demand is None else checked_table(demand)
    if table is not None and table.shape != (network.num_zones, network.num_zones):
        raise QueryError(f"demand has shape {table.shape}; there are {network.num_zones} zones")
    if not isinstance(delay, BPR):
        raise QueryError(f"GMNS has no columns for {type(delay).__name__} delays; make a network with BPR")
    zone = dict(zip(network.zones.tolist(), network.zone_names.tolist(), strict=True))
    points = [("", "")] * len(nodes) if network.coordinates is None else network.coordinates.tolist()
    length = np.zeros(network.num_arcs) if network.length is None else network.length
    with atomic_folder(folder, (NODES,)) as new:
        rows: Iterator[Sequence[Any]] = ((nodes[at], *points[at], zone.get(at, "")) for at in range(len(nodes)))
        _write(new / NODES, ("node_id", "x_coord", "y_coord", "zone_id"), rows)
        columns = (length, delay.capacity, delay.free_time, delay.b, delay.power, network.fixed)
        values = zip(*(np.asarray(one).tolist() for one in columns), strict=True)
        ends = zip(network.tail.tolist(), network.head.tolist(), values, strict=True)
        rows = ((arc, nodes[a], nodes[b], 1, 1, *row) for arc, (a, b, row) in enumerate(ends, 1))
        heads = ("length", "capacity", "vdf_fftt", "vdf_alpha", "vdf_beta", "toll")
        _write(new / LINKS, ("link_id", "from_node_id", "to_node_id", "directed", "lanes", *heads), rows)
        if table is not None:
            matrix, names = sparse.coo_array(table), network.zone_names.tolist()
            pairs = zip(*(one.tolist() for one in (*matrix.coords, matrix.data)), strict=True)
            rows = ((names[a], names[b], amount) for a, b, amount in pairs)
            _write(new / DEMAND, ("o_zone_id", "d_zone_id", "volume"), rows)


def _write(path: Path, columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        lines = csv_writer(stream)
        lines.writerow(columns)
        lines.writerows(rows)


def rows_of(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the file and line, and the fields by lower-case column names, of each line of a CSV file."""
    with csv_lines(path) as lines:
        first = next(lines, [])
        # A column of the first period has a 1 at its end.
        columns = [name.strip().lower() for name in first]
        columns = [name[:-1] if name.startswith("vdf_") and name.endswith("1") else name for name in columns]
        if not set(needed) <= set(columns):
            raise no_columns(path, ", ".join(needed), first)
        for fields in lines:
            if fields:
                where = f"{path}, line {lines.line_num}"
                if len(fields) != len(columns):
                    raise FormatError(f"{where} has {len(fields)} fields for {len(columns)} columns")
                yield where, dict(zip(columns, map(str.strip, fields), strict=True))


def number_in(where: str, row: Mapping[str, str], column: str, missing: float) -> float:
    """Return a number of a line, or `missing` if it has none; raise `FormatError` if it is no number from 0 on."""
    text = row.get(column, "")
    if text.lower() in _NOTHING:
        return missing
    try:
        value = float("nan" if "_" in text else text)  # Python's numbers may have underscores between digits
    except ValueError:
        value = np.nan
    is_place = column in ("x_coord", "y_coord")
    if not np.isfinite(value) or (value < 0 and not is_place):
        raise FormatError(f"{where}: {column} is {shown(text)}; give a number{'' if is_place else ' from 0 on'}")
    return value


def names_of(names: list[str]) -> Any:
    """Return names as integers, if all of them are."""
    if all(len(name) < 18 and name.isdecimal() and name == str(int(name)) for name in names):
        return np.array(list(map(int, names)), np.int64)
    return np.array(names)
