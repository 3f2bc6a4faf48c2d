// Arcs of the hierarchy that a pair's upward searches may have taken last: those from a node on the path to the root to
// one above it that fit the distances of both. Few do: most nodes were reached in one way only. phast_mark.comp chooses
// those on shortest paths. Many workgroups do this for each path; invocations share the arcs of a node.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
#include "unpack_arcs.glsl"
#include "fitting_arcs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;

layout(push_constant) uniform Push {
    uint most;
    uint num_nodes;
    uint marks_each;
    uint lanes;  // of a node, a power of two
};

void put_fitting(uvec4 ends, uvec4 more) {
    uint place = atomicAdd(HEADER.num_fitting, 1);
    if (place >= MOST_FITTING) {
        HEADER.has_no_room = 1;
        return;
    }
    FITTING(2 * place) = ends;
    FITTING(2 * place + 1) = more;
}

void main() {
    uint lane = gl_LocalInvocationIndex % lanes, each = WORKGROUP_SIZE / lanes;
    for (uint number = 0; number < HEADER.num_jobs; ++number) {
        uvec4 job = jobs[HEADER.first_pair + number];
        uint best = job.w;
        uvec2 first_labels = first_labels_of(job.x);
        uint counts[2] = {depth_of(job.y) + 1, depth_of(job.z) + 1};
        for (uint t = gl_WorkGroupID.x * each + gl_LocalInvocationIndex / lanes; t < counts[0] + counts[1];
             t += gl_NumWorkGroups.x * each) {
            uint side = t < counts[0] ? 0 : 1, depth = t - side * counts[0];
            uint labels_of_side = first_labels[side];
            uvec4 label = labels[labels_of_side + depth];
            uint rank = label.x, near = label.y;
            if (near > best) continue;  // not reached, or not on the way
            uint group = supernode_of[rank];
            Supernode s = SUPERNODE(group);
            uint place = rank - s.first_node, first = first_arc_of(s, place);
            for (uint k = lane; k < s.num_ancestors + place; k += lanes) {
                uint word = 2 * (first + k) + side, weight = WEIGHT(word);
                uint above = k < s.num_ancestors ? WORD(ancestor_depth, s.first_ancestor + k) : s.depth + k - s.num_ancestors;
                uvec4 upper = labels[labels_of_side + above];
                if (weight == UNREACHABLE || extend(near, weight) != upper.y || upper.y > best) continue;
                uvec4 ends = uvec4(rank, upper.x, word, side == 0 ? near : best - upper.y);
                put_fitting(ends, uvec4(group, above, weight, packed(side, depth, number)));
            }
        }
    }
    check_loops();
}
