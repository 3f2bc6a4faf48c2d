// Hooking of nodes to parents on shortest paths. The first pass hooks each node to some parent; the result is a forest
// of shortest paths. If several shortest paths lead to a node from different sources, later passes hook it to a parent
// with a lesser label. An arc (u, v) is on a shortest path if dist[u] + weight = dist[v]. These arcs form no cycles
// except loops of weight zero, which are left out (see vkssp/prepared/renumbered.py), so hooking never closes a cycle.
//
// An invocation takes a few arcs, not nodes, so that no node with many arcs holds up the others. It finds the tail of
// its first arc by a search among the tails of the workgroup's arcs.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#include "voronoi_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 2) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 3) coherent buffer Labels { uint label[]; };
layout(std430, binding = 4) coherent buffer Parents { uint parent[]; };
layout(std430, binding = 5) coherent buffer StateBuffer { VoronoiState state; };

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_arcs;
    uint is_first;
};

const uint ARCS_EACH = 8;
shared uint outermost[2];  // tails of the first and the last of the workgroup's arcs
shared bool changed;

// Return the last node in a range whose arcs begin at `arc` or before: the tail of `arc`, if the range contains it.
uint tail_of(uint arc, uint low, uint high) {
    while (low < high) {
        uint middle = high - (high - low) / 2;
        if (first_out[middle] <= arc) low = middle;
        else high = middle - 1;
    }
    return low;
}

void main() {
    uint lid = gl_LocalInvocationIndex, chunk = ARCS_EACH * gl_WorkGroupSize.x;
    if (lid == 0) changed = false;
    for (uint first = chunk * gl_WorkGroupID.x; first < num_arcs; first += chunk * gl_NumWorkGroups.x) {
        uint end = min(num_arcs - first, chunk) + first;
        barrier();
        // A workgroup may have one invocation.
        for (uint i = lid; i < 2; i += gl_WorkGroupSize.x) {
            outermost[i] = tail_of(i == 0 ? first : end - 1, 0, num_nodes - 1);
        }
        barrier();
        uint arc = first + ARCS_EACH * lid, last = min(arc + ARCS_EACH, end), high = outermost[1];
        uint tail = arc < last ? tail_of(arc, outermost[0], high) : 0;
        for (; arc < last; ++arc) {
            // The same tail as before or the next one, unless nodes without arcs lie in between.
            if (first_out[tail + 1] <= arc) ++tail;
            if (first_out[tail + 1] <= arc) tail = tail_of(arc, tail + 1, high);
            uvec2 head_weight = PAIR(arcs, arc);
            uint head = head_weight.x;
            DISTANCE distance = dist[head];
            if (distance == UNREACHABLE || head == tail || extend(dist[tail], head_weight.y) != distance) continue;
            if (is_first != 0) {
                atomicMin(parent[head], tail);
                continue;
            }
            uint lesser = label[tail];
            if (lesser < label[head] && lesser < atomicMin(label[head], lesser)) {
                // The last writer wins: all of these parents are on shortest paths.
                atomicExchange(parent[head], tail);
                changed = true;
            }
        }
    }
    barrier();
    if (lid == 0 && changed) atomicOr(state.changed, 1);
}
