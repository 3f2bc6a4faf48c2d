// Data that upward searches leave to the sweeps of many searches. Between a seed and the top there is one
// supernode of each level, so it is found by level, seed and search. A sweep looks at four searches at once.

layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two, 4 at least

// Supernodes of four upward searches: positions of their first nodes, numbers of their nodes, and where the distances
// of these begin in reached[].
struct WaysUp {
    uvec4 first_node;
    uvec4 size;
    uvec4 first;
};

uint ways_up_of(uint level, uint seed, uint seeds_each, uint search, uint num_searches) {
    return ((level * seeds_each + seed) * num_searches + search) / 4;
}
