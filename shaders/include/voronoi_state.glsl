// State of the computation of Voronoi cells, for the next pass and the host; the host's twin is STATE in
// vkssp/engine/voronoi.py.

const uint MOST_PASSES = 33;  // paths have less than 2^32 nodes

struct VoronoiState {
    uint changed;             // whether a node was hooked to a parent with a lesser label
    uint moves[MOST_PASSES];  // by pass of jumps: whether a pointer has not reached the end of its path
};
