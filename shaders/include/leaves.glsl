// Leaves of a hierarchy: nodes without arcs to others in sweeps. Marks a rank, or a column, as that of a leaf.
const uint LEAF = 0x80000000u;
