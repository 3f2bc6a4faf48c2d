// What searches up leave to sweeps of many searches. On the way from a seed to the top there is one supernode of each
// level, so it is found by level, seed and search; whoever sweeps looks at four searches at once.

layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two, 4 at least

// Of the supernodes on the way of four searches: positions of their first nodes, how many nodes they have, and where in
// reached[] the distances of these begin.
struct WaysUp {
    uvec4 first_node;
    uvec4 size;
    uvec4 first;
};

uint ways_up_of(uint level, uint seed, uint seeds_each, uint search, uint num_searches) {
    return ((level * seeds_each + seed) * num_searches + search) / 4;
}
