// Writes the demand of nodes into the trees of a batch of searches, or counts it as missed if they are not reached.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 1) readonly restrict buffer Entries { uvec4 entries[]; };  // their number; row, search, amount
layout(std430, binding = 2) coherent restrict buffer Flows { uint flow[]; };
layout(std430, binding = 3) coherent restrict buffer Finished { uint finished[]; };  // what is sent and missed

layout(push_constant) uniform Push {
    uint num_rows;
    uint limit;
};

void main() {
    uint count = entries[0].x, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uvec4 entry = entries[1 + at];
        uint place = place_of(entry.x, entry.y, num_rows);
        if (dist[place] <= limit && dist[place] != UNREACHABLE) {
            uint before = atomicAdd(flow[place * FLOW_WORDS], entry.z);
            uint high = entry.w + uint(before + entry.z < before);
            if (FLOW_WORDS > 1 && high != 0) atomicAdd(flow[place * FLOW_WORDS + 1], high);
        } else {
            uint before = atomicAdd(finished[4 * entry.y + 2], entry.z);
            atomicAdd(finished[4 * entry.y + 3], entry.w + uint(before + entry.z < before));
        }
    }
}
