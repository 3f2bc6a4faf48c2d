// Hands what goes through nodes over to the nodes before them, in the trees of a batch of searches. An invocation begins
// at a leaf and goes on from each node to which it is the last to hand over, so that none waits for another.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "tree.glsl"

layout(std430, binding = 0) readonly restrict buffer ArcsInto { uint arc_into[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 2) coherent restrict buffer States { uint state[]; };
layout(std430, binding = 3) coherent restrict buffer Flows { uint flow[]; };

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_tiles;
};

void main() {
    uint count = num_rows * num_tiles * SEARCHES, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uint place = at, base = at / SEARCHES / num_rows * num_rows * SEARCHES + at % SEARCHES;
        uint arc = (state[at] & AFTER) == 0 ? arc_into[at] : NO_ARC;
        while (arc != NO_ARC) {
            uint before = base + arcs_in[arc].x * SEARCHES, low = flow[place * FLOW_WORDS];
            uint old = atomicAdd(flow[before * FLOW_WORDS], low);
            if (FLOW_WORDS > 1) {
                uint high = flow[place * FLOW_WORDS + 1] + uint(old + low < old);
                if (high != 0) atomicAdd(flow[before * FLOW_WORDS + 1], high);
            }
            memoryBarrierBuffer();
            uint word = atomicAdd(state[before], ONE_ARRIVED);
            memoryBarrierBuffer();
            bool is_last = (word / ONE_ARRIVED & ARRIVED) + 1 == (word & AFTER);
            place = before;
            arc = is_last ? arc_into[before] : NO_ARC;
        }
    }
}
