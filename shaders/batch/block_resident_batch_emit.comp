// Output of finished searches: writes the wanted distances of each finished search as a row into a ring.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "block_resident_batch_state.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 0) readonly restrict buffer StateBuffer {
    Loop loop;
    State state;
};
layout(std430, binding = 1) readonly restrict buffer Distances { uint dist[]; };
layout(std430, binding = 2) readonly restrict buffer SearchesBuffer { Search searches[]; };
#include "block_resident_batch_rows.glsl"
layout(std430, binding = 3) readonly restrict buffer WantedBuffer { Wanted wanted[]; };
layout(std430, binding = 4) writeonly restrict buffer Rows { uint rows[]; };
// By place in the ring: one more than the number of the row that was last written there, and whether a sum in it did
// not fit.
layout(std430, binding = 5) restrict buffer Written { uvec2 written[]; };

layout(std430, binding = 6) readonly restrict buffer Turnover { uint turnover[]; };  // slots: leaving, then entering

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_wanted;
    uint ring;
};

// For some of the slots: where the distances of the search begin, and the place of the row in the ring.
const uint AT_ONCE = 64;
shared uvec2 leaving[AT_ONCE];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint count = loop.step[DONE] == 0 ? state.num_leaving : 0;  // after a loop that ended early, no result is valid
    for (uint first = 0; first < count; first += AT_ONCE) {
        uint here = min(count - first, AT_ONCE);
        barrier();
        for (uint k = lid; k < here; k += WORKGROUP_SIZE) {
            uint number = turnover[first + k], row = searches[number].row, place = row % ring;
            leaving[k] = uvec2(number * num_nodes, place);
            if (gl_WorkGroupID.x != 0) continue;
            written[place].x = row + 1;
            if (searches[number].overflow != 0) atomicMax(written[place].y, 1);
        }
        barrier();
        for (uint i = gl_GlobalInvocationID.x; i < num_wanted; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
            Wanted to = wanted[i];
            for (uint k = 0; k < here; ++k) {
                bool overflow;
                uint distance = wanted_distance(to, leaving[k].x, overflow);
                if (overflow) atomicMax(written[leaving[k].y].y, 1);
                rows[leaving[k].y * num_wanted + i] = distance > state.limit ? UNREACHABLE : distance;
            }
        }
    }
}
