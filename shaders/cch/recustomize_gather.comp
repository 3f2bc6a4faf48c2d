// Partial customization: what paths over supernodes that are not listed contribute to arcs of those that are; see
// customize_basic_outside.comp. A workgroup takes a chunk of the lists of supernodes below the nodes of a supernode,
// several invocations each entry.
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

void note_part(uint group, uint first) {
}

layout(std430, binding = 8) readonly restrict buffer Below { WORDS below[]; };  // see supernodes_below in topology.py
#include "arc_between.glsl"

const uint LANES = 8;
const uint CHUNK = 16;  // the twin of _CHUNK in vkssp/cch/recustomized.py

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

// Return the place of the supernode among the given ones that a chunk belongs to.
uint given_of(uint chunk) {
    uint first = 0, last = change.num_given - 1;
    while (first < last) {
        uint middle = (first + last) / 2;
        if (change.words[change.first_chunk + middle] <= chunk) first = middle + 1;
        else last = middle;
    }
    return first;
}

// Return the node of a supernode whose list an entry belongs to.
uint node_of(Supernode s, uint entry) {
    uint first = s.first_node, last = s.first_node + s.size;
    while (first + 1 < last) {
        uint middle = (first + last) / 2;
        if (WORD(below, middle) <= entry) first = middle;
        else last = middle;
    }
    return first;
}

void main() {
    uint each = WORKGROUP_SIZE / LANES, lane = gl_LocalInvocationIndex % LANES;
    for (uint chunk = gl_WorkGroupID.x; chunk < change.num_chunks; chunk += gl_NumWorkGroups.x) {
        uint g = given_of(chunk), before = g == 0 ? 0 : change.words[change.first_chunk + g - 1];
        Supernode s = SUPERNODE(change.words[change.first_given + g]);
        uint first = WORD(below, s.first_node) + CHUNK * (chunk - before);
        uint end = min(first + CHUNK, WORD(below, s.first_node + s.size));
        for (uint entry = first + gl_LocalInvocationIndex / LANES; entry < end; entry += each) {
            process_below(node_of(s, entry), entry, lane);
        }
    }
    check_loops();
}
