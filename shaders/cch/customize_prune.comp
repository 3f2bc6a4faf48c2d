// Marking of the downward arcs that no sweep needs: those for which the path over another ancestor of the same list is
// as short. Each chain of such replacements ends, because the rest of the path to the node gets lighter or else begins
// farther down.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
// Sweeps read no arcs inside a supernode, so that a piece has those to the ancestors of its whole supernode alone.
#define PAIRED(s) SUPERNODE(supernode_of[s.first_node]).num_ancestors
#include "outside_pairs.glsl"
#ifdef LISTED
#define MARKS_BINDING 7
#else
#define MARKS_BINDING 6
#endif
layout(std430, binding = MARKS_BINDING) coherent buffer Marks { WORDS is_needless[]; };  // by arc

void process_pair(Supernode s, uint first, uint i, uint j, uint between) {
    uint up = WEIGHT(between), down = WEIGHT(between + 1);
    for (uint place = first; place < s.size; place += splits) {
        uint row = first_arc_of(s, place), to_low = row + i, to_high = row + j;
        uint low = WEIGHT(2 * to_low + 1), high = WEIGHT(2 * to_high + 1);
        if (low == UNREACHABLE || high == UNREACHABLE) continue;
        // Weights are perfect, so no sum is less than the arc that it is compared with.
        if (up != 0 && up <= low && low - up == high) MUTABLE_WORD(is_needless, to_low) = 1;
        if (down <= high && high - down == low) MUTABLE_WORD(is_needless, to_high) = 1;
    }
}

void main() {
    enumerate_pairs();
}
