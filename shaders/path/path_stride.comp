// Walk back from the best target in jumps, which keeps the node at each landing. One workgroup takes some jumps per
// dispatch.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"

layout(std430, binding = 0) readonly restrict buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 1) readonly restrict buffer Jumps { uint jump[]; };
layout(std430, binding = 2) writeonly restrict buffer Marks { uint marks[]; };
#include "path_walk.glsl"

layout(push_constant) uniform Push {
    uint num_seeds;
    uint num_targets;
    uint most;   // room for marks
    uint steps;  // of this dispatch
};

void main() {
    if (gl_LocalInvocationIndex != 0 || done != 0) return;
    if (started == 0) start_walk(num_seeds, num_targets);
    uint at = node, count = length;
    for (uint spent = 0; spent < steps; ++spent) {
        uint next = jump[at];
        if (next == at) {
            // The node is a seed, or the distances are not shortest distances.
            done = 2;
            for (uint i = num_seeds; i-- > 0;) {
                if (uint(terminals[i].x) == at && terminals[i].y == dist[at]) {
                    seed = i;
                    done = 1;
                }
            }
            break;
        }
        if (count >= most) {
            done = 2;  // the walk goes in circles
            break;
        }
        marks[count] = at;
        count += 1;
        at = next;
    }
    node = at;
    length = count;
}
