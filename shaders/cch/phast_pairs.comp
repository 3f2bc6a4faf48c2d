// Distances of many pairs of nodes, with a workgroup for each pair: upward searches from both ends, one after the other,
// and the least distance over the nodes where they meet. Few pairs, and those of paths, have phast_few_pairs.comp.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define PATH_BINDING 7
#define PATH_ARRAYS 4
#include "upward_search.glsl"
// source, its offset, target, its offset
layout(std430, binding = 5) readonly restrict buffer Pairs { uvec4 pairs[]; };
// distance, whether a sum did not fit
layout(std430, binding = 6) writeonly restrict buffer Answers { uvec2 answers[]; };

layout(push_constant) uniform Push {
    uint num_pairs;
};

shared uvec2 forward[NUM_SHARED];  // node and distance in the upward search from the source, by depth
shared uint best, has_overflow;
bool is_back;
uint source_depth;

uvec2 forward_at(uint depth) {
    return is_shared(depth) ? forward[depth] : uvec2(entries[entry_at(2, depth)], entries[entry_at(3, depth)]);
}

void put_forward(uint depth, uvec2 label) {
    if (is_shared(depth)) {
        forward[depth] = label;
    } else {
        entries[entry_at(2, depth)] = label.x;
        entries[entry_at(3, depth)] = label.y;
    }
}

void handle_label(Supernode s, uint place, uint count, uint before) {
    if (place >= count) return;
    uint rank = s.first_node + place, depth = s.depth + place, distance = found_at(depth);
    if (!is_back) {
        put_forward(depth, uvec2(rank, distance));
    } else if (depth <= source_depth && distance != UNREACHABLE) {
        uvec2 other = forward_at(depth);
        if (other.x != rank || other.y == UNREACHABLE) return;
        uint sum = extend(other.y, distance);
        if (sum == UNREACHABLE) {
            sum_overflow = true;
        } else {
            atomicMin(best, sum);
        }
    }
}

void main() {
    for (uint i = gl_WorkGroupID.x; i < num_pairs; i += gl_NumWorkGroups.x) {
        uvec4 pair = pairs[i];
        Supernode of_source = SUPERNODE(supernode_of[pair.x]);
        source_depth = of_source.depth + pair.x - of_source.first_node;
        sum_overflow = false;
        if (gl_LocalInvocationIndex == 0) best = UNREACHABLE;
        if (gl_LocalInvocationIndex == 0) has_overflow = 0;
        is_back = false;
        search_upward(pair.x, pair.y, false, NO_INDEX);
        is_back = true;
        search_upward(pair.z, pair.w, true, NO_INDEX);
        if (sum_overflow) atomicMax(has_overflow, 1);
        barrier();
        if (gl_LocalInvocationIndex == 0) answers[i] = uvec2(best, has_overflow);
        barrier();
    }
    check_loops();
}
