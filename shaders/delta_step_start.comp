// Begins a search of delta_step: seeds get their distances, and the state points to the bucket of the nearest.
// Distances and bits have been filled before.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "delta_step_state.glsl"

layout(local_size_x_id = 0) in;
layout(std430, binding = 0) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 1) writeonly restrict buffer StateBuffer { State state; };
#define TERMINALS_BINDING 2
#include "terminals.glsl"

layout(push_constant) uniform Push {
    uint delta;
    uint light_heavy;
    uint num_seeds;
    uint num_targets;
};

shared uint nearest, farthest, lowest_id, highest_id;

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (lid == 0) {
        nearest = UNREACHABLE;
        farthest = 0;
        lowest_id = UNREACHABLE;
        highest_id = 0;
    }
    barrier();
    for (uint i = lid; i < num_seeds; i += gl_WorkGroupSize.x) {
        uvec2 seed = terminals[i];
        atomicMin(dist[seed.x], seed.y);
        atomicMin(nearest, seed.y);
        atomicMax(farthest, seed.y);
        atomicMin(lowest_id, seed.x);
        atomicMax(highest_id, seed.x);
    }
    barrier();
    if (lid != 0) return;
    uint low = nearest - nearest % delta;
    state.ticket = 0;
    state.done = 0;
    state.phase = FIRST;
    state.parity = 0;
    state.low = low;
    state.high = extend(low, delta);
    state.first_node = lowest_id;
    state.last_node = highest_id;
    state.delta = delta;
    state.light_heavy = light_heavy;
    state.num_seeds = num_seeds;
    state.num_targets = num_targets;
    state.best = UNREACHABLE;
    state.overflow = 0;
    state.sweeps = 0;
    state.buckets = 1;
    state.changed_min = state.waiting_min = state.worked_min = UNREACHABLE;
    state.changed_max = state.waiting_max = state.worked_max = 0;
    state.waiting_distance = UNREACHABLE;
    state.largest = farthest;
}
