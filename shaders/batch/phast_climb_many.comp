// Upward searches from the seeds of many searches, with a workgroup for each seed.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#include "climb.glsl"
#include "ways_up.glsl"
layout(std430, binding = 5) readonly restrict buffer Seeds {
    uint num_seeds;
    uint padding[3];
    uvec4 seeds[];  // position, offset, search, number within the search
};
layout(std430, binding = 6) writeonly restrict buffer WaysUpBuffer { WaysUp ways_up[]; };
layout(std430, binding = 7) writeonly restrict buffer Reached { uint reached[]; };
layout(std430, binding = 8) coherent buffer Overflows { uint overflow[]; };  // of each search

layout(push_constant) uniform Push {
    uint num_searches;
    uint seeds_each;
    uint nodes_each;  // places in reached[] of a seed
};

uint search, seed;

void arrive(Supernode s, uint place, uint count, uint before) {
    uint first = (search * seeds_each + seed) * nodes_each + before;
    reached[first + place] = found[s.depth + place];
    if (place == 0) {
        uint where = ways_up_of(s.level, seed, seeds_each, search, num_searches);
        ways_up[where].first_node[search % 4] = s.first_node;
        ways_up[where].size[search % 4] = s.size;
        ways_up[where].first[search % 4] = first;
    }
}

void main() {
    for (uint i = gl_WorkGroupID.x; i < num_seeds; i += gl_NumWorkGroups.x) {
        search = seeds[i].z;
        seed = seeds[i].w;
        sum_overflow = false;
        climb(seeds[i].x, seeds[i].y, false);
        if (sum_overflow) atomicMax(overflow[search], 1);
    }
    check_loops();
}
