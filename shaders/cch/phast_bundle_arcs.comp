// Downward arcs in the order of bundles: those that phast_sweep.comp reads, but sorted by the places of nodes, and with
// the places of ancestors.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 0) readonly restrict buffer Ranges { uvec2 ranges[]; };    // first arc, number of arcs, by rank
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };        // rank of the ancestor, weight
layout(std430, binding = 2) readonly restrict buffer RankOf { uint rank_of[]; };    // of each place
layout(std430, binding = 3) readonly restrict buffer PlaceOf { uint place_of[]; };  // of each rank
layout(std430, binding = 4) readonly restrict buffer Firsts { uvec2 firsts[]; };    // of a place: its bundle's, its arc
layout(std430, binding = 5) restrict buffer PlacedArcs { uvec2 placed_arcs[]; };    // place of the ancestor, weight

layout(push_constant) uniform Push {
    uint num_nodes;
};

void main() {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < num_nodes; i += stride) {
        uvec2 range = PAIR(ranges, rank_of[i]), own = PAIR(firsts, i);
        uint end = PAIR(firsts, i + 1).y;
        for (uint k = own.y; k < end; ++k) {
            // There is room for the arcs that sweeps do not need, too.
            uvec2 arc = uvec2(own.x, UNREACHABLE);
            if (k - own.y < range.y) {
                arc = PAIR(arcs, range.x + k - own.y);
                arc.x = place_of[arc.x];
            }
            MUTABLE_PAIR(placed_arcs, k) = arc;
        }
    }
}
