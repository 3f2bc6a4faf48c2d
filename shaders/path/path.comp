// Walk along a shortest path back from the best target to a seed, by the distances: an arc (u, v) is on a shortest path
// if dist[u] + weight = dist[v]. One workgroup looks at all arcs into a node at once and takes the first that fits, so
// that every device gives the same path. Arcs of weight zero lie on no cycles here except loops (see
// vkssp/prepared/renumbered.py), and loops are left out, so the walk ends. A dispatch takes some steps, each over a
// node or a chunk of its arcs; the next dispatch continues from there.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "split.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) readonly restrict buffer FirstIn { uint first_in[]; };
layout(std430, binding = 1) readonly restrict buffer ArcsIn { uvec2 arcs_in[]; };  // tail, weight
layout(std430, binding = 2) readonly restrict buffer Distances { DISTANCE dist[]; };
#include "path_walk.glsl"

layout(push_constant) uniform Push {
    uint num_seeds;
    uint num_targets;
    uint num_nodes;
    uint steps;
};

shared uint found;

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (done != 0) return;
    if (started == 0) {
        barrier();  // no invocation may set `started` before all have read it
        if (lid == 0) start_walk(num_seeds, num_targets);
        memoryBarrierBuffer();
        barrier();
    }
    uint at = node, count = length;
    for (uint spent = 0; spent < steps; ++spent) {
        if (lid == 0) found = NO_INDEX;
        barrier();
        DISTANCE distance = dist[at];
        for (uint i = lid; i < num_seeds; i += gl_WorkGroupSize.x) {
            if (uint(terminals[i].x) == at && terminals[i].y == distance) atomicMin(found, i);
        }
        barrier();
        uint reached = found;
        barrier();
        if (reached != NO_INDEX) {
            if (lid == 0) {
                seed = reached;
                done = 1;
            }
            break;
        }
        uint first = first_in[at], end = first_in[at + 1];
        // In chunks, since the first arc that fits is wanted and a hub has thousands of arcs.
        for (uint chunk = first; chunk < end; chunk += gl_WorkGroupSize.x, ++spent) {
            uint arc = chunk + lid;
            if (arc < end) {
                uvec2 tail_weight = PAIR(arcs_in, arc);
                bool fits = tail_weight.x != at && extend(dist[tail_weight.x], tail_weight.y) == distance;
                if (fits) atomicMin(found, arc);
            }
            barrier();
            bool hit = found != NO_INDEX;
            barrier();
            if (hit) break;
        }
        uint arc = found;
        barrier();
        // No arc fits, or the walk goes in circles: these are no shortest distances.
        if (arc == NO_INDEX || count >= num_nodes) {
            if (lid == 0) done = 2;
            break;
        }
        at = PAIR(arcs_in, arc).x;
        if (lid == 0) path[count] = arc;
        count += 1;
    }
    if (lid == 0) {
        node = at;
        length = count;
    }
}
