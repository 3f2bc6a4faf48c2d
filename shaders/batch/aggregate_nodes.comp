// Sums by node over a batch of searches: how many reach it, the sum of their distances, and the sum of reciprocals. An
// invocation has a node and four searches of each tile.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "reciprocal.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 2) const uint SEARCHES = 32;  // of a tile, a power of two, 4 at least
layout(std430, binding = 0) readonly restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 1) readonly restrict buffer Overflows { uvec4 overflow[]; };  // of each search
layout(std430, binding = 2) coherent restrict buffer Sums { uint sums[]; };  // three of each row, each of two words

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_tiles;
    uint limit;
    uint is_limited;
    uint bits;
};

void flush(uint at, uvec2 sum) {
    uint before = atomicAdd(sums[2 * at], sum.x), high = sum.y + uint(before + sum.x < before);
    if (high != 0) atomicAdd(sums[2 * at + 1], high);
}

void add(inout uvec2 sum, uvec2 more) {
    sum.x += more.x;
    sum.y += more.y + uint(sum.x < more.x);
}

void main() {
    const uint QUADS = SEARCHES / 4;
    uint count = num_rows * QUADS, stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += stride) {
        uvec2 reached = uvec2(0), total = uvec2(0), reciprocals = uvec2(0);
        for (uint tile = 0; tile < num_tiles; ++tile) {
            uvec4 distance = dist[tile * num_rows * QUADS + at], over = overflow[tile * QUADS + at % QUADS];
            for (uint i = 0; i < 4; ++i) {
                bool counts = distance[i] <= limit && distance[i] != 0xFFFFFFFFu && (is_limited != 0 || over[i] == 0);
                if (!counts) continue;
                reached.x += 1;
                add(total, uvec2(distance[i], 0));
                if (distance[i] != 0) add(reciprocals, reciprocal(distance[i], bits));
            }
        }
        uint row = at / QUADS;
        if (reached.x != 0) {
            flush(3 * row, reached);
            flush(3 * row + 1, total);
            flush(3 * row + 2, reciprocals);
        }
    }
}
