// Iteration of Bellman-Ford over nodes. The file that is included after this one distributes the arcs:
// thread_per_node.glsl or virtual_warp.glsl.
#include "bellman_ford.glsl"

layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
#define RELAX_READS_FIRST 1
#include "relax.glsl"

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

void for_every_node(uint num_nodes);

void main() {
    if (search_is_over()) return;
    for_every_node(num_nodes);
    end_of_bellman_ford(has_improved, num_nodes);
}
