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

shared uvec2 round_read;

void main() {
    if (gl_LocalInvocationIndex == 0) round_read = uvec2(state.threshold, state.rounds);
    if (search_is_over()) return;
    uint threshold = round_read.x, round_number = round_read.y;
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uint distance = dist[node];
        if (distance <= threshold && distance != UNREACHABLE && settled[node] == 0) settled[node] = round_number;
    }
    check_loops();
}
