// One level of the downward sweep for many searches, with an invocation for each node and four searches. The
// invocations of a node lie side by side, so that its arcs are read once for all of them. A node has few arcs; most of
// the time goes into the reads from its row to its arcs and on to the distances. Each invocation therefore does these
// reads for several searches. Distances lie in tiles.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define OVERFLOWS_BINDING 3
#include "relax_quads.glsl"
#include "upward_labels.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
// Which nodes are swept: all, whose rows are their ranks; some, which alone have rows; or some whose rows are their ranks.
layout(constant_id = 3) const uint SWEPT = 0;
const uint PART = 1;
layout(std430, binding = 0) readonly restrict buffer Rows { uvec2 rows[]; };  // first arc, number of arcs
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // ancestor, weight
layout(std430, binding = 2) restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 4) readonly restrict buffer RowOf { uint row_of[]; };  // of each rank
layout(std430, binding = 5) readonly restrict buffer Ranks { uint ranks[]; };   // of each row
layout(std430, binding = 6) readonly restrict buffer UpwardLabelsBuffer { UpwardLabels upward_labels[]; };
layout(std430, binding = 7) readonly restrict buffer LabelDistances { uint label_distances[]; };

layout(push_constant) uniform Push {
    uint level;
    uint begin;  // rows of the level
    uint end;
    uint num_rows;
    uint num_tiles;
    uint num_searches;
    uint seeds_each;
};

void main() {
    const uint QUADS = SEARCHES / 4;
    uint each = WORKGROUP_SIZE / QUADS, parts = (end - begin + each - 1) / each;
    for (uint part = gl_WorkGroupID.x; part < parts * num_tiles; part += gl_NumWorkGroups.x) {
        uint row = begin + part % parts * each + gl_LocalInvocationIndex / QUADS;
        if (row >= end) continue;
        uint tile = part / parts, quad = gl_LocalInvocationIndex % QUADS, search = tile * SEARCHES + 4 * quad;
        uint base = tile * num_rows * QUADS + quad, rank = SWEPT != 0 ? ranks[row] : row;
        uvec2 range = PAIR(rows, rank);
        uvec4 least = uvec4(UNREACHABLE);
        for (uint seed = 0; seed < seeds_each; ++seed) {
            uint where = upward_labels_of(level, seed, seeds_each, search, num_searches);
            uvec4 place = rank - upward_labels[where].first_node;
            bvec4 is_on_path = lessThan(place, upward_labels[where].size);
            if (!any(is_on_path)) continue;
            for (uint i = 0; i < 4; ++i) {
                if (is_on_path[i]) least[i] = min(least[i], label_distances[upward_labels[where].first[i] + place[i]]);
            }
        }
        uvec4 all_from = uvec4(UNREACHABLE);
        uint k = range.x, last = range.x + range.y;
        for (; k + AT_ONCE <= last; k += AT_ONCE) {
            uvec4 from[AT_ONCE];
            for (uint i = 0; i < AT_ONCE; ++i) {
                uint head = PAIR(arcs, k + i).x;
                from[i] = dist[base + (SWEPT == PART ? row_of[head] : head) * QUADS];
            }
            for (uint i = 0; i < AT_ONCE; ++i) {
                least = lesser(least, from[i], PAIR(arcs, k + i).y);
                all_from &= from[i];
            }
        }
        for (; k < last; ++k) {
            uint head = PAIR(arcs, k).x;
            uvec4 from = dist[base + (SWEPT == PART ? row_of[head] : head) * QUADS];
            least = lesser(least, from, PAIR(arcs, k).y);
            all_from &= from;
        }
        dist[base + (SWEPT == PART ? row : rank) * QUADS] = least;
        report_overflow(least, all_from, search);
    }
}
