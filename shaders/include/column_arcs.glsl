// Arcs to a column of rows: the places of ancestors in a tile, in quads of distances, and weights. A buffer has fewer
// than 2^32 bytes, and so 2^28 quads at most: above its place the first arc has the number of arcs, or one more than a
// record holds.
struct ColumnArcs {
    uvec4 first;
    uvec4 second;
};

const uint MOST_ARCS = 4, COUNT_SHIFT = 28;
