// Number of nodes within a limit, sum of their distances, the largest distance with its node, and the sum of reciprocals,
// for a batch of searches.
#version 460
#extension GL_GOOGLE_include_directive : require
#define GIVEN uint limit; uint bits;
#include "aggregate.glsl"
#include "reciprocal.glsl"

layout(std430, binding = 2) readonly restrict buffer Nodes { uvec2 nodes[]; };  // of each row: how many, and the least id

void main() {
    for (uint part = gl_WorkGroupID.x; part < num_tiles * num_chunks; part += gl_NumWorkGroups.x) {
        uint tile = part % num_tiles, chunk = part / num_tiles, each = (num_rows + num_chunks - 1) / num_chunks;
        uint end = min(num_rows, (chunk + 1) * each), quad = gl_LocalInvocationIndex % QUADS;
        uint base = tile * num_rows * QUADS + quad;
        uvec4 reached = uvec4(0), total_low = uvec4(0), total_high = uvec4(0), far_low = uvec4(0), far_high = uvec4(0);
        uvec4 sum_low = uvec4(0), sum_high = uvec4(0), zero = uvec4(0);
        for (uint row = chunk * each + gl_LocalInvocationIndex / QUADS; row < end; row += WORKGROUP_SIZE / QUADS) {
            uvec4 distance = dist[base + row * QUADS];
            uvec2 node = nodes[row];
            for (uint i = 0; i < 4; ++i) {
                if (distance[i] > limit || distance[i] == 0xFFFFFFFFu || node.x == 0) continue;
                uint high, low;
                reached[i] += node.x;
                umulExtended(node.x, distance[i], high, low);
                total_low[i] += low;
                total_high[i] += high + uint(total_low[i] < low);
                if (distance[i] > far_high[i] || (distance[i] == far_high[i] && ~node.y > far_low[i])) {
                    far_high[i] = distance[i];
                    far_low[i] = ~node.y;
                }
                if (distance[i] == 0) continue;
                uvec2 one = reciprocal(distance[i], bits);
                umulExtended(node.x, one.x, high, low);
                sum_low[i] += low;
                sum_high[i] += high + node.x * one.y + uint(sum_low[i] < low);
            }
        }
        write_word(tile, chunk, 0, reached, zero, false);
        write_word(tile, chunk, 1, total_low, total_high, false);
        write_word(tile, chunk, 2, far_low, far_high, true);
        write_word(tile, chunk, 3, sum_low, sum_high, false);
    }
}
