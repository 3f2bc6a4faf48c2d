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
        // The arc stays unreachable, so the step inside a supernode would not find the path at all.
        atomicMax(status.overflow, 1);
    } else if (sum < weight[word]) {
        atomicMin(weight[word], sum);
    }
}

void process_triangle(uint to_low, uint to_high, uint between) {
    uint between_up = weight[between], between_down = weight[between + 1];
    uint low_up = weight[to_low], low_down = weight[to_low + 1];
    uint high_up = weight[to_high], high_down = weight[to_high + 1];
    improve(to_high, low_up, between_up);
    improve(to_high + 1, between_down, low_down);
    improve(to_low, high_up, between_down);
    improve(to_low + 1, between_up, high_down);
}

void main() {
    enumerate_triangles(true);
}
