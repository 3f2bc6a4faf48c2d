// Initial weights of the arcs of a hierarchy: that of the lightest arc of the graph between the same ends.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Given { uint given[]; };   // weights of the graph's arcs
layout(std430, binding = 1) readonly restrict buffer Places { uint place[]; };  // the word of WEIGHT for each of them
#define WEIGHTS_BINDING 2
#define WEIGHTS_ACCESS coherent
#include "weights.glsl"

layout(push_constant) uniform Push {
    uint count;
};

const uint NOWHERE = 0xFFFFFFFFu;  // a loop

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        // After a change of few weights, nearly no arc is heavier.
        if (place[i] != NOWHERE && given[i] < WEIGHT(place[i])) atomicMin(WEIGHT(place[i]), given[i]);
    }
}
