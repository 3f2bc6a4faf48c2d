// Distances of pairs whose upward searches end at the top of the hierarchy: the least sum over the nodes there, with a
// workgroup for each pair.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
layout(std430, binding = 3) restrict buffer Answers { uvec2 answers[]; };                // see phast_few_pairs.comp
layout(std430, binding = 4) writeonly restrict buffer UpwardLabels { uvec4 labels[]; };  // see phast_few_pairs.comp
#define TOP_BINDING 5
#include "top.glsl"

layout(push_constant) uniform Push {
    uint num_pairs;
    uint num_kept;
};

shared uint best, has_overflow;

void main() {
    uint lid = gl_LocalInvocationIndex;
    for (uint i = gl_WorkGroupID.x; i < num_pairs; i += gl_NumWorkGroups.x) {
        if (lid == 0) best = answers[i].x;
        if (lid == 0) has_overflow = answers[i].y;
        barrier();
        for (uint back = 0; back < 2; ++back) {
            uint search = 2 * i + back, base = search * TOP_STRIDE, other = (search ^ 1) * TOP_STRIDE;
            uint number = top_distances[base + NUM_TOP], count = top_distances[base + NUM_TOP + 1];
            if (lid == 0 && top_distances[base + NUM_TOP + 2] != NO_INDEX) atomicMax(has_overflow, 1);
            // Nodes that both searches have reached are on both paths, so that those of one path are enough.
            while (number != NO_INDEX && (back == 0 || i < num_kept)) {
                Supernode s = SUPERNODE(number);
                for (uint k = lid; k < count; k += WORKGROUP_SIZE) {
                    uint distance = top_distances[base + s.top + k];
                    if (i < num_kept) {
                        labels[search * HEIGHT + s.depth + k] = uvec4(s.first_node + k, distance, count, 0);
                    }
                    uint rest = top_distances[other + s.top + k];
                    if (back == 1 || distance == UNREACHABLE || rest == UNREACHABLE) continue;
                    uint sum = extend(distance, rest);
                    if (sum == UNREACHABLE) {
                        atomicMax(has_overflow, 1);
                    } else {
                        atomicMin(best, sum);
                    }
                }
                count = s.parent_place + 1;
                number = s.num_ancestors == 0 ? NO_INDEX : s.parent;
            }
        }
        barrier();
        if (lid == 0) answers[i] = uvec2(best, has_overflow);
        barrier();
    }
}
