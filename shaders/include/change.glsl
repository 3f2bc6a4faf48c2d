// Change of few weights: what the host says about it, and a list of supernodes that depend on it. Needs affected.glsl.

layout(std430, binding = 7) readonly restrict buffer Change {
    uint number;          // of the change, from 1
    uint room;            // for arcs before the change
    uint first_mark;      // place in `listed` of what is there for supernodes
    uint num_given;       // supernodes whose weights of the graph may have changed, and all above them
    uint first_given;     // word of the first one
    uint num_chunks;      // parts of the lists of supernodes below their nodes
    uint first_chunk;     // word of the first number: of chunks of each of these supernodes and those before it
    uint num_changed;     // arcs of the graph with other weights
    uint first_changed;   // word of the first one, and of its weight
    uint first_level;     // word of the first level: the first step of each
    uint words[];         // place of the first supernode of each step in `listed`, and what is named above
} change;

// Return the number of arcs of a supernode.
uint arcs_of(Supernode s) {
    return first_arc_of(s, s.size) - s.first_arc;
}

// Whether a supernode is in the lists.
bool is_listed(uint group) {
    return listed[change.first_mark + group].x == change.number;
}

// Called for each part that is added to a list: a supernode or piece, and where its arcs begin among the weights before
// the change.
void note_part(uint group, uint first);

// Add a supernode that is not divided, or a piece of one, to the list of a step.
void add_part(uint group, uint step) {
    Supernode s = SUPERNODE(group);
    uint arcs = arcs_of(s), place = change.words[step] + atomicAdd(state.count[step], 1);
    uint first = atomicAdd(state.used, arcs);
    if (first + arcs > change.room) {
        atomicMax(state.gave_up, 1);
        first = 0;  // the results are not used
    } else {
        note_part(group, first);
    }
    listed[place] = uvec2(group, first);
}

// Add a supernode to the lists, unless it is there.
void add_to_list(uint group) {
    uint mark = change.first_mark + group;
    if (is_listed(group) || atomicMax(listed[mark].x, change.number) == change.number) return;
    Supernode s = SUPERNODE(group);
    uint step = change.words[change.first_level + s.level], piece = listed[mark].y;
    if (piece == 0) {
        add_part(group, step);
        return;
    }
    for (uint place = 0; place < s.size; ++step) {
        add_part(piece, step);
        place += SUPERNODE(piece).size;
        ++piece;
    }
}
