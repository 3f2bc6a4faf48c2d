// One step of Dijkstra's algorithm on the device (Song and Du, "Warp-Centric CUDA Programming for SSSP Algorithms",
// 2021). All invocations look for the nearest unsettled node. The last workgroup to finish settles this node and
// relaxes its arcs in parallel.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"

// The host's twin is STATE in vkssp/algorithms/dijkstra_scan.py.
struct State {
    uint nearest;  // distance of the node that was settled last
};
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };     // head, weight
layout(std430, binding = 6) coherent buffer Settled { uint settled[]; };         // a bit for each node
layout(std430, binding = 7) coherent buffer Candidates { uvec2 candidates[]; };  // distance and node, of each workgroup
#include "targets.glsl"
#include "reduce.glsl"
#define RELAX_READS_FIRST 0
#include "relax.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

void improved(uint head, uint distance) {}

// Return the nearer of two (distance, node); of equally near nodes the one with the lower id.
uvec2 nearer(uvec2 a, uvec2 b) {
    return b.x < a.x || (b.x == a.x && b.y < a.y) ? b : a;
}

uvec2 workgroup_nearest(uvec2 candidate) {
    uint distance = workgroup_min(candidate.x);
    return uvec2(distance, workgroup_min(candidate.x == distance ? candidate.y : UNREACHABLE));
}

void main() {
    if (search_is_over()) return;
    uint lid = gl_LocalInvocationIndex;
    uvec2 best = uvec2(UNREACHABLE);
    for (uint node = gl_GlobalInvocationID.x; node < num_nodes; node += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        if (COUNTING > 0) ++visited;
        if ((settled[node / 32] >> (node & 31) & 1) == 0) best = nearer(best, uvec2(dist[node], node));
    }
    best = workgroup_nearest(best);
    if (lid == 0) candidates[gl_WorkGroupID.x] = best;
    if (!last_workgroup()) return;

    best = uvec2(UNREACHABLE);
    for (uint i = lid; i < gl_NumWorkGroups.x; i += WORKGROUP_SIZE) best = nearer(best, candidates[i]);
    best = workgroup_nearest(best);
    // Nodes nearer than the nearest that is left have their distances, also those that arcs without weight lead to.
    if (lid == 0 && (update_best() < best.x || best.x == UNREACHABLE)) {
        loop.step[DONE] = 1;
        loop.work[0] = 0;  // a dispatch that found no work is no iteration
    }
    buffer_barrier();
    if (loop.step[DONE] != 0) return;
    visited = worked = 0;  // these are already in the totals of the iteration
    uint node = best.y;
    relax_row(best.x, first_out[node] + lid, first_out[node + 1], WORKGROUP_SIZE);
    if (sum_overflow) atomicMax(loop.overflow, 1);
    check_loops();
    if (COUNTING > 0) {
        atomicAdd(loop.work[2], relaxed);
        atomicAdd(loop.work[3], improved_count);
    }
    buffer_barrier();
    if (lid != 0) return;
    settled[node / 32] |= 1u << (node & 31);
    state.nearest = best.x;
    if (COUNTING > 0) loop.work[1] += 1;
    finish_iteration(0, best.x, extend(best.x, 1), node, node);
}
