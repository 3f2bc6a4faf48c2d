// One iteration of Bellman-Ford with a thread per node: each invocation relaxes all arcs of the nodes
// that it is dealt.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "bellman_ford.glsl"

layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
#define RELAX_READS_FIRST 1
#include "relax.glsl"
#include "thread_per_node.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

bool has_improved = false;

void improved(uint head, uint distance) {
    has_improved = true;
}

uint working_distance(uint node) {
    return dist[node];
}

void main() {
    if (loop.done != 0) return;
    for_every_node(num_nodes);
    end_of_bellman_ford(has_improved, num_nodes);
}
