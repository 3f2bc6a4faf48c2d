// The arc into each node of the trees of a batch of searches: the first tight one, as on the paths of all walkers.
// Counts the nodes after each node. An invocation has a node and four searches.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(constant_id = 4) const uint IS_UNIFORM = 1;  // whether the demand is a unit at each node
layout(std430, binding = 0) readonly restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 1) readonly restrict buffer First { uint first_in[]; };
layout(std430, binding = 2) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 3) coherent restrict buffer States { uint state[]; };
layout(std430, binding = 4) writeonly restrict buffer ArcsInto { uvec4 arc_into[]; };
layout(std430, binding = 5) writeonly restrict buffer Flows { uint flow[]; };
layout(std430, binding = 6) readonly restrict buffer Overflows { uvec4 overflow[]; };  // of each search

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_tiles;
    uint limit;
    uint is_limited;
};

void main() {
    const uint QUADS = SEARCHES / 4;
    uint count = num_rows * num_tiles * QUADS, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uint quad = at % QUADS, row = at / QUADS % num_rows, base = at / QUADS / num_rows * num_rows * QUADS + quad;
        uvec4 distance = dist[at], found = uvec4(NO_ARC), over = overflow[at / QUADS / num_rows * QUADS + quad];
        bvec4 open;
        uvec4 units = uvec4(0);
        for (uint i = 0; i < 4; ++i) {
            open[i] = distance[i] <= limit && distance[i] != UNREACHABLE && (is_limited != 0 || over[i] == 0)
                && (state[4 * at + i] & ROOT) == 0;
            units[i] = uint(open[i]) * IS_UNIFORM;
        }
        for (uint k = first_in[row]; k < first_in[row + 1] && any(open); ++k) {
            uvec2 arc = arcs_in[k];
            uvec4 from = dist[base + arc.x * QUADS];
            for (uint i = 0; i < 4; ++i) {
                // A sum that does not fit is smaller than the weight.
                uint sum = from[i] + arc.y;
                if (open[i] && arc.x != row && sum == distance[i] && sum >= arc.y) {
                    found[i] = k;
                    open[i] = false;
                    atomicAdd(state[4 * (base + arc.x * QUADS) + i], 1);
                }
            }
        }
        arc_into[at] = found;
        for (uint i = 0; i < 4; ++i) {
            flow[(4 * at + i) * FLOW_WORDS] = units[i];
            if (FLOW_WORDS > 1) flow[(4 * at + i) * FLOW_WORDS + 1] = 0;
        }
    }
}
