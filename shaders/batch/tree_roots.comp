// Marks the roots of the trees of a batch of searches: the seeds that are at their own distance.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 1) readonly restrict buffer Seeds { uvec4 seeds[]; };  // their number; node, offset, search
layout(std430, binding = 2) restrict buffer States { uint state[]; };

layout(push_constant) uniform Push {
    uint num_rows;
};

void main() {
    uint count = seeds[0].x, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uvec4 seed = seeds[1 + at];
        uint place = place_of(seed.x, seed.z, num_rows);
        if (dist[place] == seed.y) atomicOr(state[place], ROOT);
    }
}
