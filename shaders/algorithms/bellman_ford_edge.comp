// One iteration of Bellman-Ford with a thread per edge (after the article "GPU SSSP Implementation", which names no
// author). Edges lie in arrays of starts, ends and weights. An undirected edge is stored once and relaxed in both
// directions in one visit. Arcs without a reverse arc follow the undirected edges.
//
// Edges may be sorted by segments of the array of distances, so that the segment in use stays in a cache. Distances may
// be read through a second, read-only view of their buffer, so that caches serve reads that they do not serve for a
// writable buffer. Stale values do no harm: they are never too small, and the invocation that wrote a newer value has
// set `modified`.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "bellman_ford.glsl"

layout(std430, binding = 4) readonly restrict buffer Starts { WORDS starts[]; };
layout(std430, binding = 5) readonly restrict buffer Ends { WORDS ends[]; };
layout(std430, binding = 6) readonly restrict buffer Weights { WORDS weights[]; };
layout(std430, binding = 7) readonly restrict buffer SameDistances { uint same_dist[]; };
#define RELAX_READS_FIRST 1
#include "improve.glsl"

layout(constant_id = 2) const uint READ_ONLY = 1;

layout(push_constant) uniform Push {
    uint num_undirected;
    uint num_edges;
};

bool has_improved = false;

void relax(uint distance, uint head, uint head_distance, uint weight) {
    if (distance == UNREACHABLE) return;
    uint through = through_arc(distance, weight);
    if (through < head_distance && through < atomicMin(dist[head], through)) {
        if (COUNTING > 0) ++improved_count;
        has_improved = true;
    }
}

void main() {
    if (search_is_over()) return;
    for (uint edge = gl_GlobalInvocationID.x; edge < num_edges; edge += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uint start = WORD(starts, edge), end = WORD(ends, edge), weight = WORD(weights, edge);
        uint at_start = READ_ONLY != 0 ? same_dist[start] : dist[start];
        uint at_end = READ_ONLY != 0 ? same_dist[end] : dist[end];
        if (COUNTING > 0) {
            ++visited;
            if (at_start != UNREACHABLE || at_end != UNREACHABLE) ++worked;
        }
        relax(at_start, end, at_end, weight);
        if (edge < num_undirected) relax(at_end, start, at_start, weight);
    }
    end_of_bellman_ford(has_improved, num_edges);
}
