// Records of the rows of a query, and the number of ancestors that each row shares with the one before it in preorder:
// both paths to the root are walked up to the supernode where they meet.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "label_record.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
// Of each place: rank of the row's node, number of its record, first unit of the row, fourth word of the record.
layout(std430, binding = 3) readonly restrict buffer Places { uvec4 places[]; };
layout(std430, binding = 4) writeonly restrict buffer Records { uvec4 records[]; };
layout(std430, binding = 5) writeonly restrict buffer SharedNodes { uint shared_nodes[]; };  // two in a word

layout(push_constant) uniform Push {
    uint count;
};

// Return the number of ancestors that the nodes at a place and at the one before it share, themselves included.
uint shared_with_last(uint place) {
    if (place == 0 || place >= count) return 0;
    uint one = places[place].x, other = places[place - 1].x;
    Supernode s = SUPERNODE(supernode_of[one]), t = SUPERNODE(supernode_of[other]);
    uint in_one = one - s.first_node + 1, in_other = other - t.first_node + 1;
    while (s.first_node != t.first_node) {
        if (s.level == 0 && t.level == 0) return 0;
        bool is_lower = s.level > t.level;
        if (s.level >= t.level) {
            in_one = s.parent_place + 1;
            s = SUPERNODE(s.parent);
        }
        if (!is_lower) {
            in_other = t.parent_place + 1;
            t = SUPERNODE(t.parent);
        }
    }
    return s.depth + min(in_one, in_other);
}

void put(uint place) {
    if (place >= count) return;
    uvec4 row = places[place];
    Supernode s = SUPERNODE(supernode_of[row.x]);
    records[row.y] = uvec4(row.z, s.depth + row.x - s.first_node + 1, place, row.w);
}

void main() {
    for (uint word = gl_GlobalInvocationID.x; 2 * word < count; word += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        shared_nodes[word] = shared_with_last(2 * word) | shared_with_last(2 * word + 1) << 16;
        put(2 * word);
        put(2 * word + 1);
    }
    check_loops();
}
