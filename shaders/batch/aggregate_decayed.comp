// Sums of values at nodes, each times a weight that depends on its distance, for a batch of searches.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define GIVEN uint first_column; uint num_columns;
#include "aggregate.glsl"

const int BIN_BITS = 19;
layout(constant_id = 4) const uint COLUMNS = 1;
layout(std430, binding = 2) readonly restrict buffer Values { uvec2 values[]; };    // of each row
layout(std430, binding = 3) readonly restrict buffer Weights { uint weights[]; };  // limit; then the table

// The same as in vkssp/cpu/kernels/aggregates.py.
uint bin_of(uint distance) {
    int width = max(findMSB(distance) - BIN_BITS, 0);
    return (width << BIN_BITS) + (distance >> width);
}

void main() {
    uint limit = weights[0];
    for (uint part = gl_WorkGroupID.x; part < num_tiles * num_chunks; part += gl_NumWorkGroups.x) {
        uint tile = part % num_tiles, chunk = part / num_tiles, each = (num_rows + num_chunks - 1) / num_chunks;
        uint end = min(num_rows, (chunk + 1) * each), quad = gl_LocalInvocationIndex % QUADS;
        uint base = tile * num_rows * QUADS + quad;
        uvec4 low[COLUMNS], high[COLUMNS];
        [[unroll]] for (uint column = 0; column < COLUMNS; ++column) low[column] = high[column] = uvec4(0);
        for (uint row = chunk * each + gl_LocalInvocationIndex / QUADS; row < end; row += WORKGROUP_SIZE / QUADS) {
            uvec4 distance = dist[base + row * QUADS], arc_weight = uvec4(0);
            for (uint i = 0; i < 4; ++i) {
                if (distance[i] <= limit) arc_weight[i] = weights[1 + bin_of(distance[i])];
            }
            [[unroll]] for (uint column = 0; column < COLUMNS; ++column) {
                uvec2 value = values[row * num_columns + first_column + column];
                uvec4 product_low, product_high;
                umulExtended(uvec4(value.x), arc_weight, product_high, product_low);
                add(low[column], high[column], product_low, product_high + value.y * arc_weight);
            }
        }
        [[unroll]] for (uint column = 0; column < COLUMNS; ++column) {
            write_word(tile, chunk, first_column + column, low[column], high[column], false);
        }
    }
}
