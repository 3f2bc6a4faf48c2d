// Perfect customization: afterwards the weight of an arc is that of the shortest path between its ends, also of a path
// through nodes above. Supernodes of upper levels come first. The shortest path from a node to an ancestor leaves the
// node and the nodes below it by one of the node's arcs, whose weight is known. It goes on between two nodes above,
// whose arc is already perfect: in this kernel two ancestors of the supernode.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "outside_pairs.glsl"

// Lower a weight, whose value is known, to the sum of two others.
void improve(uint word, uint known, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) {
        // The arc may stay unreachable, so that no search would find the path at all.
        atomicMax(status.overflow, 1);
    } else if (sum < known) {
        atomicMin(WEIGHT(word), sum);
    }
}

void process_pair(Supernode s, uint first, uint i, uint j, uint between) {
    uint up = WEIGHT(between), down = WEIGHT(between + 1);
    if (up == UNREACHABLE && down == UNREACHABLE) return;
    for (uint place = first; place < s.size; place += splits) {
        // The arcs of the node, each over the other one and the arc between the ancestors.
        uint row = first_arc_of(s, place), to_low = 2 * (row + i), to_high = 2 * (row + j);
        uint low_up = WEIGHT(to_low), low_down = WEIGHT(to_low + 1);
        uint high_up = WEIGHT(to_high), high_down = WEIGHT(to_high + 1);
        improve(to_high, high_up, low_up, up);
        improve(to_high + 1, high_down, down, low_down);
        improve(to_low, low_up, high_up, down);
        improve(to_low + 1, low_down, up, high_down);
    }
}

void main() {
    enumerate_pairs();
}
