// Gathering of the distances of some nodes, so that only these are downloaded.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance_type.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 1) readonly restrict buffer Nodes { uint nodes[]; };
layout(std430, binding = 2) writeonly restrict buffer Gathered { DISTANCE gathered[]; };

layout(push_constant) uniform Push {
    uint count;
    uint limit_low;
    uint limit_high;  // of 64 bits
};

void main() {
#if DISTANCE_BITS == 64
    DISTANCE limit = DISTANCE(limit_high) << 32 | limit_low;
#else
    DISTANCE limit = limit_low;
#endif
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        DISTANCE found = dist[nodes[i]];
        gathered[i] = found > limit ? ~DISTANCE(0) : found;
    }
}
