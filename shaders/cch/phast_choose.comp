// Choice of what is unpacked, in the submission of the search: of all pairs of some seeds and targets those of the first
// of the nearest targets and of all seeds at that distance from it. Nothing is unpacked if no target is reached, or if
// the path is longer than unpacking pays for. A single workgroup does this.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#define WORK_BINDING 3
#define MARKS_BINDING 4
#include "unpack.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(std430, binding = 0) readonly restrict buffer Pairs { uvec4 pairs[]; };      // see phast_pairs.comp
layout(std430, binding = 1) readonly restrict buffer Answers { uvec2 answers[]; };  // see phast_pairs.comp
layout(std430, binding = 2) writeonly restrict buffer StatusBuffer { uint status[2]; };

layout(push_constant) uniform Push {
    uint num_seeds;
    uint num_targets;
    uint longest;  // distance of the paths that are unpacked, at most
};

// The twin of LEFT in vkssp/cch/unpack.py.
const uint LEFT = 3;
shared uint best, target, chosen;

void main() {
    uint lid = gl_LocalInvocationIndex, num_pairs = num_seeds * num_targets;
    if (lid == 0) {
        best = UNREACHABLE;
        target = NO_INDEX;
        chosen = 0;
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) atomicMin(best, answers[i].x);
    barrier();
    if (best <= longest) {
        for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
            if (answers[i].x == best) atomicMin(target, i % num_targets);
        }
    }
    barrier();
    for (uint i = lid; i < num_pairs; i += WORKGROUP_SIZE) {
        if (i % num_targets != target || answers[i].x != best) continue;
        jobs[atomicAdd(chosen, 1)] = uvec4(i, pairs[i].x, pairs[i].z, best);
    }
    barrier();
    if (lid > 0) return;
    headers[0] = Header(chosen == 0 ? LEFT : 0, 0, 0, 0, 0, 0, 0, 0, chosen, 0, num_seeds, 0);
    status[0] = 0;
    status[1] = 0;
}
