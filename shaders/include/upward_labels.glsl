// Upward labels of a batch of searches: the distances that the upward searches leave to the sweep. The path from a
// seed to the root has at most one supernode of each level, so labels are found by level, seed and search. An
// invocation of the sweep reads those of four searches at once.

layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two, 4 at least

// Labels of one supernode in each of four searches: the rank of its first node, the number of its nodes, and the place
// of their first distance in label_distances[].
struct UpwardLabels {
    uvec4 first_node;
    uvec4 size;
    uvec4 first;
};

uint upward_labels_of(uint level, uint seed, uint seeds_each, uint search, uint num_searches) {
    return ((level * seeds_each + seed) * num_searches + search) / 4;
}
