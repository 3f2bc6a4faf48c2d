"""Service areas of places: the nodes and the parts of streets to which each place is the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import choice, whole_number
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.metric import Unit
from vkssp.route import Place
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.places import LatLon, ending_points, listed_places, place_of, starting_points
from vkssp.routing.service_areas_file import features, source_features, street_features, write_service_areas
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import Begun, begun_streets
from vkssp.routing.voronoi import StreetCells, street_cells
from vkssp.solver.nearest import NearestSources
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver


@dataclass(frozen=True, eq=False)
class ServiceAreas:
    """Service areas of some places: each node and each part of a street belongs to the nearest place.

    Attributes
    ----------
    places : tuple of Place
        The places, with the points on streets that they were snapped to.
    nodes : NearestSources
        For each node the nearest place, by its number, and the weight of the path from it or, if `reverse`, to it.
    unit : Unit
        The unit of weights.
    limit : int
        The largest weight of a path; 2**32 - 1 if there is no limit.
    reverse : bool
        Whether paths lead to the places, not from them.
    """

    places: tuple[Place, ...]
    nodes: NearestSources
    unit: Unit
    limit: int
    _index: StreetIndex = field(repr=False)
    _begun: tuple[tuple[int, Begun], ...] = field(repr=False)
    reverse: bool = False

    def __repr__(self) -> str:
        """Return the numbers of places and nodes in one line."""
        served, count = np.count_nonzero(self.source != UNREACHABLE), len(self.source)
        return f"ServiceAreas({len(self.places)} places, {served:,} of {count:,} nodes{', reverse' * self.reverse})"

    def _repr_html_(self) -> str | None:
        """Return a drawing of streets and places for notebooks."""
        return drawing([self.features(), self.features("sources")], repr(self))

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that paths minimize."""
        return self._index.graph

    @property
    def source(self) -> Uint32s:
        """The number of the place that serves each node, 2**32 - 1 if none does; shape (num_nodes,), uint32."""
        return self.nodes.source

    @property
    def values(self) -> npt.NDArray[Any]:
        """The distance of each node from its place, shape (num_nodes,).

        In seconds or metres, float32, NaN if no place serves the node; or in weights.
        """
        return self.unit.values(self.nodes.distance)

    @cached_property
    def streets(self) -> StreetCells:
        """The parts of streets that each place serves."""
        return street_cells(self._index, self.nodes, self._begun, self.limit, reverse=self.reverse)

    def polyline(self, number: int) -> npt.NDArray[np.float64]:
        """Return the points of a polyline of `streets`, latitude and longitude in degrees, shape (k, 2).

        Longitudes are continuous across the 180th meridian, so they may exceed 180 degrees.

        Raises
        ------
        QueryError
            If there is no such polyline.
        """
        return self._index.polyline_points(whole_number(number, "number", 0, self._index.num_polylines - 1))

    def geojson(self, ids: Sequence[int] | Sequence[str] | None = None) -> dict[str, Any]:
        """Return streets and places as a GeoJSON FeatureCollection; see `write`."""
        return {"type": "FeatureCollection", "features": list(features(self, ids))}

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """Streets and places as a GeoJSON FeatureCollection; see `geojson`."""
        return self.geojson()

    def features(self, part: str = "streets", ids: Sequence[int] | Sequence[str] | None = None) -> Features:
        """Return streets or places as features.

        Parameters
        ----------
        part : str
            ``"streets"``: the parts of streets as lines, with ``source``, with ``duration_s``, ``distance_m`` or
            ``weight`` (of the path from the place to the nearest point of the line), and with ``stroke``, the colour
            of the place; ``"sources"``: the places.
        ids : sequence of int or str, optional
            Names of the places in the column ``source``; their numbers by default.

        Raises
        ------
        QueryError
            If there is no such part, or if there are not as many names as places.
        """
        make = street_features if choice(part, "part", ("streets", "sources")) == "streets" else source_features
        return make(self, ids)

    def to_geodataframe(self, part: str = "streets", ids: Sequence[int] | Sequence[str] | None = None) -> Any:
        """Return streets or places as a geopandas GeoDataFrame in EPSG:4326; see `features`.

        Raises
        ------
        QueryError
            As `features`, or if geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return self.features(part, ids).to_geodataframe()

    def write(self, path: str | Path, ids: Sequence[int] | Sequence[str] | None = None) -> None:
        """Write a file of streets or nodes; see `vkssp.routing.service_areas_file.write_service_areas`."""
        write_service_areas(path, self, ids)


def find_service_areas(
    solver: Solver | SolverPool,
    index: StreetIndex,
    unit: Unit,
    places: Sequence[LatLon],
    limit: int,
    reverse: bool = False,
) -> ServiceAreas:
    """Return the service areas of some places; see `vkssp.Router.service_areas`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched` or, if `reverse`, in that graph with every arc reversed, and keeps its
        weights until this returns.
    index : StreetIndex
        The streets.
    unit : Unit
        The unit of weights.
    places : sequence of (float, float)
        Latitude and longitude in degrees.
    limit : int
        The largest weight of a path; UNREACHABLE for no limit.
    reverse : bool
        Whether paths lead to the places, not from them.
    """
    points, find = (starting_points, find_starts) if not reverse else (ending_points, find_goals)
    where = listed_places(index, places, "source")
    snaps = points(index, where, [f"source {row}" for row in range(len(where))])
    starts = [find(index, snap) for snap in snaps]
    ends = [end for some in starts for end in some]
    if ends:
        nodes, weights = np.array([(end.node, end.weight) for end in ends], np.uint32).T
        found = solver.search_nearest(nodes, weights, limit)
        # Ends are in the order of the places, so the first of equally near ends belongs to the first place.
        owner = np.append(np.repeat(np.arange(len(starts)), [len(some) for some in starts]), UNREACHABLE)
        source = owner[np.minimum(found.source, len(ends))].astype(np.uint32)
        nearest = NearestSources(found.distance, source)
    else:  # areas to avoid shut all places in
        nowhere = np.full(index.graph.num_nodes, UNREACHABLE, np.uint32)
        nearest = NearestSources(nowhere, nowhere)
    each = ((number, begun_streets(index, snap, reverse=reverse)) for number, snap in enumerate(snaps))
    begun = tuple((number, one) for number, some in each for one in some)
    snapped = tuple(place_of(index, place, snap) for place, snap in zip(where, snaps, strict=True))
    return ServiceAreas(snapped, nearest, unit, limit, index, begun, reverse)
