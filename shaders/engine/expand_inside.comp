// Update of the distances of removed nodes that a seed reaches without going through the core. A run while the search
// in the core goes on does no harm: the distances that it lowers are written again at the end of the search.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "loop_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Near {
    uint num_near, unused;
    uvec2 near[];  // node, distance; no node twice
};
layout(std430, binding = 1) restrict buffer Distances { uint dist[]; };
layout(std430, binding = 2) restrict buffer StateBuffer { Loop loop; };

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < num_near; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        dist[near[i].x] = min(dist[near[i].x], near[i].y);
    }
    // Dispatches that were submitted needlessly do not write all distances again.
    if (gl_GlobalInvocationID.x == 0 && loop.step[DONE] != 0) loop.step[DONE] = 2;
}
