// A level of the sweep down for many searches: an invocation for each node and search, those of a node side by side, so
// that its arcs are read once for all of them. Distances lie in tiles of some searches.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "ways_up.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 3) const uint IS_PART = 0;  // whether only some nodes have rows
const uint AT_ONCE = 4;                          // arcs that are looked at without waiting for each other
layout(std430, binding = 0) readonly restrict buffer Rows { uvec2 rows[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // ancestor, weight
layout(std430, binding = 2) restrict buffer Distances { uint dist[]; };
layout(std430, binding = 3) coherent buffer Overflows { uint overflow[]; };            // of each search
layout(std430, binding = 4) readonly restrict buffer RowOf { uint row_of[]; };         // of each position
layout(std430, binding = 5) readonly restrict buffer Positions { uint positions[]; };  // of each row
layout(std430, binding = 6) readonly restrict buffer WaysUp { WayUp ways_up[]; };
layout(std430, binding = 7) readonly restrict buffer Reached { uint reached[]; };

layout(push_constant) uniform Push {
    uint level;
    uint begin;  // its rows
    uint end;
    uint num_rows;
    uint num_tiles;
    uint num_searches;
    uint seeds_each;
};

bool sum_overflow;

uint lesser(uint least, uint from, uint arc_weight) {
    uint sum = extend(from, arc_weight);
    sum_overflow = sum_overflow || (sum == UNREACHABLE && from != UNREACHABLE);
    return min(least, sum);
}

void main() {
    uint each = WORKGROUP_SIZE / SEARCHES, parts = (end - begin + each - 1) / each;
    for (uint part = gl_WorkGroupID.x; part < parts * num_tiles; part += gl_NumWorkGroups.x) {
        uint row = begin + part % parts * each + gl_LocalInvocationIndex / SEARCHES;
        if (row >= end) continue;
        uint tile = part / parts, search = tile * SEARCHES + gl_LocalInvocationIndex % SEARCHES;
        uint base = tile * num_rows * SEARCHES + gl_LocalInvocationIndex % SEARCHES;
        uint position = IS_PART != 0 ? positions[row] : row, least = UNREACHABLE;
        for (uint seed = 0; seed < seeds_each; ++seed) {
            WayUp way = ways_up[way_up_of(level, seed, seeds_each, search, num_searches)];
            if (position - way.first_node < way.size) least = min(least, reached[way.first + position - way.first_node]);
        }
        sum_overflow = false;
        uvec2 range = rows[position];
        uint k = range.x, last = range.x + range.y;
        for (; k + AT_ONCE <= last; k += AT_ONCE) {
            uint from[AT_ONCE];
            for (uint i = 0; i < AT_ONCE; ++i) {
                uint head = arcs[k + i].x;
                from[i] = dist[base + (IS_PART != 0 ? row_of[head] : head) * SEARCHES];
            }
            for (uint i = 0; i < AT_ONCE; ++i) least = lesser(least, from[i], arcs[k + i].y);
        }
        for (; k < last; ++k) {
            uint head = arcs[k].x;
            least = lesser(least, dist[base + (IS_PART != 0 ? row_of[head] : head) * SEARCHES], arcs[k].y);
        }
        dist[base + row * SEARCHES] = least;
        if (sum_overflow) atomicMax(overflow[search], 1);
    }
}
