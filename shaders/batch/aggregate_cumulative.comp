// Sums of values at the nodes within some limits, for a batch of searches.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define GIVEN uint first_limit; uint first_column; uint num_columns;
#include "aggregate.glsl"

layout(constant_id = 3) const uint LIMITS = 1;
layout(constant_id = 4) const uint COLUMNS = 1;
layout(constant_id = 5) const uint IS_NARROW = 0;  // whether values and the sums of a chunk have a single word
layout(std430, binding = 2) readonly restrict buffer Values { uvec2 values[]; };  // of each row
layout(std430, binding = 3) readonly restrict buffer Limits { uint limits[]; };

void main() {
    uint limit[LIMITS];
    [[unroll]] for (uint i = 0; i < LIMITS; ++i) limit[i] = limits[first_limit + i];
    for (uint part = gl_WorkGroupID.x; part < num_tiles * num_chunks; part += gl_NumWorkGroups.x) {
        uint tile = part % num_tiles, chunk = part / num_tiles, each = (num_rows + num_chunks - 1) / num_chunks;
        uint end = min(num_rows, (chunk + 1) * each), quad = gl_LocalInvocationIndex % QUADS;
        uint base = tile * num_rows * QUADS + quad;
        uvec4 low[LIMITS * COLUMNS], high[IS_NARROW != 0 ? 1 : LIMITS * COLUMNS];
        [[unroll]] for (uint word = 0; word < LIMITS * COLUMNS; ++word) {
            low[word] = uvec4(0);
            if (IS_NARROW == 0) high[word] = uvec4(0);
        }
        for (uint row = chunk * each + gl_LocalInvocationIndex / QUADS; row < end; row += WORKGROUP_SIZE / QUADS) {
            uvec4 distance = dist[base + row * QUADS];
            uvec2 value[COLUMNS];
            [[unroll]] for (uint column = 0; column < COLUMNS; ++column) {
                value[column] = values[row * num_columns + first_column + column];
            }
            [[unroll]] for (uint i = 0; i < LIMITS; ++i) {
                bvec4 counts = lessThanEqual(distance, uvec4(limit[i]));
                uvec4 mask = uvec4(0) - uvec4(counts);
                [[unroll]] for (uint column = 0; column < COLUMNS; ++column) {
                    uint word = i * COLUMNS + column;
                    if (IS_NARROW != 0) {
                        low[word] += value[column].x & mask;
                    } else {
                        add_if(low[word], high[word], value[column], counts);
                    }
                }
            }
        }
        [[unroll]] for (uint i = 0; i < LIMITS; ++i) {
            [[unroll]] for (uint column = 0; column < COLUMNS; ++column) {
                uint word = (first_limit + i) * num_columns + first_column + column;
                uint at = i * COLUMNS + column;
                write_word(tile, chunk, word, low[at], IS_NARROW != 0 ? uvec4(0) : high[at], false);
            }
        }
    }
}
