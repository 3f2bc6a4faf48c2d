// Upward searches from the seeds of a batch of searches, with a workgroup for each seed.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define PATH_BINDING 9
#include "upward_search.glsl"
#include "upward_labels.glsl"
layout(std430, binding = 5) readonly restrict buffer Seeds {
    uint num_seeds;
    uint padding[3];
    uvec4 seeds[];  // rank, offset, search, number within the search
};
layout(std430, binding = 6) writeonly restrict buffer UpwardLabelsBuffer { UpwardLabels upward_labels[]; };
layout(std430, binding = 7) writeonly restrict buffer LabelDistances { uint label_distances[]; };
layout(std430, binding = 8) coherent buffer Overflows { uint overflow[]; };  // of each search

layout(push_constant) uniform Push {
    uint num_searches;
    uint seeds_each;
    uint nodes_each;  // places in label_distances[] of a seed
};

uint search, seed;

void handle_label(Supernode s, uint place, uint count, uint before) {
    uint first = (search * seeds_each + seed) * nodes_each + before;
    label_distances[first + place] = found_at(s.depth + place);
    if (place == 0) {
        uint where = upward_labels_of(s.level, seed, seeds_each, search, num_searches);
        upward_labels[where].first_node[search % 4] = s.first_node;
        upward_labels[where].size[search % 4] = s.size;
        upward_labels[where].first[search % 4] = first;
    }
}

void main() {
    for (uint i = gl_WorkGroupID.x; i < num_seeds; i += gl_NumWorkGroups.x) {
        search = seeds[i].z;
        seed = seeds[i].w;
        sum_overflow = false;
        search_upward(seeds[i].x, seeds[i].y, false, NO_INDEX);
        if (sum_overflow) atomicMax(overflow[search], 1);
    }
    check_loops();
}
