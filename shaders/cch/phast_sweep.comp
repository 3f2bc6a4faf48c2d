// One level of the downward sweep for one search (D. Delling, A. Goldberg, A. Nowatzyk, R. Werneck, PHAST, 2011). Each
// node relaxes its arcs from ancestors, whose distances are known.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 0) readonly restrict buffer Ranges { uvec2 ranges[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };      // ancestor, weight
layout(std430, binding = 2) restrict buffer Distances { uint dist[]; };
layout(std430, binding = 3) coherent buffer StatusBuffer {
    uint cut_short;
    uint overflow;
} status;

layout(constant_id = 4) const uint COUNTING = 0;
// For each level (the first row is that of the upward searches): nodes, nodes with arcs, arcs relaxed, arcs that improved.
layout(std430, binding = 4) coherent buffer CountsBuffer { uint counts[]; };

layout(push_constant) uniform Push {
    uint level;
    uint begin;  // ranks of the level
    uint end;
    uint lanes;  // of a node, a power of two, WORKGROUP_SIZE at most
};

shared uint least_of[WORKGROUP_SIZE];

void main() {
    uint lid = gl_LocalInvocationIndex, lane = lid % lanes, slot = lid / lanes;
    uint each = WORKGROUP_SIZE / lanes;
    bool sum_overflow = false;
    uint relaxed = 0, improved = 0;
    for (uint base = begin + gl_WorkGroupID.x * each; base < end; base += gl_NumWorkGroups.x * each) {
        // Surplus lanes have no work.
        uint i = slot < each ? base + slot : end, least = UNREACHABLE;
        if (i < end) {
            uvec2 range = PAIR(ranges, i);
            uint last = range.x + range.y, own = lane == 0 ? dist[i] : UNREACHABLE;
            for (uint k = range.x + lane; k < last; k += lanes) {
                uvec2 arc = PAIR(arcs, k);
                uint from = dist[arc.x], sum = extend(from, arc.y);
                sum_overflow = sum_overflow || (sum == UNREACHABLE && from != UNREACHABLE);
                if (from != UNREACHABLE) ++relaxed;
                if (sum < least) ++improved;
                least = min(least, sum);
            }
            if (COUNTING != 0 && lane == 0) atomicAdd(counts[4 * level], 1);
            if (COUNTING != 0 && lane == 0 && range.y != 0) atomicAdd(counts[4 * level + 1], 1);
            least = min(least, own);
        }
        if (lanes == 1) {
            if (i < end) dist[i] = least;
            continue;
        }
        barrier();
        if (lane == 0) least_of[slot] = least;
        barrier();
        if (lane != 0 && least != UNREACHABLE) atomicMin(least_of[slot], least);
        barrier();
        if (lane == 0 && i < end) dist[i] = least_of[slot];
    }
    if (sum_overflow) atomicMax(status.overflow, 1);
    if (COUNTING != 0) atomicAdd(counts[4 * level + 2], relaxed);
    if (COUNTING != 0) atomicAdd(counts[4 * level + 3], improved);
}
