// Arcs of a path between the nodes that path_stride.comp has kept, with an invocation for each kept node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 1) readonly restrict buffer ParentArcs { uint parent_arc[]; };
layout(std430, binding = 2) readonly restrict buffer Marks { uint marks[]; };
layout(std430, binding = 3) coherent buffer Path {
    uint started, done, node, target, seed, length;
    uint path[];
};
layout(std430, binding = 4) writeonly restrict buffer Length { uint num_arcs; };

layout(push_constant) uniform Push {
    uint span;  // arcs between two kept nodes
};

void main() {
    if (done != 1) return;
    if (length == 0 && gl_GlobalInvocationID.x == 0) num_arcs = 0;
    for (uint i = gl_GlobalInvocationID.x; i < length; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint at = marks[i], count = 0;
        for (; count < span && at != node; ++count) {
            uint arc = parent_arc[at];
            path[i * span + count] = arc;
            at = PAIR(arcs_in, arc).x;
        }
        if (i + 1 == length) num_arcs = i * span + count;
    }
}
