// Start of a search: sets the distances of the seeds. All distances are UNREACHABLE before.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"

layout(std430, binding = 0) coherent buffer Distances { DISTANCE dist[]; };
#define TERMINALS_BINDING 1
#include "terminals.glsl"

layout(push_constant) uniform Push {
    uint num_seeds;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < num_seeds; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        atomicMin(dist[uint(terminals[i].x)], terminals[i].y);  // a node may be in the list twice
    }
}
