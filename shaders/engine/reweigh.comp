// Update of weights in an array of arcs: of all arcs from a first one on, or of the arcs whose places follow the
// weights.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Changes { uint changes[]; };
#ifdef SPLIT_ARRAYS
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly restrict buffer ArcsPart { uint words[]; };
#else
layout(std430, binding = 1) writeonly restrict buffer Arcs { uint arcs[]; };
#endif

layout(push_constant) uniform Push {
    uint count;
    uint first;
    uint in_order;
    uint stride, offset;  // words of an arc, and which of them is the weight
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint place = in_order != 0 ? first + i : changes[count + i];
#ifdef SPLIT_ARRAYS
        ArcsPart(PART_OF(arcs, place, PART_BITS)).words[stride * IN_PART(place, PART_BITS) + offset] = changes[i];
#else
        arcs[stride * place + offset] = changes[i];
#endif
    }
}
