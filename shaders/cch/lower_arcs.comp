// The two lower arcs that each arc of the hierarchy stands for, or the arc of the graph, once for all paths that are
// unpacked with the same weights. A workgroup does this for all arcs from a node to its ancestors. It looks at all
// triangles of such an arc and a node below both of its ends. Weights after basic customization are those of paths over
// nodes below both ends. So each path has one triangle, that with the highest node between, and an arc whose perfect
// weight is smaller stands for no path. Of an arc that stands for none only that is stored. If it stands for several, all
// of them go to a list, from which lower_ties.comp chooses.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(constant_id = 1) const uint HEIGHT = 128;  // most nodes on a path to the root of the elimination tree
layout(constant_id = 2) const uint LANES = 8;     // invocations that share the arcs of a supernode below
layout(std430, binding = 3) readonly restrict buffer Basic { uvec2 basic[]; };      // after basic customization
layout(std430, binding = 10) readonly restrict buffer Perfect { uvec2 perfect[]; };  // after perfect customization
// of each supernode's ancestors
layout(std430, binding = 4) readonly restrict buffer Depths { uint ancestor_depth[]; };
// For each rank the start of the list of the supernodes that have it as ancestor; then these lists, each supernode with
// the place of the ancestor.
layout(std430, binding = 5) readonly restrict buffer Below { uint below[]; };
layout(std430, binding = 6) readonly restrict buffer Rows { uint first_in[]; };
layout(std430, binding = 7) readonly restrict buffer Arcs { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 8) readonly restrict buffer Ancestors { uint ancestors[]; };  // ranks
layout(std430, binding = 9) coherent buffer Lower { uvec2 lower[]; };
#define TIES_BINDING 11
#include "lower_arcs.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
    uint begin;  // ranks of the nodes of this dispatch
    uint end;
    uint room;  // for ties
};

// By depth, for the ancestors of the node: number of its arc there, times 16; then a bit for an upward triangle, another
// if there are several, and the same downward.
shared uint columns[HEIGHT];

void keep(uint depth, uint direction, uint first, uvec2 words) {
    uint bit = 1u << 2 * direction, before = atomicOr(columns[depth], bit), word = 2 * (first + before / 16) + direction;
    if ((before & bit) == 0) {
        lower[word] = words;
        return;
    }
    atomicOr(columns[depth], 2 * bit);
    put_tie(word, words, room);
}

bool fits(uint one, uint other, uint sum) {
    return sum != UNREACHABLE && one <= sum && other == sum - one;
}

// Look at the triangle of a node's arc to a depth and a node below, given by the arcs from there to both.
void look(uint depth, uint first, uint to_low, uvec2 weights, uint to_high) {
    uvec2 sums = basic[first + columns[depth] / 16], high = basic[to_high];
    if (weights.y != UNREACHABLE && fits(weights.y, high.x, sums.x)) {
        keep(depth, 0, first, uvec2(2 * to_low + 1, 2 * to_high));
    }
    if (high.y != UNREACHABLE && fits(high.y, weights.x, sums.y)) {
        keep(depth, 1, first, uvec2(2 * to_high + 1, 2 * to_low));
    }
}

// Return the place of the first arc of the graph with two ends and a weight, NO_INDEX if there is none.
uint arc_of(uint tail, uint head, uint sum) {
    for (uint k = first_in[head]; k < first_in[head + 1]; ++k) {
        if (arcs_in[k] == uvec2(tail, sum)) return k;
    }
    return NO_INDEX;
}

void main() {
    for (uint node = begin + gl_WorkGroupID.x; node < end; node += gl_NumWorkGroups.x) {
        Supernode s = SUPERNODE(supernode_of[node]);
        uint lid = gl_LocalInvocationIndex, place = node - s.first_node, first = first_arc_of(s, place);
        uint count = s.num_ancestors + place;
        for (uint k = lid; k < count; k += WORKGROUP_SIZE) {
            uint depth = k < s.num_ancestors ? ancestor_depth[s.first_ancestor + k] : s.depth + k - s.num_ancestors;
            columns[depth] = 16 * k;
        }
        barrier();
        // Nodes of the supernode below the node have the same ancestors as it.
        for (uint i = place + 1; i < s.size; ++i) {
            uint row = first_arc_of(s, i), to_low = row + s.num_ancestors + place;
            uvec2 weights = basic[to_low];
            if (weights == uvec2(UNREACHABLE)) continue;
            for (uint k = lid; k < count; k += WORKGROUP_SIZE) {
                uint depth = k < s.num_ancestors ? ancestor_depth[s.first_ancestor + k] : s.depth + k - s.num_ancestors;
                look(depth, first, to_low, weights, row + k);
            }
        }
        for (uint e = below[node] + lid / LANES; e < below[node + 1]; e += WORKGROUP_SIZE / LANES) {
            Supernode t = SUPERNODE(below[num_nodes + 1 + 2 * e]);
            uint column = below[num_nodes + 2 + 2 * e];  // those before it are above the node
            for (uint i = 0; i < t.size; ++i) {
                uint row = first_arc_of(t, i);
                uvec2 weights = basic[row + column];
                if (weights == uvec2(UNREACHABLE)) continue;
                for (uint k = lid % LANES; k < column; k += LANES) {
                    look(ancestor_depth[t.first_ancestor + k], first, row + column, weights, row + k);
                }
            }
        }
        memoryBarrierBuffer();
        barrier();
        for (uint k = lid; k < count; k += WORKGROUP_SIZE) {
            bool is_outside = k < s.num_ancestors;
            uint depth = is_outside ? ancestor_depth[s.first_ancestor + k] : s.depth + k - s.num_ancestors;
            uint above = is_outside ? ancestors[s.first_ancestor + k] : s.first_node + k - s.num_ancestors;
            uvec2 sums = basic[first + k], least = perfect[first + k];
            for (uint direction = 0; direction < 2; ++direction) {
                uint bits = columns[depth] >> 2 * direction & 3, sum = sums[direction], arc = NO_INDEX;
                uint word = 2 * (first + k) + direction;
                if (sum != least[direction] || sum == UNREACHABLE) {
                    lower[word] = uvec2(0, HAS_NONE);
                    continue;
                }
                arc = direction == 0 ? arc_of(node, above, sum) : arc_of(above, node, sum);
                if (bits == 1 && arc == NO_INDEX) continue;
                if (bits == 0) {
                    lower[word] = arc == NO_INDEX ? uvec2(NO_INDEX, HAS_SEVERAL) : uvec2(arc, IS_ARC);
                    continue;
                }
                if (arc != NO_INDEX) put_tie(word, uvec2(arc, IS_ARC), room);
                lower[word] = uvec2(put_tie(word, lower[word], room), HAS_SEVERAL);
            }
        }
        barrier();
    }
    check_loops();
}
