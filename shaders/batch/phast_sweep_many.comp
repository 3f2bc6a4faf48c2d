// Downward sweep for many searches: one level of it, with an invocation for each node and four searches, or small subtrees,
// with an invocation for each subtree and four searches, which goes from node to node. The invocations of a node lie side
// by side, so that its arcs are read once for all of them. A node has few arcs; most of the time goes into reads that
// wait for each other. The first arcs of a node are therefore in its record, and further ones are read together with the
// distances of those before them. Distances lie in tiles.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"
#define OVERFLOWS_BINDING 3
#include "relax_quads.glsl"
#include "swept.glsl"
#include "upward_labels.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 4) const uint ARE_SUBTREES = 0;
// Of each node: rank, row in tiles, first arc, and number of arcs with the level.
layout(std430, binding = 0) readonly restrict buffer Nodes { uvec4 nodes[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // rank of the ancestor, weight
layout(std430, binding = 2) restrict buffer Distances { uvec4 dist[]; };
layout(std430, binding = 4) readonly restrict buffer RowOf { uint row_of[]; };       // in tiles, of each rank
layout(std430, binding = 5) readonly restrict buffer Heads { uvec4 heads[]; };       // of first arcs, as rows in tiles
layout(std430, binding = 6) readonly restrict buffer Weights { uvec4 weights[]; };   // of the same
layout(std430, binding = 7) readonly restrict buffer Firsts { uint first_of[]; };    // node of each subtree
layout(std430, binding = 8) readonly restrict buffer UpwardLabelsBuffer { UpwardLabels upward_labels[]; };
layout(std430, binding = 9) readonly restrict buffer LabelDistances { uint label_distances[]; };

layout(push_constant) uniform Push {
    uint begin;  // nodes of the level, or subtrees
    uint end;
    uint num_rows;
    uint num_tiles;
    uint num_searches;
    uint seeds_each;
};

void read_labels(inout uvec4 least, uint rank, uint level, uint search) {
    for (uint seed = 0; seed < seeds_each; ++seed) {
        uint where = upward_labels_of(level, seed, seeds_each, search, num_searches);
        uvec4 place = rank - upward_labels[where].first_node;
        bvec4 is_on_path = lessThan(place, upward_labels[where].size);
        if (!any(is_on_path)) continue;
        uvec4 label = upward_labels[where].first + place;
        for (uint j = 0; j < 4; ++j) {
            if (is_on_path[j]) least[j] = min(least[j], label_distances[label[j]]);
        }
    }
}

// Whether the supernode of a node is on the path from a seed of four searches to the root. If not, no node below it is.
bool is_on_path(uint rank, uint level, uint search) {
    bool found = false;
    for (uint seed = 0; seed < seeds_each; ++seed) {
        uint where = upward_labels_of(level, seed, seeds_each, search, num_searches);
        found = found || any(lessThan(rank - upward_labels[where].first_node, upward_labels[where].size));
    }
    return found;
}

void main() {
    const uint QUADS = SEARCHES / 4, ABREAST = WORKGROUP_SIZE / QUADS;  // nodes, or subtrees
    uint parts = (end - begin + ABREAST - 1) / ABREAST, quad = gl_LocalInvocationIndex % QUADS;
    for (uint part = gl_WorkGroupID.x; part < parts * num_tiles; part += gl_NumWorkGroups.x) {
        uint tile = part / parts, number = begin + part % parts * ABREAST + gl_LocalInvocationIndex / QUADS;
        if (number >= end) continue;
        uint i = number, last = number + 1;
        if (ARE_SUBTREES != 0) {
            i = first_of[number];
            last = first_of[number + 1];
        }
        uint base = tile * num_rows * QUADS + quad, search = tile * SEARCHES + 4 * quad;
        uvec4 node = nodes[i], head = heads[i], weight = weights[i];
        bool has_labels = ARE_SUBTREES == 0 || is_on_path(node.x, node.w >> LEVEL_SHIFT, search);
        // The invocation reads what it has written itself, and what earlier dispatches have.
        while (true) {
            ++i;
            uint count = node.w & COUNT_MASK;
            uvec4 least = uvec4(UNREACHABLE), all_from = uvec4(UNREACHABLE);
            for (uint k = RECORD_ARCS; count != 0; k += RECORD_ARCS) {
                uvec4 from[RECORD_ARCS];
                for (uint j = 0; j < RECORD_ARCS; ++j) from[j] = dist[base + head[j] * QUADS];
                uvec4 of_arc = weight;
                bool has_more = k < count;
                if (has_more) {
                    // The last arc may be read several times.
                    for (uint j = 0; j < RECORD_ARCS; ++j) {
                        uvec2 arc = PAIR(arcs, node.z + min(k + j, count - 1));
                        head[j] = ARE_SOME != 0 ? row_of[arc.x] : arc.x;
                        weight[j] = arc.y;
                    }
                }
                for (uint j = 0; j < RECORD_ARCS; ++j) {
                    least = lesser(least, from[j], of_arc[j]);
                    all_from &= from[j];
                }
                if (!has_more) break;
            }
            if (has_labels) read_labels(least, node.x, node.w >> LEVEL_SHIFT, search);
            dist[base + node.y * QUADS] = least;
            report_overflow(least, all_from, search);
            if (i >= last) break;
            node = nodes[i];
            head = heads[i];
            weight = weights[i];
        }
    }
}
