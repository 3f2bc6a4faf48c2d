// Parents of all nodes on paths from the seeds: the parent of a node is the tail of the first of its incoming arcs that
// fits its distance, as in path.comp. A seed is its own parent, and so is a node that no arc fits.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"

layout(std430, binding = 0) readonly restrict buffer Rows { uint first_in[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 2) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 3) writeonly restrict buffer ParentArcs { uint parent_arc[]; };
layout(std430, binding = 4) writeonly restrict buffer Jumps { uint jump[]; };
#define TERMINALS_BINDING 5
#include "terminals.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_seeds;
};

void main() {
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        DISTANCE distance = dist[node];
        uint arc = NO_INDEX, tail = node;
        bool is_seed = false;
        for (uint i = 0; i < num_seeds; ++i) {
            is_seed = is_seed || (uint(terminals[i].x) == node && terminals[i].y == distance);
        }
        uint end = is_seed || distance == UNREACHABLE ? 0 : first_in[node + 1];
        for (uint k = first_in[node]; k < end; ++k) {
            uvec2 tail_weight = PAIR(arcs_in, k);
            if (tail_weight.x != node && extend(dist[tail_weight.x], tail_weight.y) == distance) {
                arc = k;
                tail = tail_weight.x;
                break;
            }
        }
        parent_arc[node] = arc;
        jump[node] = tail;
    }
}
