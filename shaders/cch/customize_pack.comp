// Packing of the downward arcs for sweeps: writes the ancestors and weights of the arcs to each node side by side, from
// the start of the node's row on.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
layout(std430, binding = 3) readonly restrict buffer Weights { uint weight[]; };
layout(std430, binding = 4) readonly restrict buffer Ancestors { uint ancestors[]; };
layout(std430, binding = 5) readonly restrict buffer Marks { uint is_needless[]; };
layout(std430, binding = 6) restrict buffer Rows { uvec2 rows[]; };  // first arc, which does not change; number of arcs
layout(std430, binding = 7) writeonly restrict buffer Arcs { uvec2 arcs[]; };

layout(push_constant) uniform Push {
    uint count;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        Supernode s = supernodes[supernode_of[i]];
        uint first_arc = first_arc_of(s, i - s.first_node), first = rows[i].x, kept = 0;
        for (uint j = 0; j < s.num_ancestors; ++j) {
            uint down = weight[2 * (first_arc + j) + 1];
            if (down == UNREACHABLE || is_needless[first_arc + j] != 0) continue;
            arcs[first + kept] = uvec2(ancestors[s.first_ancestor + j], down);
            ++kept;
        }
        rows[i].y = kept;
    }
    check_loops();
}
