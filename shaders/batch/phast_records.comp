// Records of the nodes that a batch sweeps, in the order of sweeps, for the present weights. What a sweep of a node needs
// first lies side by side, so that it need not find the first arcs before it reads them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"
const uint AT_ONCE = 4;
#include "swept.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 3) readonly restrict buffer Ranges { uvec2 ranges[]; };  // first arc, number of arcs, by rank
layout(std430, binding = 4) readonly restrict buffer Arcs { uvec2 arcs[]; };      // rank of the ancestor, weight
layout(std430, binding = 5) readonly restrict buffer RowOf { uint row_of[]; };    // in tiles, of each rank
layout(std430, binding = 6) readonly restrict buffer Ranks { uint ranks[]; };     // in the order of sweeps
layout(std430, binding = 7) writeonly restrict buffer Nodes { uvec4 nodes[]; };
layout(std430, binding = 8) writeonly restrict buffer Heads { uvec4 heads[]; };
layout(std430, binding = 9) writeonly restrict buffer Weights { uvec4 weights[]; };

layout(push_constant) uniform Push {
    uint num_swept;
};

uint row_at(uint rank) { return ARE_SOME != 0 ? row_of[rank] : rank; }

void main() {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < num_swept; i += stride) {
        uint rank = ranks[i];
        uvec2 range = PAIR(ranges, rank);
        // Sweeps read all of a record's arcs, without asking. Those that there are not repeat the first, and lead nowhere.
        uvec4 head = uvec4(0), weight = uvec4(UNREACHABLE);
        for (uint k = 0; k < RECORD_ARCS; ++k) {
            if (k < range.y) {
                uvec2 arc = PAIR(arcs, range.x + k);
                head[k] = row_at(arc.x);
                weight[k] = arc.y;
            } else {
                head[k] = head[0];
            }
        }
        nodes[i] = uvec4(rank, row_at(rank), range.x, range.y | SUPERNODE(supernode_of[rank]).level << LEVEL_SHIFT);
        heads[i] = head;
        weights[i] = weight;
    }
}
