// Packing of the downward arcs for sweeps: writes the ancestors and weights of the arcs to each node side by side, from
// the start of the node's row on.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
layout(std430, binding = 5) readonly restrict buffer Marks { WORDS is_needless[]; };
#define RANGES_BINDING 6
#include "packed_arcs.glsl"

layout(push_constant) uniform Push {
    uint count;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        Supernode s = SUPERNODE(supernode_of[i]);
        pack_arcs(s, i - s.first_node);
    }
    check_loops();
}
