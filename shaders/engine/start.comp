// Start of a search: sets the distances of the seeds. All distances are UNREACHABLE before.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"

layout(std430, binding = 0) coherent buffer Distances { DISTANCE dist[]; };
#define TERMINALS_BINDING 1
#include "terminals.glsl"
#include "loop_state.glsl"
// The number of seeds is read, not recorded, so that searches with about as many seeds share a recording.
layout(std430, binding = 2) readonly restrict buffer StateBuffer { Loop loop; };

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < uint(loop.step[NUM_SEEDS]); i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        atomicMin(dist[uint(terminals[i].x)], terminals[i].y);  // a node may be in the list twice
    }
}
