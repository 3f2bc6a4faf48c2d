// Distances of pairs whose ends are shared: the least sum over the nodes where the searches from both ends meet, with a
// workgroup for each pair. See phast_few_pairs.comp, which searches from the ends.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
layout(std430, binding = 0) readonly restrict buffer Pairs { uvec4 pairs[]; };
layout(std430, binding = 1) writeonly restrict buffer Answers { uvec2 answers[]; };
layout(std430, binding = 2) restrict buffer UpwardLabels { uvec4 labels[]; };
#include "tracks.glsl"

layout(push_constant) uniform Push {
    uint num_pairs;
    uint most_kept;
};

shared uint best, has_overflow;

void main() {
    uint lid = gl_LocalInvocationIndex;
    for (uint i = gl_WorkGroupID.x; i < num_pairs; i += gl_NumWorkGroups.x) {
        uvec4 pair = pairs[i];
        uint one = pair.x == NO_INDEX ? pair.y : i, other = pair.z == NO_INDEX ? pair.w : i;
        // Of these headers other workgroups write the distances.
        uint depth = labels[TRACKS_OF(one)].z, other_depth = labels[TRACKS_OF(other)].w;
        uint overflow = (depth | labels[TRACKS_OF(other)].z) >> 31;
        if (lid == 0) best = UNREACHABLE;
        if (lid == 0) has_overflow = overflow;
        barrier();
        for (uint d = lid; d <= min(depth & 0x7FFFFFFF, other_depth); d += WORKGROUP_SIZE) {
            uvec4 here = labels[2 * one * HEIGHT + d], there = labels[(2 * other + 1) * HEIGHT + d];
            if (here.x != there.x || here.y == UNREACHABLE || there.y == UNREACHABLE) continue;
            uint sum = extend(here.y, there.y);
            if (sum == UNREACHABLE) atomicMax(has_overflow, 1);
            else atomicMin(best, sum);
        }
        barrier();
        if (lid == 0) {
            answers[i] = uvec2(best, has_overflow);
            labels[TRACKS_OF(i)].y = best;
        }
        barrier();
    }
}
