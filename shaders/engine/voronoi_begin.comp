// Start of the computation of Voronoi cells, after the distances are known: each source gets its own label, unless it
// is nearer to another source. All labels are NO_INDEX before.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 1) readonly restrict buffer Seeds { DISTANCE seeds[]; };  // node, offset, label; and again
layout(std430, binding = 2) restrict buffer Labels { uint label[]; };

layout(push_constant) uniform Push {
    uint num_seeds;
};

void main() {
    for (uint i = gl_GlobalInvocationID.x; i < num_seeds; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint node = uint(seeds[3 * i]);
        if (dist[node] == seeds[3 * i + 1]) label[node] = uint(seeds[3 * i + 2]);  // no node is in the list twice
    }
}
