"""Description of the backend for NetworkX, which asks for it whenever it is imported; so it imports nothing itself."""

from __future__ import annotations

from typing import Any

#: Functions of NetworkX that the backend answers.
FUNCTIONS = (
    "all_pairs_all_shortest_paths",
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "all_shortest_paths",
    "average_shortest_path_length",
    "barycenter",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bellman_ford_predecessor_and_distance",
    "betweenness_centrality",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "center",
    "centroid",
    "closeness_centrality",
    "diameter",
    "dijkstra_path",
    "dijkstra_path_length",
    "dijkstra_predecessor_and_distance",
    "eccentricity",
    "edge_betweenness_centrality",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "global_efficiency",
    "goldberg_radzik",
    "harmonic_centrality",
    "harmonic_diameter",
    "has_path",
    "johnson",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "periphery",
    "predecessor",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "single_source_all_shortest_paths",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "voronoi_cells",
)


def get_info() -> dict[str, Any]:
    """Return what NetworkX wants to know of a backend: its functions and its default configuration."""
    return {
        "backend_name": "vkssp",
        "project": "vkssp",
        "package": "vkssp",
        "url": "https://github.com/vkssp/vkssp",
        "short_summary": "Shortest paths on any GPU that speaks Vulkan, or on all cores of the CPU.",
        "default_config": {"device": None},
        "functions": {name: {} for name in FUNCTIONS},
    }
