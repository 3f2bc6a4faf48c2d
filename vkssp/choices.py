"""Words that arguments may be, and defaults: named here so that the command line knows them without other imports."""

#: Name that stands for the algorithm that fits the graph best; the default.
AUTO = "auto"
#: The graph's own weights, usually durations, and distances.
METRICS = ("duration", "distance")
#: Metrics of tables.
TABLE_METRICS = ("duration", "distance", "weight")
#: Numberings of nodes for searches, and reductions of graphs before searches.
ORDERS, REDUCTIONS = ("auto", "natural", "z", "landmarks", "hierarchy"), ("auto", "none", "full")
#: Bits of distances.
DISTANCE_BITS = (32, 64)
#: What a search may count: only its iterations, also its total work, or also the work of every iteration.
COUNTING = ("iterations", "totals", "trace")
#: Kinds of turns in a graph of an extract.
TURNS = ("none", "restrictions", "costs")
#: Profiles that ship with the package.
PROFILES = ("car", "bike", "foot")
#: Formats of graph files.
FORMATS = ("dimacs", "pace", "matrixmarket", "metis", "edge_list", "csv")
#: Metres to either side of a road that an isochrone covers.
DEFAULT_WIDTH_M = 50.0
#: Algorithms by name.
ALGORITHMS = (
    "bellman_ford",
    "bellman_ford_edge",
    "bellman_ford_subgroup",
    "block_resident",
    "crauser",
    "crauser_predecessors",
    "delta_step",
    "delta_step_array",
    "delta_step_buckets",
    "delta_step_subgroup",
    "dijkstra",
    "dijkstra_scan",
    "martin",
    "martin_predecessors",
    "near_far",
    "phast",
    "push_pull",
)
#: What map matching does where a trace has a gap, and its greatest plausible speed in km/h.
GAPS, MAX_SPEED_KMH = ("split", "ignore"), 180.0
#: Where a trip through places may begin, and where it may end, before it returns if it does.
SOURCES, DESTINATIONS = ("any", "first"), ("any", "last")
