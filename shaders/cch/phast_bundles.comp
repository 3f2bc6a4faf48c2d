// Downward sweep of one tier of bundles for one search. A workgroup takes a bundle. It reads all arcs at once, relaxes
// those from outside of the bundle, and keeps the others in shared memory, where it relaxes them step by step.
#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 3) const uint MOST_NODES = 128;  // of a bundle
layout(constant_id = 4) const uint KEPT_ARCS = 128;   // that are kept in shared memory
const uint AT_ONCE = 4;                               // arcs of an invocation whose reads overlap
layout(std430, binding = 0) readonly restrict buffer Arcs { uvec2 arcs[]; };    // place of the ancestor, weight
layout(std430, binding = 1) readonly restrict buffer Tails { WORDS tails[]; };  // node of each arc in its bundle
layout(std430, binding = 2) restrict buffer Distances { uint dist[]; };         // by rank
layout(std430, binding = 3) restrict buffer Inner { uint inner[]; };            // distances of places of inner tiers
layout(std430, binding = 4) coherent buffer StatusBuffer {
    uint cut_short;
    uint overflow;
} status;
#define PLAN_BINDING 5
#include "bundles.glsl"
layout(std430, binding = 6) readonly restrict buffer RankOf { uint rank_of[]; };  // of each place

layout(push_constant) uniform Push {
    uint first_bundle;
    uint end_bundle;
    uint is_inner;  // whether further tiers read the distances
};

shared uint found[MOST_NODES];
shared uvec2 kept[KEPT_ARCS];  // in a word the ancestor, and in its upper half the node, both in the bundle; weight

bool sum_overflow = false;

void relax(uint node, uint from, uint arc_weight) {
    if (arc_weight == UNREACHABLE || from == UNREACHABLE) return;  // no arc
    uint sum = extend(from, arc_weight);
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    uint known = atomicLoad(found[node], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    if (sum < known) atomicMin(found[node], sum);
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    for (uint number = first_bundle + gl_WorkGroupID.x; number < end_bundle; number += gl_NumWorkGroups.x) {
        Bundle b = bundle_of(number);
        uint size = b.end - b.first, first = b.first_arc, end = first;
        if (b.first_step < b.end_step) end = end_arc_of_step(b.end_step - 1);
        barrier();
        for (uint i = lid; i < size; i += WORKGROUP_SIZE) found[i] = dist[rank_of[b.first + i]];
        barrier();
        for (uint k = first + lid; k < end; k += AT_ONCE * WORKGROUP_SIZE) {
            uvec2 arc[AT_ONCE];
            uint node[AT_ONCE], from[AT_ONCE];
            for (uint i = 0; i < AT_ONCE; ++i) {
                uint at = min(k + i * WORKGROUP_SIZE, end - 1);
                arc[i] = PAIR(arcs, at);
                node[i] = WORD(tails, at);
            }
            for (uint i = 0; i < AT_ONCE; ++i) from[i] = arc[i].x < b.first ? inner[arc[i].x] : UNREACHABLE;
            for (uint i = 0; i < AT_ONCE; ++i) {
                uint at = k + i * WORKGROUP_SIZE - first;
                bool is_inside = arc[i].x >= b.first;
                if (at < KEPT_ARCS) {
                    kept[at] = is_inside ? uvec2(arc[i].x - b.first | node[i] << 16, arc[i].y) : uvec2(0, UNREACHABLE);
                }
                relax(node[i], from[i], arc[i].y);
            }
        }
        uint begin = first;
        for (uint step = b.first_step; step < b.end_step; ++step) {
            uint last = end_arc_of_step(step);
            barrier();
            for (uint k = begin + lid; k < last; k += WORKGROUP_SIZE) {
                uvec2 arc;
                if (k - first < KEPT_ARCS) {
                    arc = kept[k - first];
                } else {
                    arc = PAIR(arcs, k);
                    arc = arc.x < b.first ? uvec2(0, UNREACHABLE) : uvec2(arc.x - b.first | WORD(tails, k) << 16, arc.y);
                }
                relax(arc.x >> 16, found[arc.x & 0xFFFF], arc.y);
            }
            begin = last;
        }
        barrier();
        for (uint i = lid; i < size; i += WORKGROUP_SIZE) {
            dist[rank_of[b.first + i]] = found[i];
            if (is_inner != 0) inner[b.first + i] = found[i];
        }
    }
    if (sum_overflow) atomicMax(status.overflow, 1);
}
