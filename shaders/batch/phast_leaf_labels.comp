// Upward labels of leaves, whose distances have been written without them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "upward_labels.glsl"
#include "leaves.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
const uint LANES = 4;  // of a supernode of a search
layout(std430, binding = 0) readonly restrict buffer UpwardLabelsBuffer { UpwardLabels upward_labels[]; };
layout(std430, binding = 1) readonly restrict buffer LabelDistances { uint label_distances[]; };
layout(std430, binding = 2) readonly restrict buffer ColumnOf { uint column_of[]; };  // of each rank, with LEAF
layout(std430, binding = 3) coherent buffer Finished { uint finished[]; };

layout(push_constant) uniform Push {
    uint num_levels;
    uint seeds_each;
    uint all_searches;  // that labels are for
    uint num_searches;  // that have rows
    uint num_wanted;
    uint limit;
    uint first_row;  // where the row of the first search is written
};

void main() {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < num_levels * seeds_each * num_searches * LANES; i += stride) {
        uint search = i / LANES % num_searches, number = i / LANES / num_searches;
        uint where = upward_labels_of(number / seeds_each, number % seeds_each, seeds_each, search, all_searches);
        uint size = upward_labels[where].size[search % 4], rank = upward_labels[where].first_node[search % 4];
        uint first = upward_labels[where].first[search % 4], row = (first_row + search) * num_wanted;
        for (uint k = i % LANES; k < size; k += LANES) {
            uint column = column_of[rank + k];
            if ((column & LEAF) == 0) continue;
            uint distance = label_distances[first + k];
            if (distance <= limit) atomicMin(finished[row + (column & ~LEAF)], distance);
        }
    }
}
