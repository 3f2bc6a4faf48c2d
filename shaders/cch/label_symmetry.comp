// Whether all arcs of a hierarchy weigh as much up as down, so that labels of one direction are enough.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#define BY_ARC
#define WEIGHTS_BINDING 0
#include "weights.glsl"
layout(std430, binding = 1) coherent buffer Result { uint differs; };

layout(push_constant) uniform Push {
    uint num_arcs;
};

void main() {
    bool is_other = false;
    for (uint arc = gl_GlobalInvocationID.x; arc < num_arcs; arc += gl_WorkGroupSize.x * gl_NumWorkGroups.x) {
        uvec2 both = WEIGHTS(arc);
        is_other = is_other || both.x != both.y;
    }
    if (is_other) differs = 1;
}
