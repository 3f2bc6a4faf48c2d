// Distances of eliminated nodes from those of the core and of nodes that were eliminated later. One dispatch does this
// for all nodes of a level (see vkssp/prepared/elimination.py); their arcs lie side by side, one of each node after the
// other, so that they are read in order. A distance that a seed gives to a node without the core is there before.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "loop_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer Arcs { uvec2 arcs[]; };  // tail, weight
layout(std430, binding = 1) restrict buffer Distances { uint dist[]; };
layout(std430, binding = 2) restrict buffer StateBuffer { Loop loop; };

layout(push_constant) uniform Push {
    uint first, count;  // nodes of the level
    uint width;         // arcs to each of them
    uint first_arc;
};

void main() {
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    // Not yet, or not any more: only after the search in the core are its distances right.
    if (loop.step[DONE] != 1) return;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += stride) {
        uint distance = dist[first + i];
        bool beyond = false;
        for (uint k = 0; k < width; ++k) {
            uvec2 arc = arcs[first_arc + k * count + i];
            uint tail = dist[arc.x], through = extend(tail, arc.y);
            beyond = beyond || through == UNREACHABLE && tail != UNREACHABLE && arc.y != UNREACHABLE;
            distance = min(distance, through);
        }
        dist[first + i] = distance;
        if (distance == UNREACHABLE && beyond) atomicOr(loop.overflow, 1);
    }
}
