// Beginning of a partial customization: lists the supernodes whose weights of the graph may have changed and all above
// them, and forgets their weights. Each has a workgroup.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 3) coherent buffer Weights { uint weight[]; };  // of each arc: up, down
#include "affected.glsl"
#include "change.glsl"

void main() {
    for (uint g = gl_WorkGroupID.x; g < change.num_given; g += gl_NumWorkGroups.x) {
        uint group = change.words[change.first_given + g];
        if (gl_LocalInvocationIndex == 0) add_to_list(group);
        Supernode s = supernodes[group];
        for (uint i = gl_LocalInvocationIndex; i < 2 * arcs_of(s); i += WORKGROUP_SIZE) {
            weight[2 * s.first_arc + i] = UNREACHABLE;
        }
    }
    check_loops();
}
