// Nodes that a batch sweeps, in the order of sweeps: their rows in tiles, which are their ranks unless only some nodes
// have rows, and what of their arcs lies side by side. See vkssp/batch/sweeps.py.

layout(constant_id = 3) const uint ARE_SOME = 0;  // whether only some nodes have rows

const uint RECORD_ARCS = AT_ONCE;  // arcs of a node in its record
// Parts of a word of a node: the number of its arcs, and above it its level. A hierarchy has 8,192 levels at most.
const uint LEVEL_SHIFT = 16, COUNT_MASK = 0xFFFF;
