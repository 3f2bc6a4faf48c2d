// Upward searches from the seeds of one search, with a workgroup for each seed. The upward labels are written to the
// distances that the sweep starts with. At the top of the hierarchy the searches go on together, see phast_climb.comp.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define TOP_BINDING 8
#include "top.glsl"
#define PATH_BINDING 9
#include "upward_search.glsl"
layout(std430, binding = 5) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 6) readonly restrict buffer Seeds {
    uint num_seeds;
    uint padding[3];
    uvec4 seeds[];  // rank, offset
};
layout(constant_id = 4) const uint COUNTING = 0;
layout(std430, binding = 7) coherent buffer CountsBuffer { uint counts[]; };  // see phast_sweep.comp

void handle_label(Supernode s, uint place, uint count, uint before) {
    uint rank = s.first_node + place, distance = found_at(s.depth + place);
    if (distance == UNREACHABLE) return;
    if (COUNTING != 0) atomicAdd(counts[0], 1);
    if (COUNTING != 0 && place < count) atomicAdd(counts[1], 1);
    if (distance < dist[rank]) atomicMin(dist[rank], distance);
}

void main() {
    for (uint i = gl_WorkGroupID.x; i < num_seeds; i += gl_NumWorkGroups.x) {
        search_upward(seeds[i].x, seeds[i].y, false, NUM_TOP == 0 ? NO_INDEX : 0);
    }
    if (sum_overflow) atomicMax(status.overflow, 1);
    if (COUNTING != 0) atomicAdd(counts[2], relaxed);
    if (COUNTING != 0) atomicAdd(counts[3], improved);
    check_loops();
}
