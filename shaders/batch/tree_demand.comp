// Writes the demand of nodes into the trees of a batch of searches, or counts it as missed if they are not reached.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer Distances { uint dist[]; };
// The first entry of each search, and the end; then nodes by the caller's ids, then the low words of amounts, and then,
// if flows have two words, the high ones. There is room for the same number of each.
layout(std430, binding = 1) readonly restrict buffer Entries { uint entries[]; };
layout(std430, binding = 2) readonly restrict buffer Ranks { uint ranks[]; };  // of the caller's nodes
layout(std430, binding = 3) coherent restrict buffer Flows { uint flow[]; };
layout(std430, binding = 4) coherent restrict buffer Finished { uint finished[]; };  // what is sent and missed

layout(push_constant) uniform Push {
    uint num_rows;
    uint limit;
    uint num_searches;
    uint room;
};

void main() {
    uint count = entries[num_searches], stride = gl_NumWorkGroups.x * WORKGROUP_SIZE, nodes = num_searches + 1;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uint search = 0, end = num_searches;  // the last search whose first entry is not beyond this one
        while (search + 1 < end) {
            uint middle = (search + end) / 2;
            if (entries[middle] <= at) {
                search = middle;
            } else {
                end = middle;
            }
        }
        uint low = entries[nodes + room + at], high = FLOW_WORDS > 1 ? entries[nodes + 2 * room + at] : 0;
        uint place = place_of(ranks[entries[nodes + at]], search, num_rows);
        if ((low | high) == 0) continue;
        if (dist[place] <= limit && dist[place] != UNREACHABLE) {
            uint before = atomicAdd(flow[place * FLOW_WORDS], low);
            high += uint(before + low < before);
            if (FLOW_WORDS > 1 && high != 0) atomicAdd(flow[place * FLOW_WORDS + 1], high);
        } else {
            uint before = atomicAdd(finished[4 * search + 2], low);
            high += uint(before + low < before);
            if (high != 0) atomicAdd(finished[4 * search + 3], high);
        }
    }
}
