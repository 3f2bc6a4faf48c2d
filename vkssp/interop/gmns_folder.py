"""Graphs from GMNS folders: networks as files of nodes and links, in the General Modeling Network Specification."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkssp.assignment.gmns import (
    LINKS,
    NODES,
    add_node,
    ends_of,
    free_minutes,
    leads_back,
    names_of,
    number_in,
    rows_of,
    units_of,
)
from vkssp.checks import path_of, shown
from vkssp.errors import FormatError
from vkssp.graph import Graph
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.interop.street_lines import StreetLines, joined_points, metres_along, points_of

_SHAPES = "geometry.csv"


def from_gmns(folder: str | Path) -> Graph:
    """Make a graph of the files node.csv and link.csv of a folder, with the shapes of links if it has them.

    Parameters
    ----------
    folder : str or Path
        The folder. Links take the minutes ``vdf_fftt``, or length by ``free_speed`` in the units that config.csv names;
        if neither is there for all links, weights are their lengths. ``directed`` is 0 for a link in both directions.
        Shapes are WKT in the column ``geometry`` of link.csv, or in geometry.csv by ``geometry_id``.

    Returns
    -------
    Graph
        Nodes have the names of node.csv, in its order. If all nodes have coordinates in degrees, the graph has
        `Streets`, so that routers take places on it, and `Streets.way` is the number of each arc's link, from 0.

    Raises
    ------
    FormatError
        If a file cannot be read; the message names the file and the line.

    Notes
    -----
    `vkssp.assignment.gmns.read_network` reads the same files as a network for an assignment of traffic.
    """
    folder = path_of(folder, "folder")
    position: dict[str, int] = {}
    coordinates = []
    for where, row in rows_of(folder / NODES, ("node_id",)):
        add_node(where, row, position)
        coordinates.append([number_in(where, row, column, np.nan) for column in ("y_coord", "x_coord")])
    ends, values, texts, shapes, both = _links(folder, position)
    minutes, length = np.array(values, np.float64).reshape(-1, 2).T
    units, per_unit = (minutes * 60.0, 1.0) if np.isfinite(minutes).all() else (length, 0.0)
    if not np.isfinite(units).all():
        at = int(np.argmin(np.isfinite(units)))
        path = folder / LINKS
        raise FormatError(f"{path} has neither a time nor a length for link {at + 1}; give either to all links")
    names = names_of(list(position))
    tail, head = np.array(ends, np.int64).reshape(-1, 2).T
    is_both = np.array(both, np.bool_).reshape(-1)
    degrees = np.array(coordinates, np.float64).reshape(-1, 2)
    if not (np.abs(degrees) <= (90.0, 180.0)).all():  # NaN is not
        back = np.flatnonzero(is_both & (tail != head))
        arcs = np.concatenate([tail, head[back]]), np.concatenate([head, tail[back]])
        return Graph.from_edges(*arcs, np.concatenate([units, units[back]]), num_nodes=len(names), names=names)
    lat, lon = np.rint(degrees / COORDINATE_SCALE).astype(np.int32).T
    first, points = _points(folder, shapes, lat, lon, tail, head)
    lines = StreetLines(
        tail,
        head,
        lat.copy(),
        lon.copy(),
        first,
        points,
        metres=metres_along(first, points),
        weights=np.stack([units, np.where(is_both, units, np.inf)], axis=1),
        ways=[(at,) for at in range(len(tail))],
        name=texts,
    )
    return lines.graph(per_unit, "auto", names)


def _links(
    folder: Path, position: dict[str, int]
) -> tuple[list[list[int]], list[list[float]], list[str], list[tuple[str, str]], list[bool]]:
    """Return ends, minutes and lengths (NaN if unknown), names and shapes of links, and whether each leads back."""
    path, units = folder / LINKS, units_of(folder)
    ends, values, names, shapes, both = [], [], [], [], []
    for where, row in rows_of(path, ("from_node_id", "to_node_id")):
        link = ends_of(where, row, position)
        length, minutes = (number_in(where, row, column, np.nan) for column in ("length", "vdf_fftt"))
        if np.isnan(minutes) and units is not None and number_in(where, row, "free_speed", 0.0) > 0:
            minutes = free_minutes(where, row, units)
        is_both = leads_back(where, row)
        ends.append(link)
        values.append([minutes, length])
        names.append(row.get("name", "").replace("\0", ""))
        shapes.append((row.get("geometry", ""), row.get("geometry_id", "")))
        both.append(is_both)
    return ends, values, names, shapes, both


def _points(
    folder: Path,
    shapes: list[tuple[str, str]],
    lat: npt.NDArray[np.int32],
    lon: npt.NDArray[np.int32],
    tail: npt.NDArray[np.int64],
    head: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the points of links from their tails to their heads, in 1e-7 degrees."""
    import shapely

    known: dict[str, str] = {}
    if any(key and not text for text, key in shapes) and (folder / _SHAPES).is_file():
        known = {
            row["geometry_id"]: row["geometry"] for _, row in rows_of(folder / _SHAPES, ("geometry_id", "geometry"))
        }
    texts = [text or known.get(key, "") for text, key in shapes]
    with np.errstate(invalid="ignore"):  # NaN is refused below
        found = shapely.from_wkt([text or None for text in texts], on_invalid="ignore")
    for at, text in enumerate(texts):
        line = found[at]
        if text and (line is None or line.geom_type != "LineString" or line.is_empty):
            raise FormatError(f"{folder / LINKS}: the geometry of link {at + 1} is {shown(text)}; give a LINESTRING")
    if not (np.abs(shapely.get_coordinates(found)) <= (180.0, 90.0)).all():
        raise FormatError(f"{folder / LINKS} has a geometry that is not in degrees; give longitude and latitude")
    places = np.stack([lat, lon], axis=1)
    return joined_points(*points_of(found), places[tail], places[head])
