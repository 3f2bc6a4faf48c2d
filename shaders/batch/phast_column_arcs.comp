// Records of the first arcs to each column of rows, so that the kernel that writes rows reads what lies side by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "split.glsl"
#include "leaves.glsl"
#include "column_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;                                 // of a tile, a power of two, 4 at least
layout(std430, binding = 0) readonly restrict buffer Ranges { uvec2 ranges[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };      // ancestor, weight
layout(std430, binding = 2) readonly restrict buffer Wanted { uint wanted[]; };   // rank of each column, with LEAF
layout(std430, binding = 3) writeonly restrict buffer Records { ColumnArcs records[]; };

layout(push_constant) uniform Push {
    uint num_wanted;
};

void main() {
    const uint QUADS = SEARCHES / 4;
    for (uint i = gl_GlobalInvocationID.x; i < num_wanted; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        // What is no leaf has its own distance, by an arc of weight 0.
        uint count = 1;
        uvec4 first = uvec4(wanted[i], 0, 0, 0), second = uvec4(0);
        if ((first.x & LEAF) != 0) {
            uvec2 range = PAIR(ranges, first.x & ~LEAF);
            count = range.y;
            first.xy = count > 0 ? PAIR(arcs, range.x) : uvec2(0);
            if (count > 1) first.zw = PAIR(arcs, range.x + 1);
            if (count > 2) second.xy = PAIR(arcs, range.x + 2);
            if (count > 3) second.zw = PAIR(arcs, range.x + 3);
        }
        first.xz *= QUADS;
        second.xz *= QUADS;
        first.x |= min(count, MOST_ARCS + 1) << COUNT_SHIFT;
        records[i] = ColumnArcs(first, second);
    }
}
