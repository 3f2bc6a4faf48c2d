// The arc into each node of the trees of rows of distances: of all arcs that fit, the one with the least id. An
// invocation takes a piece of the arcs into a node, so that no node with many arcs holds up the others.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 1) readonly restrict buffer Pieces { uvec2 pieces[]; };  // node, first arc
layout(std430, binding = 2) readonly restrict buffer Arcs { uvec2 arcs_in[]; };   // tail, weight
layout(std430, binding = 3) readonly restrict buffer Ids { WORDS ids[]; };
layout(std430, binding = 4) restrict buffer ArcsInto { uint arc_into[]; };

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_pieces;
    uint first_row;  // of the distances
    uint num_rows;
};

void main() {
    uint count = num_pieces * num_rows;
    for (uint at = gl_GlobalInvocationID.x; at < count; at += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint row = at / num_pieces, base = (first_row + row) * num_nodes;
        uvec2 piece = PAIR(pieces, at % num_pieces);
        DISTANCE distance = dist[base + piece.x];
        uint end = distance == UNREACHABLE ? piece.y : PAIR(pieces, at % num_pieces + 1).y;
        for (uint k = piece.y; k < end; ++k) {
            uvec2 tail_weight = PAIR(arcs_in, k);
            if (tail_weight.x != piece.x && extend(dist[base + tail_weight.x], tail_weight.y) == distance) {
                atomicMin(arc_into[row * num_nodes + piece.x], WORD(ids, k));
                break;
            }
        }
    }
}
