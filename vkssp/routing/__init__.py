"""Routing between places on a map: snapping, routes, isochrones, tables, assignments, GeoJSON and maps."""
