// Packing of the downward arcs to nodes, as sweeps read them. Needs the weights, ancestors and marks.

#ifndef RANGES_BINDING
#define RANGES_BINDING 8
#endif
// First arc, which does not change, and number of arcs of each node.
layout(std430, binding = RANGES_BINDING) restrict buffer Ranges { uvec2 ranges[]; };
layout(std430, binding = RANGES_BINDING + 1) restrict buffer Arcs { uvec2 arcs[]; };

// Write the arcs to a node at a place in a supernode, or a piece of one, that sweeps need.
void pack_arcs(Supernode s, uint place) {
    uint node = s.first_node + place, first_arc = first_arc_of(s, place), first = MUTABLE_PAIR(ranges, node).x, kept = 0;
    uint outside = SUPERNODE(supernode_of[node]).num_ancestors;
    for (uint j = 0; j < outside; ++j) {
        uint down = WEIGHT(2 * (first_arc + j) + 1);
        if (down == UNREACHABLE || WORD(is_needless, first_arc + j) != 0) continue;
        MUTABLE_PAIR(arcs, first + kept) = uvec2(WORD(ancestors, s.first_ancestor + j), down);
        ++kept;
    }
    MUTABLE_PAIR(ranges, node).y = kept;
}
