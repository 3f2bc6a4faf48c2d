// Replacement of an arc of the hierarchy by the lower arcs of its triangles: by all pairs of arcs over a node below
// both ends that have the same weight together. Needs hierarchy.glsl and unpack_arcs.glsl.

const uint AT_ONCE = 4;  // supernodes whose reads overlap
// For each rank the start of the list of the supernodes that have it as ancestor; then these lists, each supernode with
// the place of the ancestor.
layout(std430, binding = 7) readonly restrict buffer Below { WORDS below[]; };

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;  // words of a slot's marks
    uint rounds;  // of this dispatch
    uint enough;  // arcs found and not replaced yet, from which on many workgroups continue
};

// Keep an arc that has been found, to be replaced later, see put_arc.
void keep_arc(uvec4 ends, uvec4 more);

// Return the place in a list of the ancestor with some depth, NONE if it is not there. Depths rise. A round of the search
// leaves an eighth of the list by reads that overlap, where a binary search would wait three times.
uint place_of(Supernode s, uint depth) {
    uint first = 0, count = s.num_ancestors;  // the place is not below `first`, and below `first + count` if anywhere
    while (count > 1) {
        uint step = (count + 7) / 8, parts = 0, there[7];
        for (uint i = 0; i < 7; ++i) {
            there[i] = WORD(ancestor_depth, s.first_ancestor + first + min((i + 1) * step, count - 1));
        }
        for (uint i = 0; i < 7; ++i) parts += uint((i + 1) * step < count && there[i] <= depth);
        first += parts * step;
        count = min(step, count - parts * step);
    }
    return count == 1 && WORD(ancestor_depth, s.first_ancestor + first) == depth ? first : NONE;
}

// Mark an arc; return whether it was not marked yet.
bool is_first(uint word) {
    uint bit = 1 << word % 32;
    return (atomicOr(BITS_OF(word), bit) & bit) == 0;
}

// Replace an arc by the two arcs that join its ends to a node below both, if these have the same weight together.
void replace(uvec4 arc, uvec4 more, uint rank, uint group, uint low_depth, uint to_low, uint to_high) {
    bool is_up = arc.z % 2 == 0;
    uint down = 2 * (is_up ? to_low : to_high) + 1, up = 2 * (is_up ? to_high : to_low), sum = more.z;
    uint first = WEIGHT(down), second = WEIGHT(up);
    if (first > sum || second != sum - first) return;
    bool is_first_down = is_first(down), is_first_up = is_first(up);
    uint begin_depth = is_up ? low_depth : more.y, end_depth = is_up ? more.y : low_depth;
    if (is_first_down) {
        keep_arc(uvec4(rank, is_up ? arc.x : arc.y, down, arc.w), uvec4(group, begin_depth, first, 0));
    }
    if (is_first_up) {
        keep_arc(uvec4(rank, is_up ? arc.y : arc.x, up, arc.w + first), uvec4(group, end_depth, second, 0));
    }
}

// Replace an arc through the nodes of a supernode that has the lower end in its list.
void replace_through(uvec4 arc, uvec4 more, uint low_depth, uint group, uint to_low) {
    Supernode s = SUPERNODE(group);
    uint column = NONE;
    for (uint i = 0; i < s.size; ++i) {
        uint row = first_arc_of(s, i);
        if (WEIGHT(2 * (row + to_low) + (arc.z % 2 == 0 ? 1 : 0)) > more.z) continue;
        if (column == NONE) column = place_of(s, more.y);
        if (column == NONE) break;
        replace(arc, more, s.first_node + i, group, low_depth, row + to_low, row + column);
    }
}

void unpack(uvec4 arc, uvec4 more, uint lane, uint lanes) {
    uint low = arc.x, high = arc.y, depth = more.y;
    uint k = WORD(below, low) + lane, end = WORD(below, low + 1);
    Supernode s = SUPERNODE(more.x);
    uint place = low - s.first_node, low_depth = s.depth + place;
    if (place + 1 + lane < s.size) {
        uint column = high >= s.first_node ? s.num_ancestors + high - s.first_node : place_of(s, depth);
        for (uint i = place + 1 + lane; i < s.size; i += lanes) {
            uint row = first_arc_of(s, i);
            replace(arc, more, s.first_node + i, more.x, low_depth, row + s.num_ancestors + place, row + column);
        }
    }
    for (; k < end; k += AT_ONCE * lanes) {
        // The reads of the test that excludes most supernodes; those of several supernodes overlap.
        uint group[AT_ONCE], to_low[AT_ONCE], first[AT_ONCE];
        for (uint i = 0; i < AT_ONCE; ++i) {
            uint entry = num_nodes + 1 + 2 * min(k + i * lanes, end - 1);
            group[i] = WORD(below, entry);
            to_low[i] = WORD(below, entry + 1);
        }
        for (uint i = 0; i < AT_ONCE; ++i) {
            uint word = 2 * (SUPERNODE(group[i]).first_arc + to_low[i]) + (arc.z % 2 == 0 ? 1 : 0);
            first[i] = SUPERNODE(group[i]).size > 1 ? 0 : WEIGHT(word);
        }
        for (uint i = 0; i < AT_ONCE && k + i * lanes < end; ++i) {
            if (first[i] <= more.z) replace_through(arc, more, low_depth, group[i], to_low[i]);
        }
    }
}
