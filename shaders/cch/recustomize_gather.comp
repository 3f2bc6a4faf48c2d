// Partial customization: what paths over supernodes that are not listed contribute to arcs of those that are; see
// customize_basic_outside.comp. A workgroup takes some supernodes below a node, several invocations each of them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define WEIGHTS_ACCESS coherent
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
#include "affected.glsl"
#include "change.glsl"
layout(std430, binding = 8) readonly restrict buffer Below { WORDS below[]; };  // see supernodes_below in topology.py
#include "arc_between.glsl"

const uint LANES = 8;

layout(push_constant) uniform Push {
    uint num_nodes;
};

uint lighter(uint least, uint one, uint other) {
    if (one == UNREACHABLE || other == UNREACHABLE) return least;
    uint sum = extend(one, other);
    if (sum == UNREACHABLE) atomicMax(status.overflow, 1);
    return min(least, sum);
}

void process_below(uint node, uint entry, uint lane) {
    uint group = WORD(below, num_nodes + 1 + 2 * entry), low = WORD(below, num_nodes + 2 + 2 * entry);
    if (is_listed(group)) return;
    Supernode s = SUPERNODE(group);
    for (uint high = lane; high < low; high += LANES) {
        uint between = 2 * arc_between(node, WORD(ancestors, s.first_ancestor + high), high);
        uint up = UNREACHABLE, down = UNREACHABLE;
        for (uint place = 0; place < s.size; ++place) {
            uint row = first_arc_of(s, place), to_low = 2 * (row + low), to_high = 2 * (row + high);
            up = lighter(up, WEIGHT(to_low + 1), WEIGHT(to_high));
            down = lighter(down, WEIGHT(to_high + 1), WEIGHT(to_low));
        }
        if (up < WEIGHT(between)) atomicMin(WEIGHT(between), up);
        if (down < WEIGHT(between + 1)) atomicMin(WEIGHT(between + 1), down);
    }
}

void main() {
    uint each = WORKGROUP_SIZE / LANES, lane = gl_LocalInvocationIndex % LANES;
    for (uint chunk = gl_WorkGroupID.x; chunk < change.num_chunks; chunk += gl_NumWorkGroups.x) {
        uint word = change.first_chunk + 3 * chunk, node = change.words[word], end = change.words[word + 2];
        for (uint entry = change.words[word + 1] + gl_LocalInvocationIndex / LANES; entry < end; entry += each) {
            process_below(node, entry, lane);
        }
    }
    check_loops();
}
