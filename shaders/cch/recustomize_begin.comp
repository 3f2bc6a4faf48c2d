// Beginning of a partial customization: changes weights of the graph, lists the supernodes that have them and all above,
// and forgets their weights. Each has a workgroup.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define WEIGHTS_ACCESS coherent
#include "weights.glsl"
#include "affected.glsl"
#include "change.glsl"

void note_part(uint group, uint first) {
}

layout(std430, binding = 8) writeonly restrict buffer Given { uint given[]; };  // weights of the graph's arcs

void main() {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < change.num_changed; i += stride) {
        uint word = change.first_changed + 2 * i;
        given[change.words[word]] = change.words[word + 1];
    }
    for (uint g = gl_WorkGroupID.x; g < change.num_given; g += gl_NumWorkGroups.x) {
        uint group = change.words[change.first_given + g];
        if (gl_LocalInvocationIndex == 0) add_to_list(group);
        Supernode s = SUPERNODE(group);
        for (uint i = gl_LocalInvocationIndex; i < 2 * arcs_of(s); i += WORKGROUP_SIZE) {
            WEIGHT(2 * s.first_arc + i) = UNREACHABLE;
        }
    }
    check_loops();
}
