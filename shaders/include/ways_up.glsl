// What searches up leave to sweeps of many searches. On the way from a seed to the top there is one supernode of each
// level, so it is found by level, seed and search: the position of its first node, their number, and where in reached[]
// their distances are.

layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two

struct WayUp {
    uint first_node;
    uint size;
    uint first;
    uint padding;
};

uint way_up_of(uint level, uint seed, uint seeds_each, uint search, uint num_searches) {
    return (level * seeds_each + seed) * num_searches + search;
}
