// Transposition of tiles into rows of all nodes, by the caller's ids. Distances of leaves, which no sweep reads, are
// computed only here, from those of their ancestors; these are mostly columns nearby. An invocation has four searches of
// a column at a time, and goes from these to others of the tile, so that it waits for arcs only once.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define OVERFLOWS_BINDING 3
#include "relax_quads.glsl"
#include "leaves.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;                             // of a tile, a power of two, 4 at least
layout(std430, binding = 0) readonly restrict buffer Rows { uvec2 rows[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // ancestor, weight
layout(std430, binding = 2) readonly restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 4) readonly restrict buffer Wanted { uint wanted[]; };  // rank of each column, with LEAF
layout(std430, binding = 5) writeonly restrict buffer Finished { uint finished[]; };

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_searches;
    uint num_wanted;
    uint limit;
    uint first_row;  // where the row of the first search is written
};

// A piece of columns and searches in shared memory, through which both reads and writes are in order. It has 32 columns
// or, if a tile has few searches, more.
const uint QUADS = SEARCHES / 4, MOST_DOWN = WORKGROUP_SIZE < 32 ? 1 : WORKGROUP_SIZE / 32;
const uint QUADS_DOWN = QUADS < MOST_DOWN ? QUADS : MOST_DOWN, DOWN = 4 * QUADS_DOWN;
const uint ACROSS = WORKGROUP_SIZE / QUADS_DOWN;
shared uint piece[ACROSS * (DOWN + 1)];

void main() {
    uint across = (num_wanted + ACROSS - 1) / ACROSS, num_tiles = (num_searches + SEARCHES - 1) / SEARCHES;
    uint own = gl_LocalInvocationIndex / QUADS_DOWN, quad = gl_LocalInvocationIndex % QUADS_DOWN;
    for (uint number = gl_WorkGroupID.x; number < across * num_tiles; number += gl_NumWorkGroups.x) {
        uint first_wanted = number % across * ACROSS, tile = number / across;
        // What is no leaf has its own distance, by an arc of weight 0.
        uint base = tile * num_rows * QUADS + quad, first = 0, count = 0;
        uvec2 arc[AT_ONCE];
        for (uint i = 0; i < AT_ONCE; ++i) arc[i] = uvec2(0);
        if (first_wanted + own < num_wanted) {
            arc[0].x = wanted[first_wanted + own];
            count = 1;
            if ((arc[0].x & LEAF) != 0) {
                uvec2 range = PAIR(rows, arc[0].x & ~LEAF);
                first = range.x;
                count = range.y;
                for (uint i = 0; i < AT_ONCE; ++i) {
                    if (i < count) arc[i] = PAIR(arcs, first + i);
                }
            }
        }
        uvec4 from[AT_ONCE];
        for (uint i = 0; i < AT_ONCE; ++i) from[i] = i < count ? dist[base + arc[i].x * QUADS] : uvec4(UNREACHABLE);
        for (uint down = 0; down < QUADS; down += QUADS_DOWN) {
            uint search = tile * SEARCHES + 4 * down;
            if (search >= num_searches) break;
            uvec4 least = uvec4(UNREACHABLE), all_from = uvec4(UNREACHABLE);
            for (uint i = 0; i < AT_ONCE; ++i) {
                least = lesser(least, from[i], arc[i].y);
                all_from &= from[i];
            }
            for (uint k = AT_ONCE; k < count; ++k) {
                uvec2 further = PAIR(arcs, first + k);
                uvec4 there = dist[base + further.x * QUADS + down];
                least = lesser(least, there, further.y);
                all_from &= there;
            }
            report_overflow(least, all_from, search + 4 * quad);
            // The next distances are on their way while these are written.
            uint next = down + QUADS_DOWN;
            for (uint i = 0; i < AT_ONCE; ++i) {
                if (i < count && next < QUADS) from[i] = dist[base + arc[i].x * QUADS + next];
            }
            barrier();
            for (uint i = 0; i < 4; ++i) {
                piece[own * (DOWN + 1) + 4 * quad + i] = least[i] > limit ? UNREACHABLE : least[i];
            }
            barrier();
            for (uint i = gl_LocalInvocationIndex; i < DOWN * ACROSS; i += WORKGROUP_SIZE) {
                uint row = search + i / ACROSS, column = first_wanted + i % ACROSS;
                if (row >= num_searches || column >= num_wanted) continue;
                finished[(first_row + row) * num_wanted + column] = piece[i % ACROSS * (DOWN + 1) + i / ACROSS];
            }
        }
    }
}
