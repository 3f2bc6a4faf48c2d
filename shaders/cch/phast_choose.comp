// Choice of what is unpacked, in the submission of the searches: of all pairs of a search's seeds and targets those of
// the first of the nearest targets and of all seeds at that distance from it. Nothing is unpacked if no target is
// reached, or if the path is longer than unpacking pays for, or if phast_unique.comp has found the path. A workgroup does
// this for each search.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#define WORK_BINDING 3
#define MARKS_BINDING 4
#include "unpack.glsl"
#include "shared_ends.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
// Both are memory of the host, which takes long to answer.
layout(std430, binding = 0) readonly restrict buffer Pairs { uvec4 pairs[]; };      // see phast_few_pairs.comp
layout(std430, binding = 1) readonly restrict buffer Answers { uvec2 answers[]; };  // see phast_few_pairs.comp
// By slot: first pair, number of seeds, and of targets; pairs are those of the first seed first.
layout(std430, binding = 2) readonly restrict buffer Searches { uvec4 searches[]; };

// See phast_path.comp and phast_unique.comp; the results are memory of the host, too.
layout(std430, binding = 5) readonly restrict buffer Results { uint results[]; };
layout(std430, binding = 6) readonly restrict buffer Count { uint unique_arcs; };
const uint RESULT_WORDS = 6;

layout(push_constant) uniform Push {
    uint longest;     // distance of the paths that are unpacked, at most
    uint has_unique;  // whether unique paths have been looked for
};

shared uint best, target, chosen;

uvec2 ends_of(uint first, uint number, uint num_targets) {
    uint source = pairs[FIRST_WITH_SEED(first, number, num_targets)].x;
    return uvec2(source, pairs[FIRST_WITH_TARGET(first, number, num_targets)].z);
}

void main() {
    uint lid = gl_LocalInvocationIndex, all_arcs = has_unique == 0 ? 0 : unique_arcs;
    if (has_unique != 0 && results[RESULT_WORDS * gl_WorkGroupID.y] == DONE) {
        if (lid == 0) HEADER = Header(DONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, all_arcs);
        return;
    }
    uvec4 search = searches[gl_WorkGroupID.y];
    uint first = search.x, num_targets = search.z, num_pairs = search.y * num_targets;
    uint own = lid < num_pairs ? answers[first + lid].x : UNREACHABLE;
    uvec2 own_ends = lid < num_pairs ? ends_of(first, lid, num_targets) : uvec2(0);
    if (lid == 0) {
        best = UNREACHABLE;
        target = NO_INDEX;
        chosen = 0;
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) atomicMin(best, i == lid ? own : answers[first + i].x);
    barrier();
    if (best <= longest) {
        for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
            if ((i == lid ? own : answers[first + i].x) == best) atomicMin(target, i % num_targets);
        }
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
        if (i % num_targets != target || (i == lid ? own : answers[first + i].x) != best) continue;
        uvec2 ends = i == lid ? own_ends : ends_of(first, i, num_targets);
        jobs[first + atomicAdd(chosen, 1)] = uvec4(first + i, ends, best);
    }
    barrier();
    if (lid > 0) return;
    uint done = chosen == 0 ? LEFT : 0;
    HEADER = Header(done, 0, 0, 0, 0, 0, 0, chosen, first, search.y, num_targets, best, target, 0, all_arcs);
}
