// Update kernel of a round (Ortega-Arranz et al., 2015). It settles the unsettled nodes up to the threshold; they
// become the frontier.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "threshold_state.glsl"
#include "loop.glsl"

layout(std430, binding = 2) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 3) restrict buffer Settled { uint settled[]; };

layout(push_constant) uniform Push {
    uint num_nodes;
};

void main() {
    if (search_is_over()) return;
    uint threshold = step[THRESHOLD], round_number = step[ROUNDS];
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uint distance = dist[node];
        if (distance <= threshold && distance != UNREACHABLE && settled[node] == 0) settled[node] = round_number;
    }
    check_loops();
}
