// Finds the arcs of the shortest ways of a pair in the hierarchy: up to where the ways from both ends meet, and down. All
// of them, since several may be equally short, and each algorithm is to find the same one. One workgroup, of which one
// half goes down to the source and the other to the target, from supernode to supernode; see phast_pairs.comp.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(constant_id = 1) const uint HEIGHT = 128;
layout(std430, binding = 7) readonly restrict buffer Ways { uvec4 ways[]; };  // position, distance, nodes of its supernode

layout(push_constant) uniform Push {
    uint pair;
    uint source;
    uint target;
    uint best;  // length of the way
    uint most;
    uint num_positions;
};

shared uint is_marked[2 * HEIGHT];     // whether the node of some depth lies on a shortest way
shared uint supernode_at[2 * HEIGHT];  // its supernode

uint depth_of(uint position) {
    Supernode s = supernodes[supernode_of[position]];
    return s.depth + position - s.first_node;
}

void main() {
    uint lid = gl_LocalInvocationIndex, half_size = WORKGROUP_SIZE / 2;
    uint bottom[2] = {depth_of(source), depth_of(target)}, at[2] = {0, 0}, count[2];
    uint first_way = 2 * pair * HEIGHT;
    for (uint i = lid; i < 2 * HEIGHT; i += WORKGROUP_SIZE) {
        uint side = i / HEIGHT, depth = i % HEIGHT;
        is_marked[i] = 0;
        if (depth > bottom[side]) continue;
        uvec4 here = ways[first_way + i];
        supernode_at[i] = supernode_of[here.x];
        if (depth > bottom[1 - side]) continue;
        uvec4 there = ways[first_way + (1 - side) * HEIGHT + depth];
        bool is_met = here.x == there.x && here.y != UNREACHABLE && extend(here.y, there.y) == best;
        is_marked[i] = uint(is_met);
    }
    if (lid == 0) find_node(source, ways[first_way + bottom[0]].y, most);
    barrier();
    uint side = lid / half_size, begin = side * HEIGHT, lane = lid % half_size, lanes = half_size;
    while (at[0] <= bottom[0] || at[1] <= bottom[1]) {
        for (uint i = 0; i < 2; ++i) count[i] = at[i] <= bottom[i] ? ways[first_way + i * HEIGHT + at[i]].z : 0;
        uint nodes = count[side], first = begin + at[side];
        Supernode s;
        if (nodes != 0) s = supernodes[supernode_at[first]];
        // From or to ancestors outside it.
        uint pairs = nodes == 0 ? 0 : nodes * s.num_ancestors;
        for (uint t = lane; t < pairs; t += lanes) {
            uint i = t / s.num_ancestors, k = t % s.num_ancestors;
            uint above = begin + ancestor_depth[s.first_ancestor + k];
            if (is_marked[above] == 0) continue;
            uint word = 2 * (first_arc_of(s, i) + k) + side, near = ways[first_way + first + i].y;
            uvec4 far = ways[first_way + above];
            if (near == UNREACHABLE || weight[word] == UNREACHABLE || extend(near, weight[word]) != far.y) continue;
            atomicOr(is_marked[first + i], 1);
            find_arc(s.first_node + i, far.x, word, side == 0 ? near : best - far.y, most, num_positions);
        }
        barrier();
        // Inside it, where one step is enough to get from any node to any other: first the nodes, then the arcs.
        for (uint step = 0; step < 2; ++step) {
            uint all = nodes > 1 ? nodes * (nodes - 1) : 0;
            for (uint t = lane; t < all; t += lanes) {
                uint i = t / nodes + 1, k = t % nodes;
                if (k >= i || (atomicOr(is_marked[first + k], 0) & (step == 0 ? 1 : 3)) == 0) continue;
                uint word = 2 * (first_arc_of(s, i) + s.num_ancestors + k) + side;
                uint near = ways[first_way + first + i].y, far = ways[first_way + first + k].y;
                if (near == UNREACHABLE || weight[word] == UNREACHABLE || extend(near, weight[word]) != far) continue;
                // What this step marks it does not look at, so that the order does not matter.
                if (step == 0) atomicOr(is_marked[first + i], 2);
                else find_arc(s.first_node + i, s.first_node + k, word, side == 0 ? near : best - far, most, num_positions);
            }
            barrier();
        }
        at[0] += count[0];
        at[1] += count[1];
    }
    check_loops();
}
