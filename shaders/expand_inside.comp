// Lowers the distances of some nodes, those of removed nodes that a seed reaches without going through the core.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Near { uvec2 near[]; };  // node, distance; no node twice
layout(std430, binding = 1) restrict buffer Distances { uint dist[]; };

layout(push_constant) uniform Push {
    uint num_near;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < num_near; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        dist[near[i].x] = min(dist[near[i].x], near[i].y);
    }
}
