"""From places to routes: snapping, point-to-point queries, GeoJSON and maps."""
