// Shortest-path trees of a batch of searches, as the CPU's kernels make them. Each word of a tile of distances has
// others at the same place: the arc into the node, what goes through the node, and the state of its entry in the tree.

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;   // of a tile, a power of two, 4 at least
layout(constant_id = 3) const uint FLOW_WORDS = 1;  // of a flow

const uint NO_ARC = 0xFFFFFFFFu, UNREACHABLE = 0xFFFFFFFFu;
// A state: whether the node is a root, how many of the nodes after it have handed over, and how many there are.
const uint ROOT = 0x80000000u, ONE_ARRIVED = 0x10000u, ARRIVED = 0x7FFFu, AFTER = 0xFFFFu;

// Return the index of a word in the tiles.
uint place_of(uint row, uint search, uint num_rows) {
    return (search / SEARCHES * num_rows + row) * SEARCHES + search % SEARCHES;
}
