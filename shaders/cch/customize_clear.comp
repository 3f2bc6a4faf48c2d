// Beginning of customization: no arc has a weight or a mark. On a large GPU one kernel takes less time than commands that
// fill both buffers.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
#define BY_ARC
#define WEIGHTS_BINDING 0
#define WEIGHTS_ACCESS writeonly restrict
#include "weights.glsl"
layout(std430, binding = 1) restrict buffer Marks { WORDS is_needless[]; };  // by arc

layout(push_constant) uniform Push {
    uint count;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        WEIGHTS(i) = uvec2(UNREACHABLE);
        MUTABLE_WORD(is_needless, i) = 0;
    }
}
