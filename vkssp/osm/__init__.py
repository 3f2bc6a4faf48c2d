"""OpenStreetMap extracts to graphs."""
