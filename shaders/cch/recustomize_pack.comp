// Packing of the downward arcs of listed supernodes; see customize_pack.comp.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Ancestors { WORDS ancestors[]; };
#include "affected.glsl"
layout(std430, binding = 7) readonly restrict buffer Marks { WORDS is_needless[]; };
#include "packed_arcs.glsl"

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint level;
    uint lanes;  // invocations of a supernode, a power of two
};

void main() {
    uint stride = max(1, gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes), end = begin + state.count[level];
    for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
        Supernode s = SUPERNODE(listed[g].x);
        for (uint place = gl_GlobalInvocationID.x % lanes; place < s.size; place += lanes) pack_arcs(s, place);
    }
    check_loops();
}
