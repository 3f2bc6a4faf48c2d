// Partial customization: keeps the weights of listed supernodes of a level before the change, and replaces them by those
// of basic customization.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define BY_ARC
#define WEIGHTS_ACCESS restrict
#include "weights.glsl"
layout(std430, binding = 4) readonly restrict buffer Basic { uvec2 basic[]; };
#include "affected.glsl"
#include "change.glsl"
layout(std430, binding = 8) writeonly restrict buffer Before { uvec2 before[]; };
layout(std430, binding = 9) restrict buffer Marks { WORDS is_needless[]; };

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint level;
    uint lanes;  // invocations of a supernode, a power of two
};

void main() {
    uint stride = max(1, gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes), end = begin + state.count[level];
    if (state.gave_up == 0) {
        for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
            Supernode s = SUPERNODE(listed[g].x);
            for (uint i = gl_GlobalInvocationID.x % lanes; i < arcs_of(s); i += lanes) {
                before[listed[g].y + i] = WEIGHTS(s.first_arc + i);
                WEIGHTS(s.first_arc + i) = PAIR(basic, s.first_arc + i);
                MUTABLE_WORD(is_needless, s.first_arc + i) = 0;
            }
        }
    }
    check_loops();
}
