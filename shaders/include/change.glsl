// Change of few weights: what the host says about it, and the listing of supernodes that hang on it. Needs affected.glsl.

layout(std430, binding = 7) readonly restrict buffer Change {
    uint number;          // of the change, from 1
    uint room;            // for arcs before the change
    uint num_supernodes;  // of the hierarchy
    uint num_given;       // supernodes whose weights of the graph may have changed, and all above them
    uint first_given;     // word of the first one
    uint num_chunks;      // parts of lists of supernodes below nodes
    uint first_chunk;     // word of the first one: the node, and the bounds of a part
    uint num_changed;     // arcs of the graph with other weights
    uint first_changed;   // word of the first one, and of its weight
    uint words[];         // first supernode of each level, and what is named above
} change;

// Return the number of arcs of a supernode.
uint arcs_of(Supernode s) {
    return first_arc_of(s, s.size) - s.first_arc;
}

// Whether a supernode is in the lists.
bool is_listed(uint group) {
    return listed[change.num_supernodes + group].x == change.number;
}

// Add a supernode to the list of its level, unless it is there.
void add_to_list(uint group) {
    if (is_listed(group) || atomicMax(listed[change.num_supernodes + group].x, change.number) == change.number) return;
    Supernode s = SUPERNODE(group);
    uint arcs = arcs_of(s), place = change.words[s.level] + atomicAdd(state.count[s.level], 1);
    uint first = atomicAdd(state.used, arcs);
    if (first + arcs > change.room) {
        atomicMax(state.gave_up, 1);
        first = 0;  // the results are not used
    }
    listed[place] = uvec2(group, first);
}
