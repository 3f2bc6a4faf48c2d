"""Storage of a graph in one file: an uncompressed .npz archive, which numpy alone can read, with checksums."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import no_file, path_of, shown
from vkssp.cores import run_all
from vkssp.errors import FormatError, GraphError
from vkssp.files import atomic_write, check_ending
from vkssp.graph.basemap import Basemap
from vkssp.graph.hierarchy import Hierarchy
from vkssp.graph.streets import Streets
from vkssp.memory import require
from vkssp.npy_file import read_npy
from vkssp.npz_file import write_npz

if TYPE_CHECKING:
    from vkssp.graph.graph import Graph

_FORMAT = "vkssp graph"
#: Graphs with turns have the second version, because a reader without support for turns would find forbidden routes.
_VERSION, _VERSION_WITH_TURNS = 1, 2
#: Graphs of real weights, or with names of nodes, have the third version, because other readers would take units for
#: weights, and positions for names.
_VERSION_WITH_UNITS = 3
# Graphs with a hierarchy or a basemap need no version of their own: results are the same without, and a reader without
# support for them ignores arrays with unknown names.
_HIERARCHY, _BASEMAP = "hierarchy_", "basemap_"
#: Bytes of a file that is worth more than one core.
LARGE = 16 << 20
_CORE = ("first_out", "head", "weight")
_COORDINATES = ("lat", "lon")
_NAMES_OF_NODES = "names"
_TURNS = ("junction", "turn")
_OPTIONAL = Streets.PER_ARC_OR_NONE + Streets.PER_NODE_OR_NONE + Streets.SHARED_OR_NONE
#: Names of all arrays that a saved graph may have.
_NAMES = frozenset(
    (
        *_CORE,
        *_COORDINATES,
        _NAMES_OF_NODES,
        *(f"streets_{name}" for name in (*Streets.PER_ARC, *Streets.SHARED, *_OPTIONAL, "names")),
        *(f"{_HIERARCHY}{name}" for name in Hierarchy.ARRAYS),
        *(f"{_BASEMAP}{name}" for name in (*Basemap.DTYPES, "place_names")),
    )
)


def save_graph(graph: Graph, path: str | Path) -> None:
    """Write a graph to one file; see `Graph.save`."""
    check_ending(path, "a saved graph")
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in _CORE}
    header: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    if graph.lat is not None:
        arrays.update({name: getattr(graph, name) for name in _COORDINATES})
    if graph.streets is not None:
        streets = graph.streets
        arrays.update({f"streets_{name}": getattr(streets, name) for name in Streets.PER_ARC + Streets.SHARED})
        known = [name for name in _OPTIONAL if getattr(streets, name) is not None]
        arrays.update({f"streets_{name}": getattr(streets, name) for name in known})
        if set(known) & set(_TURNS):
            header["version"] = _VERSION_WITH_TURNS
        arrays["streets_names"] = _block_of(streets.names)
        if streets.basemap is not None:
            arrays.update({f"{_BASEMAP}{name}": getattr(streets.basemap, name) for name in Basemap.DTYPES})
            arrays[f"{_BASEMAP}place_names"] = _block_of(streets.basemap.place_names)
            header["surrounded"] = streets.basemap.surrounded
        header["seconds_per_weight"] = streets.seconds_per_weight
        header |= {"weight_name": streets.weight_name, "class_names": streets.class_names}
        if streets.ellipsoid:
            header["ellipsoid"] = True
        header |= {"source_names": streets.source_names}
    if graph.hierarchy is not None:
        arrays.update({f"{_HIERARCHY}{name}": getattr(graph.hierarchy, name) for name in Hierarchy.ARRAYS})
    if graph.names is not None:
        arrays[_NAMES_OF_NODES] = graph.names if graph.names.dtype == np.int64 else _packed(graph.names)
    if graph.scale is not None or graph.names is not None:
        header |= {"version": _VERSION_WITH_UNITS, "scale": graph.scale, "weight_error": graph.weight_error}
    if graph.max_weight_error < math.inf:  # which JSON does not have
        header["max_weight_error"] = graph.max_weight_error
    header["arrays"] = sorted(arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with atomic_write(path) as stream:
        write_npz(stream, arrays)


def load_graph(path: str | Path, make: Callable[..., Graph]) -> Graph:
    """Read a graph that `save_graph` wrote; see `Graph.load`.

    Parameters
    ----------
    path : str or Path
        The file.
    make : callable
        Makes a graph from its fields, in their order, with all checks.
    """
    source = path_of(path)
    try:
        with source.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise FormatError(f"{source} is not a saved graph, or truncated; make one with 'vkssp import'")
            with zipfile.ZipFile(stream) as archive:
                arrays, header = _unpack(archive, source)
    except (FormatError, MemoryError):
        raise
    except FileNotFoundError:
        raise no_file(source) from None
    except OSError as error:
        raise FormatError(f"cannot read {source}: {error.strerror or error}") from error
    # zipfile and json raise many kinds of errors for damaged bytes.
    except Exception as error:
        raise FormatError(f"{source} is not a saved graph, or damaged ({error}); import it again") from error
    try:
        streets = _streets_from(arrays, header) if "streets_length" in arrays else None
        hierarchy = None
        if any(name.startswith(_HIERARCHY) for name in arrays):
            hierarchy = Hierarchy(*(arrays[f"{_HIERARCHY}{name}"] for name in Hierarchy.ARRAYS))
        core = (arrays[name] for name in _CORE)
        units = header.get("scale"), header.get("weight_error", 0.0)
        names, most = arrays.get(_NAMES_OF_NODES), header.get("max_weight_error")
        if names is not None and names.dtype != np.int64:
            names = _unpacked(names)
        return make(*core, arrays.get("lat"), arrays.get("lon"), streets, hierarchy, *units, names, most)
    except (GraphError, KeyError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{source} is damaged ({error}); import it again") from error


def _unpack(archive: zipfile.ZipFile, source: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and the header of an archive; each array's checksum is verified as it is read."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if "header" not in members:
        raise FormatError(f"{source} is not a graph saved by vkssp; make one with 'vkssp import'")
    if len(members) < len(archive.infolist()):
        raise FormatError(f"{source} is damaged (two of its parts have the same name); import it again")
    # Compressed members are refused, so that a small file cannot hold a large graph.
    if any(m.compress_type != zipfile.ZIP_STORED or m.compress_size != m.file_size for m in members.values()):
        raise FormatError(f"{source} was packed by another program, or damaged; import it again")
    size = sum(member.file_size for member in members.values())
    if size > source.stat().st_size:
        raise FormatError(f"{source} is damaged (it is smaller than what it holds); import it again")
    require(size, f"{source}: a graph of {size / 2**30:.1f} GiB")
    header = json.loads(_text(_array(archive, members.pop("header")), "header"))
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise FormatError(f"{source} is not a graph saved by vkssp; make one with 'vkssp import'")
    if header.get("version") not in range(_VERSION, _VERSION_WITH_UNITS + 1):
        version = header.get("version")
        raise FormatError(
            f"{source} has format version {version!r:.20}, this vkssp reads {_VERSION} to {_VERSION_WITH_UNITS}; "
            "import it again"
        )
    # The archive's directory has no checksum. Without this check an array with a damaged name would count as absent.
    missing = set(header.get("arrays", _CORE)) - set(members)
    if missing:
        raise FormatError(f"{source} is damaged ({', '.join(sorted(missing)):.60} missing); import it again")
    # Other names come from later versions; their graphs are the same without these arrays.
    known = {name: member for name, member in members.items() if name in _NAMES}
    # Large ones begin first, so that all cores are done at about the same time. They take turns at the file.
    ordered = sorted(known, key=lambda name: -known[name].file_size)
    with ExitStack() as opened:
        # One after the other: before Python 3.13, threads that open members move each other's place in the file.
        streams = [opened.enter_context(archive.open(known[name])) for name in ordered]
        tasks = [partial(_read, stream, known[name]) for stream, name in zip(streams, ordered, strict=True)]
        arrays = dict(zip(ordered, run_all(tasks) if size >= LARGE else [task() for task in tasks], strict=True))
    return {name: own(arrays[name]) for name in known}, header


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return an array of an archive."""
    with archive.open(member) as stream:
        return _read(stream, member)


def _read(stream: IO[bytes], member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return the array of an open member; raise `ValueError` before allocating memory if its header is wrong."""
    try:
        return read_npy(stream, member.file_size)
    except ValueError as error:
        raise ValueError(f"{member.filename} {error}") from None


def _text(array: npt.NDArray[Any], name: str) -> bytes:
    """Return the text that an array holds."""
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError(f"{name} has dtype {array.dtype} and {array.ndim} dimensions, and no bytes of a text")
    return array.tobytes()


def _packed(names: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return names as a list in JSON, in which lists are tuples, and objects bytes.

    Raises
    ------
    FormatError
        If a name is of another type.
    """

    def plain(name: Any) -> Any:
        if isinstance(name, tuple):
            return [plain(part) for part in name]
        if isinstance(name, bytes):
            return {"bytes": name.hex()}
        if isinstance(name, str | int | float):
            return name
        cure = "give numbers, texts, bytes or tuples of these for names, or leave names out"
        raise FormatError(f"a node is called {shown(name)}, which cannot be saved; {cure}")

    return np.frombuffer(json.dumps([plain(name) for name in names]).encode(), np.uint8)


def _unpacked(packed: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the names that `_packed` has packed, shape (num_nodes,), object."""

    def name_of(plain: Any) -> Any:
        if isinstance(plain, list):
            return tuple(name_of(part) for part in plain)
        return bytes.fromhex(plain["bytes"]) if isinstance(plain, dict) else plain

    names = json.loads(_text(packed, _NAMES_OF_NODES))
    if not isinstance(names, list):
        raise ValueError("names are no list")
    return np.fromiter(map(name_of, names), object, len(names))


def _block_of(names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    """Return texts as one block of UTF-8, in which each ends with a zero byte, which no OSM tag can contain."""
    return np.frombuffer("".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape"), np.uint8)


def _names_of(block: npt.NDArray[Any], name: str) -> tuple[str, ...]:
    """Return the texts that `_block_of` has joined."""
    return tuple(_text(block, name).decode("utf-8", "surrogateescape").split("\0")[:-1])


def _basemap_from(arrays: dict[str, Any], header: dict[str, Any]) -> Basemap | None:
    if not any(name.startswith(_BASEMAP) for name in arrays):
        return None
    values = {name: arrays[f"{_BASEMAP}{name}"] for name in Basemap.DTYPES}
    names = _names_of(arrays[f"{_BASEMAP}place_names"], "basemap.place_names")
    return Basemap(**values, surrounded=header["surrounded"], place_names=names)


def _streets_from(arrays: dict[str, Any], header: dict[str, Any]) -> Streets:
    values = {name: arrays[f"streets_{name}"] for name in Streets.PER_ARC + Streets.SHARED}
    values.update({name: arrays.get(f"streets_{name}") for name in _OPTIONAL})
    return Streets(
        **values,
        names=_names_of(arrays["streets_names"], "streets.names"),
        basemap=_basemap_from(arrays, header),
        seconds_per_weight=float(header["seconds_per_weight"]),
        weight_name=header.get("weight_name", ""),
        ellipsoid=header.get("ellipsoid", False),
        class_names=tuple(header.get("class_names", ())),
        source_names=tuple(header.get("source_names", ("profile",))),
    )
