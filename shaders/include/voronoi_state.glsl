// What the search for the nearest sources tells from pass to pass, and the host; its twin is STATE in
// vkssp/engine/voronoi.py.

const uint MOST_PASSES = 33;  // paths have less than 2^32 nodes

struct Cells {
    uint changed;             // a node was hooked to another, with a lesser label
    uint moves[MOST_PASSES];  // of each pass of jumps: some pointer has not got to the end of its path
};
