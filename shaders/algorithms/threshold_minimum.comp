// Minimum kernel of a round (Ortega-Arranz, Torres, Gonzalez-Escribano, Llanos, 2015): finds the threshold, the
// distance up to which nodes can be settled. With Martin et al. (2009) the threshold is the least distance of an
// unsettled node. With Crauser et al. (1998) it is the least sum of an unsettled node's distance and its lightest
// outgoing arc, since no path found later is shorter than this sum.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "threshold_state.glsl"
#include "loop.glsl"

layout(std430, binding = 3) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer Settled { uint settled[]; };
layout(std430, binding = 5) readonly restrict buffer Lightest { uint lightest_out[]; };
#include "targets.glsl"
#include "reduce.glsl"

layout(constant_id = 2) const uint CRAUSER = 1;

layout(push_constant) uniform Push {
    uint num_nodes;
};

void advance() {
    uint nearest = state.nearest, threshold = CRAUSER != 0 ? state.bound : nearest;
    if (step[ROUNDS] > 0) {
        uint after = step[THRESHOLD] == UNREACHABLE ? UNREACHABLE : step[THRESHOLD] + 1;
        finish_iteration(0, step[LOW], after, 0, num_nodes - 1);
    }
    // Distances below the threshold are final, also those of nodes that arcs of weight zero lead to.
    if (update_best() < threshold || nearest == UNREACHABLE || loop.cut_short != 0) {
        loop.step[DONE] = 1;
        return;
    }
    loop.step[LOW] = nearest;
    loop.step[THRESHOLD] = threshold;
    loop.step[ROUNDS] = step[ROUNDS] + 1;
    state.nearest = state.bound = UNREACHABLE;
    loop.ticket = 0;
}

void main() {
    if (search_is_over()) return;
    uint nearest = UNREACHABLE, bound = UNREACHABLE;
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        if (settled[node] != 0) continue;
        uint distance = dist[node];
        nearest = min(nearest, distance);
        // A sum that does not fit into 32 bits is no bound: such an arc leads nowhere.
        if (CRAUSER != 0 && distance != UNREACHABLE) bound = min(bound, extend(distance, lightest_out[node]));
    }
    nearest = workgroup_min(nearest);
    if (CRAUSER != 0) bound = workgroup_min(bound);
    if (gl_LocalInvocationIndex == 0) {
        if (nearest != UNREACHABLE) atomicMin(state.nearest, nearest);
        if (bound != UNREACHABLE) atomicMin(state.bound, bound);
    }
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
