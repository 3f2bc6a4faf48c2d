// Perfect customization: afterwards the weight of an arc is that of the shortest path between its ends, also of a path
// through nodes above. Supernodes of upper levels come first. The shortest path from a node to an ancestor leaves the
// node and the nodes below it by one of the node's arcs, whose weight is known. It goes on between two nodes above,
// whose arc is already perfect: in this kernel two ancestors of the supernode.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "outside_pairs.glsl"
#include "perfect_triangle.glsl"

void process_pair(Supernode s, uint i, uint j, uint between) {
    uint up = WEIGHT(between), down = WEIGHT(between + 1);
    if (up == UNREACHABLE && down == UNREACHABLE) return;
    for (uint place = 0; place < s.size; ++place) {
        uint row = first_arc_of(s, place);
        perfect(2 * (row + i), 2 * (row + j), up, down);
    }
}

void main() {
    enumerate_pairs();
}
