"""Base of results that are one feature: a shape with properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Shaped:
    """Result with a shape, which shapely, geopandas and others take as a GeoJSON feature."""

    if TYPE_CHECKING:

        @property
        def geometry(self) -> Any:
            """The shape as a shapely geometry, longitude and latitude in degrees."""

        @property
        def properties(self) -> dict[str, Any]:
            """What is known of it: numbers, texts, and None where something is not known."""

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The result as a GeoJSON feature (RFC 7946), longitude first, cut at the 180th meridian."""
        import shapely

        return {"type": "Feature", "properties": self.properties, "geometry": shapely.geometry.mapping(self.geometry)}
