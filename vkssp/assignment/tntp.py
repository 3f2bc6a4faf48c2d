"""TNTP files: networks, trips and flows as in the collection of the Transportation Networks for Research Core Team.

https://github.com/bstabler/TransportationNetworks
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from vkssp.assignment.delays import BPR, Floats
from vkssp.assignment.demand import checked_table
from vkssp.assignment.network import TrafficNetwork
from vkssp.checks import instance, number_of, path_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.files import atomic_write
from vkssp.memory import require

# Columns of the lines of a network.
_COLUMNS = (
    "init_node",
    "term_node",
    "capacity",
    "length",
    "free_flow_time",
    "b",
    "power",
    "speed",
    "toll",
    "link_type",
)
# Most digits of a whole number, and bytes for each node.
_DIGITS, _NODE_BYTES = 18, 128
_CAPACITY, _LENGTH, _FREE_TIME, _B, _POWER, _TOLL = 2, 3, 4, 5, 6, 8


def read_network(
    path: str | Path, *, toll_weight: float = 0.0, length_weight: float = 0.0, nodes: str | Path | None = None
) -> TrafficNetwork:
    """Read a network from a TNTP file.

    Nodes below ``<FIRST THRU NODE>`` begin and end trips, and no path leads through them. Nodes and zones keep their
    numbers, from 1 on, as names.

    Parameters
    ----------
    path : str or Path
        Name of the file, usually ending in _net.tntp.
    toll_weight, length_weight : float
        Time that a traveller gives for a unit of toll, and for a unit of length: what arcs cost besides their time.
    nodes : str or Path, optional
        Name of a file with the coordinates of nodes, usually ending in _node.tntp.

    Raises
    ------
    FormatError
        If the file cannot be read or is not a network; the message names the line.
    QueryError
        If a weight is no number from 0 on.
    """
    weights = []
    for name, given in (("toll_weight", toll_weight), ("length_weight", length_weight)):
        weight = number_of(given)
        if weight is None or not 0 <= weight < np.inf:
            raise QueryError(f"{name} is {shown(given)}; give a number from 0 on")
        weights.append(weight)
    path = path_of(path)
    with opened(path) as stream:
        lines = enumerate(stream, 1)
        about = _metadata(path, lines, ("NUMBER OF ZONES", "NUMBER OF NODES", "FIRST THRU NODE", "NUMBER OF LINKS"))
        num_zones, num_nodes, through, num_links = about
        rows: list[list[float]] = []
        for number, text in content(lines):
            fields = text.replace(";", " ").split()
            try:
                row = [_number(one) for one in fields[: len(_COLUMNS)]]
            except ValueError:
                raise FormatError(f"{path}, line {number}: {shown(text)} is not a line of numbers") from None
            if len(row) < _POWER + 1:
                raise FormatError(f"{path}, line {number} has {len(row)} numbers; {', '.join(_COLUMNS)} are expected")
            _check_link(f"{path}, line {number}", row, num_nodes)
            rows.append(row + [0.0] * (len(_COLUMNS) - len(row)))
    if len(rows) != num_links:
        raise FormatError(f"{path} has {len(rows)} links, and its head says {num_links}; it may be cut off")
    _require(path, num_nodes)
    if not 1 <= num_zones <= num_nodes or not 1 <= through <= num_nodes + 1:
        raise FormatError(f"{path} has {num_zones} zones and first thru node {through}, for {num_nodes} nodes")
    table = np.array(rows, np.float64).reshape(len(rows), len(_COLUMNS))
    ends = table[:, :2].astype(np.int64) - 1
    is_constant = (table[:, [_B, _POWER, _FREE_TIME]] == 0).any(axis=1)
    capacity = np.where(is_constant & (table[:, _CAPACITY] <= 0), 1.0, table[:, _CAPACITY])
    return TrafficNetwork(
        num_nodes,
        ends[:, 0],
        ends[:, 1],
        BPR(table[:, _FREE_TIME], capacity, table[:, _B], table[:, _POWER]),
        zones=np.arange(num_zones),
        fixed=weights[0] * table[:, _TOLL] + weights[1] * table[:, _LENGTH],
        closed=np.arange(through - 1),
        node_names=np.arange(1, num_nodes + 1),
        zone_names=np.arange(1, num_zones + 1),
        length=table[:, _LENGTH],
        coordinates=None if nodes is None else _coordinates(path_of(nodes, "nodes"), num_nodes),
    )


def _coordinates(path: Path, num_nodes: int) -> Floats:
    """Return the coordinates of nodes in a file with a line for the names of columns: node, x, y."""
    points = np.full((num_nodes, 2), np.nan)
    with opened(path) as stream:
        for number, text in content(enumerate(stream, 1)):
            fields = text.replace(";", " ").split()
            if not fields or fields[0].lower() == "node":
                continue
            try:
                node, x, y = _whole(fields[0]), _number(fields[1]), _number(fields[2])
                if not 1 <= node <= num_nodes:
                    raise ValueError
            except (ValueError, IndexError):
                raise FormatError(f"{path}, line {number}: {shown(text)} is not node, x and y") from None
            points[node - 1] = x, y
    if np.isnan(points).any():
        raise FormatError(f"{path} has no coordinates of node {int(np.isnan(points).any(axis=1).argmax()) + 1}")
    return points


def _check_link(where: str, row: list[float], num_nodes: int) -> None:
    if not all(np.isfinite(row)) or min(row) < 0:
        raise FormatError(f"{where} has a number that is negative or not finite")
    for end in row[:2]:
        if end != int(end) or not 1 <= end <= num_nodes:
            raise FormatError(f"{where}: there is no node {end:g}; nodes go from 1 to {num_nodes}")
    if row[_CAPACITY] == 0 and row[_B] and row[_POWER] and row[_FREE_TIME]:
        raise FormatError(f"{where} has a capacity of 0; give a capacity, or 0 for b")


def read_trips(path: str | Path, network: TrafficNetwork | None = None) -> Any:
    """Read a demand from a TNTP file.

    Parameters
    ----------
    path : str or Path
        Name of the file, usually ending in _trips.tntp.
    network : TrafficNetwork, optional
        The network of the same zones.

    Returns
    -------
    scipy.sparse.csr_array
        Vehicles from each zone to each zone, shape (num_zones, num_zones), float64.

    Raises
    ------
    FormatError
        If the file cannot be read or is not a table of trips, or has other zones than the network.
    """
    from scipy import sparse

    path = path_of(path)
    if network is not None:
        instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files")
    origin, origins, counts = 0, [], []
    targets: list[int] = []
    amounts: list[float] = []
    with opened(path) as stream:
        lines = enumerate(stream, 1)
        (num_zones,) = _metadata(path, lines, ("NUMBER OF ZONES",))
        for number, text in content(lines):
            where = f"{path}, line {number}"
            if text[:6].lower() == "origin":
                origin = _zone(where, text[6:].strip(), num_zones)
                continue
            if not origin:
                raise FormatError(f"{where}: trips stand before the first line 'Origin N'")
            fields = text.replace(":", " ").replace(";", " ").split()
            if len(fields) % 2:
                raise FormatError(f"{where}: {shown(text)} is not 'zone : trips;' once or several times")
            try:
                ends, values = list(map(_whole, fields[::2])), list(map(_number, fields[1::2]))
            except ValueError:
                raise FormatError(f"{where}: {shown(text)} is not 'zone : trips;' once or several times") from None
            if ends and not 1 <= min(ends) <= max(ends) <= num_zones:
                raise FormatError(f"{where} has a zone that is not there; zones go from 1 to {num_zones}")
            if not all(0 <= value < np.inf for value in values):
                raise FormatError(f"{where} has trips that are negative or not finite")
            targets += ends
            amounts += values
            origins.append(origin)
            counts.append(len(ends))
    if network is not None and num_zones != network.num_zones:
        raise FormatError(
            f"{path} has {num_zones} zones, and the network {network.num_zones}; take files that belong together"
        )
    _require(path, num_zones)
    rows = np.repeat(np.array(origins, np.int64), np.array(counts, np.int64)) - 1
    ends_of = rows, np.array(targets, np.int64) - 1
    return sparse.coo_array((np.array(amounts), ends_of), shape=(num_zones, num_zones)).tocsr()


def _zone(where: str, text: str, num_zones: int) -> int:
    with suppress(ValueError):
        if 1 <= (zone := _whole(text)) <= num_zones:
            return zone
    raise FormatError(f"{where}: there is no zone {shown(text)}; zones go from 1 to {num_zones}")


def _whole(text: str) -> int:
    """Return a whole number of at most 18 digits, or raise `ValueError`."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise ValueError
    return int(text)


def _number(text: str) -> float:
    """Return a number, or raise `ValueError`; Python's numbers may have underscores between digits."""
    if "_" in text:
        raise ValueError
    return float(text)


def _require(path: Path, count: int) -> None:
    require(_NODE_BYTES * count, f"{path}: {count:,} nodes or zones", "correct the number in its head")


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """Open a text file to read it.

    Raises
    ------
    FormatError
        If it cannot be read; also while it is read.
    """
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as stream:
            yield stream
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error


def _metadata(path: Path, lines: Iterator[tuple[int, str]], names: tuple[str, ...]) -> list[int]:
    """Read lines up to the end of the metadata, and return the integers of some names."""
    found: dict[str, int] = {}
    for number, line in lines:
        name, mark, value = line.strip().removeprefix("<").partition(">")
        if name == "END OF METADATA":
            for wanted in names:
                if wanted not in found:
                    kind = "network" if len(names) > 1 else "file of trips"
                    raise FormatError(f"{path} has no <{wanted}> before <END OF METADATA>; give a {kind}")
            return [found[wanted] for wanted in names]
        if mark and name in names:
            try:
                found[name] = _whole(value.strip())
            except ValueError:
                told = shown(value.strip())
                raise FormatError(f"{path}, line {number}: {name} is {told}, which is no integer") from None
    raise FormatError(f"{path} has no line <END OF METADATA>; it is not a TNTP file")


def content(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("~"):
            yield number, text


def write_network(path: str | Path, network: TrafficNetwork) -> None:
    """Write a network to a TNTP file; fixed costs become tolls.

    Raises
    ------
    QueryError
        If its delay is no `BPR`, or its zones are not the first nodes, or its closed nodes are not.
    FormatError
        If the file cannot be written.
    """
    delay = instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files").delay
    if not isinstance(delay, BPR):
        raise QueryError(f"TNTP files have BPR delays only, not {type(delay).__name__}; write GMNS files")
    closed = network.closed
    if not np.array_equal(network.zones, np.arange(network.num_zones)) or not np.array_equal(
        closed, np.arange(len(closed))
    ):
        raise QueryError("TNTP files have zones and closed nodes before all other nodes; renumber the nodes")
    length = np.zeros(network.num_arcs) if network.length is None else network.length
    columns = [network.tail + 1, network.head + 1, delay.capacity, length, delay.free_time, delay.b, delay.power]
    with atomic_write(path, "w") as stream:
        stream.write(f"<NUMBER OF ZONES> {network.num_zones}\n<NUMBER OF NODES> {network.num_nodes}\n")
        stream.write(f"<FIRST THRU NODE> {len(closed) + 1}\n<NUMBER OF LINKS> {network.num_arcs}\n")
        stream.write("<END OF METADATA>\n\n~\t" + "\t".join(_COLUMNS) + "\t;\n")
        for row in zip(*(np.asarray(one).tolist() for one in columns), network.fixed.tolist(), strict=True):
            stream.write("\t" + "\t".join(map(repr, row[:-1])) + f"\t0\t{row[-1]!r}\t1\t;\n")


def write_trips(path: str | Path, demand: Any) -> None:
    """Write a demand, an array or a sparse matrix of shape (num_zones, num_zones), to a TNTP file.

    Raises
    ------
    QueryError
        If the demand has another shape, or has amounts that are no finite numbers from 0 on.
    FormatError
        If the file cannot be written.
    """
    matrix = checked_table(demand)
    with atomic_write(path, "w") as stream:
        stream.write(
            f"<NUMBER OF ZONES> {matrix.shape[0]}\n<TOTAL OD FLOW> {float(matrix.sum())!r}\n<END OF METADATA>\n"
        )
        for zone in range(matrix.shape[0]):
            here = slice(matrix.indptr[zone], matrix.indptr[zone + 1])
            if here.start < here.stop:
                pairs = zip((matrix.indices[here] + 1).tolist(), matrix.data[here].tolist(), strict=True)
                stream.write(f"\nOrigin {zone + 1}\n")
                stream.writelines(f"    {end} : {amount!r};\n" for end, amount in pairs)
