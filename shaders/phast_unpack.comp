// Replaces the arcs of ways through the hierarchy by those below them that are as short together, all of them, until only
// arcs of the graph are left; nodes are kept on the way. One workgroup, which does in a round what the one before found.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
// Where the supernodes that have a position in their list begin, for each position; then these, each with the place.
layout(std430, binding = 7) readonly restrict buffer Below { uint below[]; };

layout(push_constant) uniform Push {
    uint most;
    uint num_positions;
    uint rounds;  // of this dispatch
};

// The place of the ancestor of some depth in a list, NONE where it is not there.
uint place_of(Supernode s, uint depth) {
    uint low = s.first_ancestor, end = low + s.num_ancestors, high = end;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (ancestor_depth[middle] < depth) low = middle + 1;
        else high = middle;
    }
    return low < end && ancestor_depth[low] == depth ? low - s.first_ancestor : NONE;
}

// An arc between `low` and `high`, and a node below both: the arcs that join it to them.
void replace(uvec4 arc, uint position, uint to_low, uint to_high, uint length) {
    bool is_up = arc.z % 2 == 0;
    uint fall = 2 * (is_up ? to_low : to_high) + 1, rise = 2 * (is_up ? to_high : to_low);
    uint first = weight[fall], second = weight[rise];
    if (first > length || second != length - first) return;
    find_arc(position, is_up ? arc.x : arc.y, fall, arc.w, most, num_positions);
    find_arc(position, is_up ? arc.y : arc.x, rise, arc.w + first, most, num_positions);
}

void unpack(uvec4 arc, uint lane, uint lanes) {
    uint low = arc.x, high = arc.y, length = weight[arc.z];
    Supernode s = supernodes[supernode_of[low]], above = supernodes[supernode_of[high]];
    uint place = low - s.first_node, depth = above.depth + high - above.first_node;
    if (place + 1 + lane < s.size) {
        uint column = high >= s.first_node ? s.num_ancestors + high - s.first_node : place_of(s, depth);
        for (uint i = place + 1 + lane; i < s.size; i += lanes) {
            uint row = first_arc_of(s, i);
            replace(arc, s.first_node + i, row + s.num_ancestors + place, row + column, length);
        }
    }
    for (uint k = below[low] + lane; k < below[low + 1]; k += lanes) {
        s = supernodes[below[num_positions + 1 + 2 * k]];
        uint to_low = below[num_positions + 2 + 2 * k], column = NONE;
        for (uint i = 0; i < s.size; ++i) {
            uint row = first_arc_of(s, i);
            if (weight[2 * (row + to_low) + (arc.z % 2 == 0 ? 1 : 0)] > length) continue;
            if (column == NONE) column = place_of(s, depth);
            if (column == NONE) break;
            replace(arc, s.first_node + i, row + to_low, row + column, length);
        }
    }
}

void main() {
    uint lid = gl_LocalInvocationIndex, begin = next_item;
    for (uint i = 0; i < rounds; ++i) {
        memoryBarrierBuffer();
        barrier();
        uint end = min(min(num_items, most), begin + WORKGROUP_SIZE);
        bool is_over = begin == end || has_no_room != 0;
        barrier();  // nobody may add to these who has yet to see all look at them
        if (is_over) break;
        uint lanes = WORKGROUP_SIZE / (end - begin);
        if (lid < (end - begin) * lanes) unpack(list[most + begin + lid / lanes], lid % lanes, lanes);
        begin = end;
    }
    if (lid == 0) next_item = begin;
    check_loops();
}
