// Distances of all nodes from the distances of the core. The record of a node names one or two core nodes and the
// weights from there (see vkssp/prepared/reduction.py). Records lie in the order of the nodes, so records are read and
// distances written side by side. Only the distances of the core are gathered, and the core is small. The kernel does
// nothing while the search in the core goes on.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "loop_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer CoreDistances { uint core_dist[]; };
layout(std430, binding = 1) readonly restrict buffer Records { uvec4 records[]; };  // core node, weight; and again
layout(std430, binding = 2) writeonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 3) restrict buffer StateBuffer { Loop loop; };

layout(push_constant) uniform Push {
    uint num_nodes;
};

void main() {
    if (loop.step[DONE] != 1) return;  // not yet, or not any more
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uvec4 record = records[node];
        bool has_second = record.w != UNREACHABLE;
        uint first = core_dist[record.x], second = has_second ? core_dist[record.z] : UNREACHABLE;
        uint distance = min(extend(first, record.y), extend(second, record.w));
        dist[node] = distance;
        bool some_way = first != UNREACHABLE && record.y != UNREACHABLE || second != UNREACHABLE;
        if (distance == UNREACHABLE && some_way) atomicOr(loop.overflow, 1);
    }
}
