// Relax kernel of a round, successors variant (Ortega-Arranz et al., 2015), with an invocation for each node. The
// invocations of frontier nodes relax the outgoing arcs.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "threshold_state.glsl"
#include "loop.glsl"

layout(std430, binding = 2) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 3) readonly restrict buffer Settled { uint settled[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
#define RELAX_READS_FIRST 1
#include "relax.glsl"
#include "thread_per_node.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

void improved(uint head, uint distance) {}

uint round_number;  // of `step`

uint working_distance(uint node) {
    return settled[node] == round_number ? dist[node] : UNREACHABLE;
}

void main() {
    if (search_is_over()) return;
    round_number = step[ROUNDS];
    for_every_node(num_nodes);
    fold_work();
}
