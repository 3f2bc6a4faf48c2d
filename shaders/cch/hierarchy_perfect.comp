// Perfect customization: an arc weighs what the shortest way between its ends does, also one through nodes above. Of all
// nodes of one depth, those above before. The shortest way up to an ancestor first leaves what is below by one of the
// node's arcs, whose weight is known, and goes on between two ancestors, whose arc is perfect already.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "triangles.glsl"

void improve(uint word, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) {
        // Whoever goes a step inside a supernode would not see that there is a way at all.
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
