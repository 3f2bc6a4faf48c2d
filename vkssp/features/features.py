"""Features: shapes on a map with columns of values, as a layer of a file or a table of another library holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import ids_among, listed, named, shown
from vkssp.errors import QueryError
from vkssp.features.columns import Columns, checked_columns, column_of
from vkssp.features.places import pairs_of
from vkssp.features.shaped import Shaped
from vkssp.features.shapes import DECIMALS, GEOMETRY, Shapes, dots, lines_through, sequence_of
from vkssp.graph.csr import Uint32s, within
from vkssp.graph.names import names_in_file
from vkssp.graph.streets import COORDINATE_SCALE

if TYPE_CHECKING:
    from vkssp.graph import Graph

_POINT = 0
_GRAPH = "give a Graph, such as read_graph returns"


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """Shapes on a map with columns of values.

    Parameters
    ----------
    columns : mapping of str to array_like
        Values of each feature by the names of columns, numbers or texts, shape (k,) each; NaN and None are none.
    shapes : sequence of shapely geometries, optional
        The shapes, longitude and latitude in degrees on WGS 84, shape (k,); None for a table without shapes.
    name : str
        Name of the layer in files that have layers.

    Attributes
    ----------
    columns : dict of str to numpy.ndarray
        The columns.
    shapes : numpy.ndarray or None
        The shapes.
    name : str
        Name of the layer.
    places : numpy.ndarray or None
        For areas a point that stands for each, latitude and longitude in degrees, shape (k, 2), if there is one.

    Raises
    ------
    QueryError
        If a column is no array of numbers or texts, or if columns and shapes differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> from vkssp import Features
    >>> stops = Features.of_places([(42.51, 1.52), (42.54, 1.73)], {"riders": np.array([40, 7])})
    >>> stops
    Features('places', 2 Points: id, riders)
    >>> stops.__geo_interface__["features"][1]["geometry"]["coordinates"]
    (1.73, 42.54)
    """

    columns: Mapping[str, Any]
    shapes: Any = None
    name: str = "features"
    places: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check the arguments, and keep them as arrays."""
        if not isinstance(self.name, str) or not self.name:
            raise QueryError(f"name is {shown(self.name)}; give the name of the layer, a text")
        shapes = None if self.shapes is None else sequence_of(self.shapes)
        if isinstance(self.columns, Mapping) and shapes is not None and GEOMETRY in self.columns:
            raise QueryError(f"columns has {GEOMETRY!r}, which is the name of the shapes in tables; rename the column")
        first = next(iter(self.columns.values()), ()) if isinstance(self.columns, Mapping) else ()
        count = (len(first) if hasattr(first, "__len__") else 0) if shapes is None else len(shapes)
        object.__setattr__(self, "columns", checked_columns(self.columns, count))
        object.__setattr__(self, "shapes", shapes)

    @classmethod
    def of(cls, things: Any, name: str = "features") -> Features:
        """Return features of results, such as routes, isochrones, places or legs, with their properties as columns.

        Parameters
        ----------
        things : object or iterable of objects
            Objects with ``__geo_interface__``, such as what `Router` returns; one or several.
        name : str
            Name of the layer.

        Raises
        ------
        QueryError
            If something has no shape.
        """
        if isinstance(things, cls):
            return things
        given = getattr(things, "__geo_interface__", things)
        if isinstance(given, Mapping):
            features = given.get("features")
            things = features if isinstance(features, list | tuple) else [things]
        shapes, rows = [], list[dict[str, Any]]()
        for at, thing in enumerate(listed(things, "things", "objects with a shape, such as routes or isochrones")):
            shape, properties = _read(thing, f"things[{at}]")
            shapes.append(shape)
            rows.append(properties)
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({one: column_of([row.get(one) for row in rows]) for one in names}, shapes, name)

    @classmethod
    def of_nodes(cls, graph: Graph, columns: Columns | None = None, nodes: npt.ArrayLike | None = None) -> Features:
        """Return nodes of a graph as points, such as with their centrality.

        Parameters
        ----------
        graph : Graph
            The graph. If it has no coordinates, features have no shapes.
        columns : mapping of str to array_like, optional
            Values of each of the nodes.
        nodes : array_like, optional
            The nodes, by id or name, shape (k,); by default all nodes of the graph.

        Returns
        -------
        Features
            With the ids or names in the column ``node``, and OSM's in ``osm_node`` if the graph has them.
        """
        has_names = nodes is not None and getattr(graph, "names", None) is not None
        which = _ids(graph, "num_nodes", graph.index_of(nodes) if has_names else nodes, "nodes", "node")
        osm = {} if graph.streets is None or graph.streets.node is None else {"osm_node": graph.streets.node[which]}
        shapes = None if graph.lat is None or graph.lon is None else dots(graph.lat[which], graph.lon[which])
        return cls(
            {"node": _called(graph, which), **osm, **checked_columns(columns or {}, len(which))}, shapes, "nodes"
        )

    @classmethod
    def of_arcs(cls, graph: Graph, columns: Columns | None = None, arcs: npt.ArrayLike | None = None) -> Features:
        """Return arcs of a graph as lines, such as with their flows; in a two-way street two lines lie on each other.

        Parameters
        ----------
        graph : Graph
            The graph. If it has no coordinates, features have no shapes.
        columns : mapping of str to array_like, optional
            Values of each of the arcs.
        arcs : array_like, optional
            Their ids, shape (k,); by default all arcs of the graph.

        Returns
        -------
        Features
            With the columns ``arc``, ``tail``, ``head`` and ``weight``, and of an imported map ``way``, the id in
            OpenStreetMap, ``name`` and ``length_m``.
        """
        which = _ids(graph, "num_arcs", arcs, "arcs", "arc")
        tail, head = (_called(graph, nodes[which]) for nodes in (graph.tail, graph.head))
        told: dict[str, Any] = {"arc": which, "tail": tail, "head": head}
        told["weight"] = graph.units.sums(graph.weight[which])
        if graph.streets is not None:
            streets = graph.streets
            names = np.array(streets.names, object)
            told |= {"way": streets.way[which], "name": names[streets.name[which]], "length_m": streets.length[which]}
        return cls({**told, **checked_columns(columns or {}, len(which))}, _arc_lines(graph, which), "arcs")

    @classmethod
    def of_places(
        cls,
        places: Any,
        columns: Columns | None = None,
        ids: Sequence[int] | Sequence[str] | None = None,
        *,
        shapes: Any = None,
        name: str = "places",
    ) -> Features:
        """Return places as points, or the areas that they stand for, such as with their accessibility.

        Parameters
        ----------
        places : sequence of (float, float), GeoDataFrame, DataFrame or array
            The places, as `Router.table` takes them.
        columns : mapping of str to array_like, optional
            Values of each of the places.
        ids : sequence of int or str, optional
            Their names; by default their numbers from 0 on.
        shapes : sequence of shapely geometries, optional
            An area for each place.
        name : str
            Name of the layer.

        Returns
        -------
        Features
            With the names in the column ``id``.

        Raises
        ------
        QueryError
            If something is no place, or if there are not as many names, values or areas as places.
        """
        where = np.array(pairs_of(places), np.float64).reshape(-1, 2)
        known = np.arange(len(where)) if ids is None else np.array(named(ids, "ids"))
        for what, given in (("ids", known), ("shapes", shapes)):
            if given is not None and len(given) != len(where):
                raise QueryError(f"there are {len(given)} {what} for {len(where)} places; give one for each")
        told = {"id": known, **checked_columns(columns or {}, len(where))}
        return cls(told, dots(*where.T), name) if shapes is None else cls(told, shapes, name, where)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.shapes if self.shapes is not None else next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        """Return a short text."""
        kinds = " and ".join(sorted(self.kinds)) or "row"
        return f"Features({self.name!r}, {len(self):,} {kinds}s: {', '.join(self.columns)})"

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks, see `vkssp.features.drawing`; None without shapes, for the short text."""
        from vkssp.features.drawing import drawing

        return drawing([self], repr(self))

    @property
    def kinds(self) -> set[str]:
        """Types of the shapes, such as "Point"."""
        import shapely

        if self.shapes is None:
            return set()
        _, first = np.unique(shapely.get_type_id(self.shapes), return_index=True)
        return {one.geom_type for one in self.shapes[first].tolist() if one is not None}

    def table(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns, with ``lat`` and ``lon`` after the first one if the features are points or have a place.

        They are in degrees, with seven decimals.
        """
        import shapely

        where = self.places
        if where is None and self.shapes is not None and (shapely.get_type_id(self.shapes) == _POINT).all():
            where = np.stack([shapely.get_y(self.shapes), shapely.get_x(self.shapes)], axis=1)
        if where is None or not self.columns or {"lat", "lon"} & set(self.columns):
            return dict(self.columns)
        (name, first), *others = self.columns.items()
        lat, lon = where.round(DECIMALS).T
        return {name: first, "lat": lat, "lon": lon, **dict(others)}

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The features as a GeoJSON FeatureCollection (RFC 7946), longitude first."""
        from vkssp.features.geojson import features_of

        return {"type": "FeatureCollection", "features": list(features_of(self.columns, self.shapes))}

    def write(self, path: str | Path) -> None:
        """Write the features to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file. Its ending says what is written: .geojson or .json; GeoPackage (.gpkg), FlatGeobuf (.fgb),
            Shapefile (.shp, or .shp.zip for all of its files in one) and KML (.kml); GeoParquet (.parquet); GPX
            (.gpx), for points and lines; or, without shapes, .csv and .npy, with ``lat`` and ``lon`` of points.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known, or means a format that cannot hold the features.
        QueryError
            If a library that writes the format is not installed.
        """
        from vkssp.features.files import check_features_ending, write_layers

        check_features_ending(path, self.kinds, self.shapes is not None)
        write_layers(path, [self])

    def to_dataframe(self) -> Any:
        """Return the columns as a pandas DataFrame, with ``lat`` and ``lon`` of points.

        Raises
        ------
        QueryError
            If pandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        from vkssp.features.frames import dataframe

        return dataframe(self.table())

    def to_geodataframe(self) -> Any:
        """Return the columns and the shapes as a geopandas GeoDataFrame, in EPSG:4326.

        Raises
        ------
        QueryError
            If there are no shapes, or geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        from vkssp.features.frames import geodataframe

        if self.shapes is None:
            raise QueryError("the graph has no coordinates, so features have no shapes; take to_dataframe")
        return geodataframe(self.columns, self.shapes)

    def to_arrow(self) -> Any:
        """Return the columns and the shapes as a pyarrow Table, shapes as WKB of the extension type ``geoarrow.wkb``.

        Raises
        ------
        QueryError
            If pyarrow is not installed (``pip install 'vkssp[table]'``).
        """
        from vkssp.features.geoparquet import arrow_table

        return arrow_table(self.columns, self.shapes)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream of Arrow's C interface, by which polars, pyarrow, geopandas, duckdb and others take them."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _called(graph: Graph, nodes: Uint32s) -> Any:
    """Return nodes, given by position, as files call them."""
    return nodes if graph.names is None else names_in_file(graph.names[nodes])


def _ids(graph: Any, count: str, ids: npt.ArrayLike | None, name: str, what: str) -> npt.NDArray[np.uint32]:
    most = getattr(graph, count, None)
    if not isinstance(most, int) or not hasattr(graph, "weight"):
        raise QueryError(f"graph is {shown(graph)}; {_GRAPH}")
    return np.arange(most, dtype=np.uint32) if ids is None else ids_among(ids, name, what, most, QueryError)


def _read(thing: Any, name: str) -> tuple[Any, dict[str, Any]]:
    """Return the shape and the properties of an object with a shape."""
    import shapely

    if isinstance(thing, Shaped):
        return thing.geometry, thing.properties
    feature = getattr(thing, "__geo_interface__", thing)
    try:
        is_feature = feature["type"] == "Feature"
        properties = (feature.get("properties") or {}) if is_feature else {}
        geometry = feature["geometry"] if is_feature else feature
        return None if geometry is None else shapely.geometry.shape(geometry), dict(properties)
    except (TypeError, KeyError, ValueError, AttributeError, shapely.errors.ShapelyError) as error:
        raise QueryError(f"{name} is {shown(thing)}; give what has a shape, such as a Route or an Isochrone") from error


def _arc_lines(graph: Graph, arcs: npt.NDArray[np.uint32]) -> Shapes | None:
    """Return the lines of arcs, straight ones if the graph has no streets; None without coordinates."""
    streets = graph.streets
    if streets is None:
        if graph.lat is None or graph.lon is None:
            return None
        ends = np.stack([graph.tail[arcs], graph.head[arcs]], axis=1)
        points = np.stack([graph.lat[ends], graph.lon[ends]], axis=2).reshape(-1, 2)
        return lines_through(points, np.full(len(arcs), 2))
    bounds, line, backward = streets.polyline_first.astype(np.int64), streets.polyline[arcs], streets.backward[arcs]
    first, end = bounds[line], bounds[line + 1]
    count = end - first
    start, step = np.where(backward, end - 1, first), np.where(backward, -1, 1)
    places = np.repeat(start, count) + np.repeat(step, count) * within(count)
    return lines_through(np.asarray(streets.points[places] * COORDINATE_SCALE, np.float64), count)
