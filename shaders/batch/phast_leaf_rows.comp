// Transposition of tiles into rows of all nodes, by the caller's ids. Distances of leaves, which no sweep reads, are
// computed only here, from those of their ancestors; these are mostly columns nearby. A workgroup reads the arcs to its
// columns once, and goes from some searches of the tile to the next ones. An invocation has four of these of a column.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define OVERFLOWS_BINDING 3
#include "relax_quads.glsl"
#include "leaves.glsl"
#include "column_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;                                 // of a tile, a power of two, 4 at least
layout(constant_id = 4) const uint DOWN = 32;                                     // searches of a piece, no more than that
layout(constant_id = 5) const uint ACROSS = 64;                                   // columns of a piece
layout(std430, binding = 0) readonly restrict buffer Ranges { uvec2 ranges[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };      // ancestor, weight
layout(std430, binding = 2) readonly restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 4) readonly restrict buffer Wanted { uint wanted[]; };  // rank of each column, with LEAF
layout(std430, binding = 5) readonly restrict buffer Records { ColumnArcs records[]; };  // of each column
layout(std430, binding = 6) writeonly restrict buffer Finished { uint finished[]; };

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_searches;
    uint num_wanted;
    uint limit;
    uint first_row;  // where the row of the first search is written
};

// A piece of columns and searches in shared memory, through which both reads and writes are in order. A column takes one
// place more than it needs, so that neighbours lie in different banks.
const uint QUADS = SEARCHES / 4, LANES = DOWN / 4, PITCH = LANES + 1, SIDE_BY_SIDE = WORKGROUP_SIZE / LANES;
shared uvec4 piece[ACROSS * PITCH];
shared ColumnArcs arcs_of[ACROSS];  // the columns of the piece

// Return the distances of a column of the piece in four searches, from a given one on; base is where those of the first
// node lie.
uvec4 distances_of(uint own, uint column, uint base, uint search) {
    uvec4 two = arcs_of[own].first, from = uvec4(UNREACHABLE), other = uvec4(UNREACHABLE);
    uint count = two.x >> COUNT_SHIFT;
    if (count > 0) from = dist[base + (two.x & (1 << COUNT_SHIFT) - 1)];
    if (count > 1) other = dist[base + two.z];
    uvec4 least = lesser(lesser(uvec4(UNREACHABLE), from, two.y), other, two.w), all_from = from & other;
    if (count > 2) {
        two = arcs_of[own].second;
        from = dist[base + two.x];
        other = count > 3 ? dist[base + two.z] : uvec4(UNREACHABLE);
        least = lesser(lesser(least, from, two.y), other, two.w);
        all_from &= from & other;
        if (count > MOST_ARCS) {
            uvec2 range = PAIR(ranges, wanted[column] & ~LEAF);
            for (uint k = MOST_ARCS; k < range.y; ++k) {
                uvec2 arc = PAIR(arcs, range.x + k);
                from = dist[base + arc.x * QUADS];
                least = lesser(least, from, arc.y);
                all_from &= from;
            }
        }
    }
    report_overflow(least, all_from, search);
    return limit == UNREACHABLE ? least : mix(least, uvec4(UNREACHABLE), greaterThan(least, uvec4(limit)));
}

void main() {
    uint across = (num_wanted + ACROSS - 1) / ACROSS, num_tiles = (num_searches + SEARCHES - 1) / SEARCHES;
    uint lane = gl_LocalInvocationIndex % LANES;
    for (uint number = gl_WorkGroupID.x; number < across * num_tiles; number += gl_NumWorkGroups.x) {
        uint first_wanted = number % across * ACROSS, tile = number / across;
        uint width = min(num_wanted - first_wanted, ACROSS);
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < width; i += WORKGROUP_SIZE) arcs_of[i] = records[first_wanted + i];
        for (uint down = 0; down < QUADS; down += LANES) {
            uint search = tile * SEARCHES + 4 * down, base = tile * num_rows * QUADS + down + lane;
            if (search >= num_searches) break;
            barrier();
            for (uint own = gl_LocalInvocationIndex / LANES; own < width; own += SIDE_BY_SIDE) {
                piece[own * PITCH + lane] = distances_of(own, first_wanted + own, base, search + 4 * lane);
            }
            barrier();
            for (uint i = gl_LocalInvocationIndex; i < ACROSS * LANES; i += WORKGROUP_SIZE) {
                uint own = i % ACROSS, quad = i / ACROSS, row = search + 4 * quad;
                if (own >= width) continue;
                uvec4 found = piece[own * PITCH + quad];
                uint place = (first_row + row) * num_wanted + first_wanted + own;
                if (row < num_searches) finished[place] = found.x;
                if (row + 1 < num_searches) finished[place + num_wanted] = found.y;
                if (row + 2 < num_searches) finished[place + 2 * num_wanted] = found.z;
                if (row + 3 < num_searches) finished[place + 3 * num_wanted] = found.w;
            }
        }
    }
}
