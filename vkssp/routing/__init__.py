"""Routing between places on a map: snapping, routes, isochrones, tables, service areas, GeoJSON and maps."""
