// Relax kernel of a round, predecessors variant (Martin et al., 2009), with an invocation for each node. The
// invocations of unsettled nodes look for frontier nodes along the incoming arcs. A node's distance is written only by
// the node's own invocation, so no atomics are needed.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "threshold_state.glsl"
#include "loop.glsl"

layout(std430, binding = 2) restrict buffer Distances { uint dist[]; };
layout(std430, binding = 3) readonly restrict buffer Settled { uint settled[]; };
layout(std430, binding = 4) readonly restrict buffer FirstIn { uint first_in[]; };
layout(std430, binding = 5) readonly restrict buffer ArcsIn { uvec2 arcs_in[]; };  // tail, weight
#define RELAX_READS_FIRST 0
#include "improve.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

void main() {
    if (search_is_over()) return;
    uint round_number = step[ROUNDS];
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        if (COUNTING > 0) ++visited;
        if (settled[node] != 0) continue;
        uint before = dist[node], least = before;
        bool has_frontier = false;
        for (uint arc = first_in[node], end = first_in[node + 1]; arc < end; ++arc) {
            uvec2 tail_weight = PAIR(arcs_in, arc);
            if (settled[tail_weight.x] != round_number) continue;
            uint through = through_arc(dist[tail_weight.x], tail_weight.y);
            if (COUNTING > 0 && through < before) ++improved_count;
            least = min(least, through);
            has_frontier = true;
        }
        if (COUNTING > 0 && has_frontier) ++worked;
        if (least < before) dist[node] = least;
    }
    fold_work();
}
