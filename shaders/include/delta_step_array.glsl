// Part of delta-stepping with an array of buckets (Song and Du, 2021, after Meyer and Sanders, 2003) that does not
// depend on how arcs are distributed. `bucket_of` maps each node to its bucket. The light arcs (weight at most delta)
// of the bucket's nodes are relaxed until the bucket is stable, then their heavy arcs once. The heavy sweep also finds
// the next bucket, the least index that is left. A node has no work if its distance is the one that it last relaxed its
// light arcs with. The host's twin of State is STATE in vkssp/algorithms/delta_step_array.py.

// Phases of a sweep.
const uint SORT = 0;   // the first: puts the seeds into their buckets
const uint LIGHT = 1;
const uint HEAVY = 2;

#include "loop_state.glsl"

// Own words of `step`.
const uint PHASE = OWN_STEP;
const uint DELTA = OWN_STEP + 1;
const uint BUCKET = OWN_STEP + 2;   // index of the present one
const uint BUCKETS = OWN_STEP + 3;  // number of buckets so far

struct State {
    uint changed;  // the sweep improved a node of the bucket
    uint next;     // least index of a later bucket that has nodes
};
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) coherent buffer Buckets { uint bucket_of[]; };
// distance that light arcs were relaxed with
layout(std430, binding = 7) restrict buffer Relaxed { uint relaxed_at[]; };
#include "targets.glsl"
#include "reduce.glsl"
#define RELAX_READS_FIRST 1
#include "relax.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

uint phase, delta, bucket;  // copies of the state for this sweep
uint next = UNREACHABLE;
bool changed = false;

shared bool any_changed;

void improved(uint head, uint distance) {
    uint index = distance / delta;
    atomicMin(bucket_of[head], index);
    if (phase == LIGHT && index == bucket) changed = true;
    else if (index > bucket) next = min(next, index);
}

uint working_distance(uint node) {
    if (phase == SORT) {
        uint distance = dist[node];
        if (distance != UNREACHABLE) {
            bucket_of[node] = distance / delta;
            next = min(next, distance / delta);
        }
        return UNREACHABLE;
    }
    uint index = bucket_of[node];
    if (index != bucket) {
        if (index > bucket) next = min(next, index);
        return UNREACHABLE;
    }
    uint distance = dist[node];
    if (phase == HEAVY) return distance;
    if (distance >= relaxed_at[node]) return UNREACHABLE;
    relaxed_at[node] = distance;
    return distance;
}

void advance() {
    uint low = bucket * delta, some_changed = state.changed, next_bucket = state.next;
    finish_iteration(phase, low, extend(low, delta), 0, num_nodes - 1);
    if (phase == LIGHT) {
        if (some_changed == 0) loop.step[PHASE] = HEAVY;
    } else {  // every distance below the bucket's end is final
        uint best = update_best();
        if (next_bucket == UNREACHABLE || best / delta < next_bucket) {
            loop.step[DONE] = 1;
            return;
        }
        loop.step[PHASE] = LIGHT;
        loop.step[BUCKET] = next_bucket;
        loop.step[BUCKETS] = step[BUCKETS] + 1;
    }
    state.changed = 0;
    state.next = UNREACHABLE;
}

void for_every_node(uint num_nodes);

void main() {
    if (gl_LocalInvocationIndex == 0) any_changed = false;
    if (search_is_over()) return;
    phase = step[PHASE];
    delta = step[DELTA];
    bucket = step[BUCKET];
    if (phase == LIGHT) heaviest = delta;
    else lightest = extend(delta, 1);
    for_every_node(num_nodes);
    next = workgroup_min(next);
    if (changed) any_changed = true;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        if (any_changed) atomicMax(state.changed, 1);
        if (next != UNREACHABLE) atomicMin(state.next, next);
    }
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
