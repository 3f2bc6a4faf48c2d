// Propagation of labels down a forest by pointer jumping. After k passes each node knows the least label of itself and
// of the 2^k - 1 nodes before it on its path. A pass reads the pointers that the pass before wrote. The labels that it
// reads may be newer; newer labels cover more nodes, not fewer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "voronoi_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer From { uint from[]; };
layout(std430, binding = 1) writeonly restrict buffer To { uint to[]; };
layout(std430, binding = 2) coherent buffer Labels { uint label[]; };
layout(std430, binding = 3) coherent buffer StateBuffer { VoronoiState state; };

layout(push_constant) uniform Push {
    uint num_nodes;
    uint pass;
};

shared bool is_over, moves;

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (lid == 0) {
        is_over = pass > 0 && state.moves[pass - 1] == 0;
        moves = false;
    }
    barrier();
    if (is_over) return;
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint before = from[node], next = NO_INDEX;
        if (before != NO_INDEX) {
            next = from[before];
            atomicMin(label[node], label[before]);
            if (next != NO_INDEX) moves = true;
        }
        to[node] = next;
    }
    barrier();
    if (lid == 0 && moves) atomicOr(state.moves[pass], 1);
}
