// Partial customization: keeps the weights before the change of those supernodes of a step that the change begins with,
// and replaces them by those of basic customization.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "hierarchy.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define BY_ARC
#define WEIGHTS_ACCESS restrict
#include "weights.glsl"
#include "affected.glsl"
#include "change.glsl"
#define BASIC_BINDING 4
#include "restored.glsl"

void note_part(uint group, uint first) {
}

layout(push_constant) uniform Push {
    uint begin;  // in the list
    uint level;
    uint lanes;  // invocations of a supernode, a power of two
};

void main() {
    uint stride = max(1, gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes), end = begin + state.count[level];
    if (state.gave_up == 0) {
        for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
            restore_part(listed[g].x, listed[g].y, gl_GlobalInvocationID.x % lanes, lanes);
        }
    }
    check_loops();
}
