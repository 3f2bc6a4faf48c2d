"""Files of flows: tail, head, flow and cost of each arc as CSV or TNTP, or all of a run as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.arrays import brief
from vkssp.assignment import tntp
from vkssp.assignment.delays import Floats
from vkssp.assignment.equilibrium import Equilibrium
from vkssp.assignment.network import TrafficNetwork
from vkssp.checks import instance, path_of, shown
from vkssp.csv_file import csv_lines, csv_writer
from vkssp.errors import FormatError
from vkssp.files import atomic_write
from vkssp.npy_file import read_npz
from vkssp.npz_file import write_npz

_ENDINGS = (".csv", ".tntp", ".npz")
# Names of the arrays of a run: the digest, the flow, and each class's flow with its name behind this.
_DIGEST, _FLOW, _CLASS = "digest", "flow", "class_"


@dataclass(frozen=True, eq=False)
class SavedFlows:
    """Flows of a run, read from a file; see `vkssp.assignment.Equilibrium`.

    Attributes
    ----------
    flow : numpy.ndarray
        Flow of each arc in passenger car equivalents, all classes together, shape (num_arcs,), float64.
    class_flows : dict of str to numpy.ndarray
        Flow of each user class in vehicles, shape (num_arcs,), float64, by the names of classes.
    digest : str
        Digest of the arcs and the demand that the flows are of.
    """

    __repr__ = brief

    flow: Floats
    class_flows: dict[str, Floats]
    digest: str


def check_flows_ending(path: str | Path) -> None:
    """Raise `FormatError` unless flows can be written to a file of this name."""
    if path_of(path).suffix.lower() not in _ENDINGS:
        raise FormatError(f"cannot write flows to {path}: its name must end in {', '.join(_ENDINGS)}")


def write_flows(path: str | Path, found: Equilibrium) -> None:
    """Write flows and costs of arcs.

    Parameters
    ----------
    path : str or Path
        Name of the file. With .csv: columns tail, head, flow and cost, and one for each of several user classes, with
        the names of nodes; with .tntp: columns From, To, Volume and Cost, with nodes from 1 on; with
        .npz: all that a later run needs to go on.
    found : Equilibrium
        The flows.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    """
    check_flows_ending(path)
    instance(found, Equilibrium, "found", "give what equilibrium returns")
    if path_of(path).suffix.lower() == ".npz":
        arrays: dict[str, Any] = {_DIGEST: np.frombuffer(bytes.fromhex(found.digest), np.uint8), _FLOW: found.flow}
        arrays |= {_CLASS + name: flow for name, flow in found.class_flows.items()}
        with atomic_write(path) as stream:
            write_npz(stream, arrays)
        return
    names = _names(found.network, path)
    columns = [names[found.network.tail], names[found.network.head], found.flow, found.cost]
    if path_of(path).suffix.lower() == ".tntp":
        with atomic_write(path, "w") as stream:
            stream.write("From \tTo \tVolume \tCost \n")
            for row in zip(*(one.tolist() for one in columns), strict=True):
                stream.write(" \t".join(map(str, row)) + " \n")
        return
    classes = found.class_flows if len(found.class_flows) > 1 else {}
    with atomic_write(path, "w") as stream:
        lines = csv_writer(stream)
        lines.writerow(["tail", "head", "flow", "cost", *(f"flow_{name}" for name in classes)])
        lines.writerows(zip(*(one.tolist() for one in (*columns, *classes.values())), strict=True))


def _names(network: TrafficNetwork, path: str | Path) -> Any:
    """Return the names of nodes in a file: TNTP counts them from 1 on."""
    if path_of(path).suffix.lower() == ".tntp":
        return np.arange(1, network.num_nodes + 1)
    return network.node_names


def read_flows(path: str | Path, network: TrafficNetwork) -> SavedFlows | Floats:
    """Read flows that `write_flows` has written, or the flow of each arc in columns tail, head, flow and cost.

    Parameters
    ----------
    path : str or Path
        Name of the file, ending in .npz, .csv or .tntp. The first line of columns names them; arcs may come in any
        order, parallel ones in the network's.
    network : TrafficNetwork
        The network.

    Returns
    -------
    SavedFlows or numpy.ndarray
        Flows of a run, of an .npz file, or the flow of each arc, shape (num_arcs,), float64.

    Raises
    ------
    FormatError
        If the file cannot be read, or has not just the network's arcs.
    """
    path = path_of(path)
    instance(network, TrafficNetwork, "network", "make a TrafficNetwork, or read one from files")
    if path.suffix.lower() == ".npz":
        return _run(path, network.num_arcs)
    names = _names(network, path)
    ends = zip(names[network.tail].tolist(), names[network.head].tolist(), strict=True)
    arcs: dict[tuple[str, str], list[int]] = {}
    for arc, (tail, head) in enumerate(ends):
        arcs.setdefault((str(tail), str(head)), []).append(arc)
    for several in arcs.values():
        several.reverse()
    flow = np.full(network.num_arcs, np.nan)
    for number, fields in _lines(path):
        these = arcs.get((fields[0], fields[1]), []) if len(fields) >= 3 else []
        try:
            value = float(fields[2])
            if not these or not 0 <= value < np.inf:
                raise ValueError
        except (ValueError, IndexError):
            told = shown(" ".join(fields))
            raise FormatError(
                f"{path}, line {number}: {told} is not tail, head and flow of an arc that has none before"
            ) from None
        flow[these.pop()] = value
    if np.isnan(flow).any():
        raise FormatError(f"{path} has no flow of {int(np.isnan(flow).sum())} arcs; take flows of the same network")
    return flow


def _run(path: Path, num_arcs: int) -> SavedFlows:
    """Return the flows of a run."""
    try:
        arrays = read_npz(path)
        flow, digest = arrays.pop(_FLOW), arrays.pop(_DIGEST).tobytes().hex()
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise FormatError(f"{path} has no flows that can be read: it {error}") from error
    except KeyError as error:
        raise FormatError(f"{path} has no array {error}; take a file that an assignment has written") from None
    if not all(one.shape == (num_arcs,) and one.dtype == np.float64 for one in (flow, *arrays.values())):
        raise FormatError(f"{path} has flows of another network, not of {num_arcs} arcs")
    if not all((np.isfinite(one) & (one >= 0)).all() for one in (flow, *arrays.values())):
        raise FormatError(f"{path} has flows that are negative or not finite; it is damaged")
    return SavedFlows(flow, {name.removeprefix(_CLASS): one for name, one in arrays.items()}, digest)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line after the first."""
    if path.suffix.lower() == ".csv":
        with csv_lines(path) as lines:
            next(lines, None)
            for fields in lines:
                if fields:
                    yield lines.line_num, fields
        return
    with tntp.opened(path) as stream:
        rest = tntp.content(enumerate(stream, 1))
        next(rest, None)
        for number, text in rest:
            yield number, [field for field in text.replace(";", " ").split() if field != ":"]
