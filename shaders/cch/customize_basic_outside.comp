// Basic customization: what paths over the nodes of supernodes contribute to the arcs between ancestors of these.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "outside_pairs.glsl"

uint lighter(uint least, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return least;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    return min(least, sum);
}

void process_pair(Supernode s, uint first, uint i, uint j, uint between) {
    uint up = UNREACHABLE, down = UNREACHABLE;
    for (uint place = first; place < s.size; place += splits) {
        uint row = first_arc_of(s, place), to_low = 2 * (row + i), to_high = 2 * (row + j);
        up = lighter(up, WEIGHT(to_low + 1), WEIGHT(to_high));
        down = lighter(down, WEIGHT(to_high + 1), WEIGHT(to_low));
    }
    if (up < WEIGHT(between)) atomicMin(WEIGHT(between), up);
    if (down < WEIGHT(between + 1)) atomicMin(WEIGHT(between + 1), down);
}

void main() {
    enumerate_pairs();
}
