// Table of distances by labels: the least sums over the ancestors that a row's node and a column's node share, which are
// the first entries of both rows of labels. A workgroup makes a square tile, each invocation sixteen of its distances;
// the labels of the tile's rows and columns pass through shared memory, some depths at a time. Rows and columns are
// sorted in preorder, so that those of a tile share about as many ancestors.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "label_record.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 256;
layout(constant_id = 1) const uint QUADS = 16;     // quarters of the side of a tile, the square root of WORKGROUP_SIZE
// Of each row of labels its record, those of columns after those of rows; the fourth word is the place in the table.
layout(std430, binding = 0) readonly restrict buffer Records { uvec4 records[]; };
#define SHARED_NODES_BINDING 1
#include "shared_ancestors.glsl"
layout(std430, binding = 2) readonly restrict buffer Upward { uvec4 upward[]; };
layout(std430, binding = 3) readonly restrict buffer Downward { uvec4 downward[]; };
layout(std430, binding = 4) coherent restrict buffer Found { uint found[]; };  // unreachable at first, if not is_single

layout(push_constant) uniform Push {
    uint num_rows;
    uint num_columns;
    uint row_length;  // of shared_nodes[]
    uint limit;
    uint is_single;  // whether each row of the table has exactly one row of labels
};

const uint SIDE = 4 * QUADS, DEPTHS = 16, QUADS_OF_UNIT = UNIT / 4;
// Labels by depth and node; padded, so that the words of a node lie in different banks.
const uint WIDTH = QUADS + 1;
shared uvec4 up[DEPTHS * WIDTH];
shared uvec4 down[DEPTHS * WIDTH];
shared uint most_shared;
uvec4 best[4], count[4];  // of each column, for four rows: distances, and shared ancestors

// Copy labels of the tile's rows or columns, whose records are those from `first` to before `end`, to shared memory.
#define COPY(labels, first, end, where)                                                                    \
    for (uint t = gl_LocalInvocationIndex; t < SIDE * DEPTHS / 4; t += WORKGROUP_SIZE) {                   \
        uint node = t / (DEPTHS / 4), quad = t % (DEPTHS / 4), at = depth + 4 * quad;                      \
        uvec4 record = records[min(first + node, end - 1)], some = uvec4(UNREACHABLE);                     \
        if (at < count_of(record.y)) some = labels[QUADS_OF_UNIT * record.x + at / 4];                     \
        for (uint k = 0; k < 4; ++k) where[(4 * quad + k) * WIDTH + node / 4][node % 4] = some[k];         \
    }

// Return sums with the label of a column; those that do not fit are unreachable.
uvec4 sums(uvec4 from, uint to) { return min(from, uvec4(~to)) + to; }

void put(uint row, uint column, uint distance) {
    if (row >= num_rows || column >= num_columns) return;
    uint at = records[row].w * num_columns + records[num_rows + column].w;
    if (distance > limit) distance = UNREACHABLE;
    if (is_single != 0) found[at] = distance;
    else if (distance != UNREACHABLE) atomicMin(found[at], distance);
}

void main() {
    uint lid = gl_LocalInvocationIndex, row_quad = lid / QUADS, column_quad = lid % QUADS;
    uint first_row = gl_WorkGroupID.y * SIDE, first_column = num_rows + gl_WorkGroupID.x * SIDE;
    uint end = num_rows + num_columns, least = UNREACHABLE, most = 0;
    if (lid == 0) most_shared = 0;
    for (uint k = 0; k < 4; ++k) {
        uvec4 column = records[min(first_column + 4 * column_quad + k, end - 1)];
        for (uint i = 0; i < 4; ++i) {
            uint number = shared_ancestors(records[min(first_row + 4 * row_quad + i, num_rows - 1)], column, row_length);
            count[k][i] = number;
            least = min(least, number);
            most = max(most, number);
        }
        best[k] = uvec4(UNREACHABLE);
    }
    barrier();
    atomicMax(most_shared, most);
    barrier();
    for (uint depth = 0; depth < most_shared; depth += DEPTHS) {
        COPY(upward, first_row, num_rows, up)
        COPY(downward, first_column, end, down)
        barrier();
        if (depth + DEPTHS <= least) {
            for (uint k = 0; k < DEPTHS; ++k) {
                uvec4 from = up[k * WIDTH + row_quad], to = down[k * WIDTH + column_quad];
                best[0] = min(best[0], sums(from, to.x));
                best[1] = min(best[1], sums(from, to.y));
                best[2] = min(best[2], sums(from, to.z));
                best[3] = min(best[3], sums(from, to.w));
            }
        } else {
            uint behind = min(DEPTHS, max(most, depth) - depth);
            for (uint k = 0; k < behind; ++k) {
                uvec4 from = up[k * WIDTH + row_quad], to = down[k * WIDTH + column_quad], at = uvec4(depth + k);
                best[0] = mix(best[0], min(best[0], sums(from, to.x)), lessThan(at, count[0]));
                best[1] = mix(best[1], min(best[1], sums(from, to.y)), lessThan(at, count[1]));
                best[2] = mix(best[2], min(best[2], sums(from, to.z)), lessThan(at, count[2]));
                best[3] = mix(best[3], min(best[3], sums(from, to.w)), lessThan(at, count[3]));
            }
        }
        barrier();
    }
    uint row = first_row + 4 * row_quad, column = first_column - num_rows + 4 * column_quad;
    for (uint k = 0; k < 4; ++k) {
        for (uint i = 0; i < 4; ++i) put(row + i, column + k, best[k][i]);
    }
}
