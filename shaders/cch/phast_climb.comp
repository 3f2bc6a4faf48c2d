// One level of upward searches at the top of the hierarchy, with many workgroups: first the step from every node that is
// reached to the other nodes of its supernode, then the step to their ancestors. Weights are perfect, so that a distance
// that a node of the supernode has received meanwhile changes no result.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 3) const uint IS_TREE = 0;  // a single search; otherwise pairs, forward and backward in turn
layout(constant_id = 4) const uint COUNTING = 0;
#include "weights.glsl"
// Of each node at the top: rank, place in its supernode, first of its ancestors in ancestors[].
layout(std430, binding = 4) readonly restrict buffer TopNodes { uvec4 top_nodes[]; };
layout(std430, binding = 5) readonly restrict buffer TopAncestors { uint top_ancestors[]; };  // places at the top
layout(std430, binding = 6) writeonly restrict buffer Distances { uint dist[]; };  // of a tree, by rank
layout(std430, binding = 7) coherent buffer CountsBuffer { uint counts[]; };  // see phast_sweep.comp
#define TOP_BINDING 8
#include "top.glsl"

layout(push_constant) uniform Push {
    uint begin;  // nodes at the top that are in this level
    uint end;
    uint lanes;  // of a node, a power of two, WORKGROUP_SIZE at most
    uint num_searches;
    uint to_ancestors;
};

bool sum_overflow = false;
uint relaxed = 0, improved = 0;

void extend_to(uint place, uint from, uint arc) {
    if (arc == UNREACHABLE) return;
    uint sum = extend(from, arc);
    sum_overflow = sum_overflow || sum == UNREACHABLE;
    ++relaxed;
    if (sum < top_distances[place] && sum < atomicMin(top_distances[place], sum)) ++improved;
}

void main() {
    uint lane = gl_LocalInvocationIndex % lanes, each = WORKGROUP_SIZE / lanes, count = end - begin;
    uint slot = gl_LocalInvocationIndex / lanes, reached = 0;
    for (uint t = gl_WorkGroupID.x * each + slot; slot < each && t < count * num_searches;
         t += gl_NumWorkGroups.x * each) {
        uint search = t / count, base = search * TOP_STRIDE, i = begin + t % count;
        uint from = top_distances[base + i];
        if (from == UNREACHABLE) continue;
        sum_overflow = sum_overflow && IS_TREE != 0;
        uvec4 node = top_nodes[i];
        Supernode s = SUPERNODE(supernode_of[node.x]);
        uint place = node.y, with = search % 2, against = 1 - with;
        if (to_ancestors == 0) {
            for (uint j = lane; j < s.size; j += lanes) {
                if (j == place) continue;
                uint arc = first_arc_of(s, max(place, j)) + s.num_ancestors + min(place, j);
                extend_to(base + s.top + j, from, WEIGHT(2 * arc + (place < j ? against : with)));
            }
        } else {
            uint first = first_arc_of(s, place);
            for (uint k = lane; k < s.num_ancestors; k += lanes) {
                extend_to(base + top_ancestors[node.z + k], from, WEIGHT(2 * (first + k) + with));
            }
            if (IS_TREE != 0 && lane == 0) dist[node.x] = from;
            if (lane == 0) ++reached;
        }
        if (sum_overflow) top_distances[base + NUM_TOP + 2] = 0;
    }
    if (IS_TREE != 0 && sum_overflow) atomicMax(status.overflow, 1);
    if (COUNTING != 0) {
        atomicAdd(counts[0], reached);
        atomicAdd(counts[1], reached);
        atomicAdd(counts[2], relaxed);
        atomicAdd(counts[3], improved);
    }
}
