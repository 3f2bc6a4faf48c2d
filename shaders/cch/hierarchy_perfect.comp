// Perfect customization: afterwards the weight of an arc is that of the shortest path between its ends, also of a path
// through nodes above. A dispatch processes all nodes of one depth; upper nodes come first. The shortest path from a
// node to an ancestor leaves the node and the nodes below it by one of the node's arcs, whose weight is known. It goes
// on between two ancestors, whose arc is already perfect.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "triangles.glsl"

void improve(uint word, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) {
        // A step inside a supernode would not see that there is a path at all.
        atomicMax(status.overflow, 1);
    } else if (sum < weight[word]) {
        atomicMin(weight[word], sum);
    }
}

void work_on(uint to_low, uint to_high, uint between) {
    uint rise = weight[between], fall = weight[between + 1];
    uint low_up = weight[to_low], low_down = weight[to_low + 1];
    uint high_up = weight[to_high], high_down = weight[to_high + 1];
    improve(to_high, low_up, rise);
    improve(to_high + 1, fall, low_down);
    improve(to_low, high_up, fall);
    improve(to_low + 1, rise, high_down);
}

void main() {
    deal_out(true);
}
