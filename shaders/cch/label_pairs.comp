// Distances of pairs of nodes by their labels: the least sum over the ancestors that both share, which are the first
// entries of both rows. A workgroup finds the rows of as many pairs as it has invocations; then some lanes walk along
// the rows of each pair together.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint LANES = 8;           // of a pair, at most WORKGROUP_SIZE, of which it is a divisor
// Of each node: first unit of its row, number of entries and part, place among shared_nodes[].
layout(std430, binding = 0) readonly restrict buffer Records { uvec4 records[]; };
// Nodes by the numbers of their records: all sources, and from `room` on all targets.
layout(std430, binding = 2) readonly restrict buffer Pairs { uint pairs[]; };
layout(std430, binding = 3) writeonly restrict buffer Answers { uint answers[]; };
#define LABEL uvec4
#define LABEL_ACCESS readonly
#define LABELS_BINDING 4
#include "label_rows.glsl"
#define SHARED_NODES_BINDING 1
#include "shared_ancestors.glsl"

layout(push_constant) uniform Push {
    uint num_pairs;
    uint room;
    uint row_length;  // of shared_nodes[]
};

const uint LABEL_WORDS = 4, LABELS_OF_UNIT = UNIT / LABEL_WORDS;
shared uvec2 source_row[WORKGROUP_SIZE];  // first label of the row, and its part
shared uvec2 target_row[WORKGROUP_SIZE];
shared uint num_shared[WORKGROUP_SIZE];
shared uint best[WORKGROUP_SIZE];

void main() {
    uint lid = gl_LocalInvocationIndex, lane = lid % LANES;
    for (uint begin = gl_WorkGroupID.x * WORKGROUP_SIZE; begin < num_pairs; begin += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        uint i = begin + lid;
        best[lid] = UNREACHABLE;
        num_shared[lid] = 0;
        if (i < num_pairs) {
            uvec4 source = records[pairs[i]], target = records[pairs[room + i]];
            source_row[lid] = uvec2(LABELS_OF_UNIT * source.x, part_of(source.y));
            target_row[lid] = uvec2(LABELS_OF_UNIT * target.x, part_of(target.y));
            num_shared[lid] = shared_ancestors(source, target, row_length);
        }
        barrier();
        for (uint pair = lid / LANES; pair < WORKGROUP_SIZE; pair += WORKGROUP_SIZE / LANES) {
            uvec2 source = source_row[pair], target = target_row[pair];
            uint count = num_shared[pair], least = UNREACHABLE;
            for (uint k = lane; LABEL_WORDS * k < count; k += LANES) {
                uvec4 up = upward_at(source.y, source.x + k), down = downward_at(target.y, target.x + k);
                uvec4 sum = up + down;
                // Sums of finite distances fit, see vkssp/cch/labels.py; others are too small here.
                sum = mix(sum, uvec4(UNREACHABLE), lessThan(sum, up));
                uint left = count - LABEL_WORDS * k;
                sum = mix(sum, uvec4(UNREACHABLE), greaterThanEqual(uvec4(0, 1, 2, 3), uvec4(left)));
                sum.xy = min(sum.xy, sum.zw);
                least = min(least, min(sum.x, sum.y));
            }
            if (least != UNREACHABLE) atomicMin(best[pair], least);
        }
        barrier();
        if (i < num_pairs) answers[i] = best[lid];
    }
}
