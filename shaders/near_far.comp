// One dispatch of near-far (Davidson, Baxter, Garland, Owens, 2014): work queues of (node, distance) instead of sweeps
// over all nodes. Nodes below the threshold are near and relax their arcs at once, others wait in the far pile, which is
// split at the next threshold when nothing near is left; entries whose node has been improved since are dropped.
//
// The invocations of a workgroup walk the arcs of its entries side by side, whatever their degrees: a prefix sum deals
// them out. What they improve to below the threshold goes into a list in shared memory and is worked on in the same
// dispatch, for some rounds, while the queue is too short to keep the device busy: on a road network the time is
// latency, and a round within a workgroup has less of it than a dispatch.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "near_far_state.glsl"
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) coherent buffer Near { uvec2 near[]; };           // two halves
layout(std430, binding = 7) coherent buffer Far { uvec2 far[]; };             // two halves
#include "targets.glsl"
#include "queue.glsl"
#include "scan.glsl"
#include "reduce.glsl"

layout(constant_id = 2) const uint ROUNDS = 16;
layout(constant_id = 3) const uint READ_FIRST = 0;  // read a distance before the atomic minimum on it
const uint LIST = 2 * WORKGROUP_SIZE;

layout(push_constant) uniform Push {
    uint near_capacity;
    uint far_capacity;
};

shared uint arcs_before[WORKGROUP_SIZE + 1];  // of the entries in lower slots
shared uvec2 slot_entry[WORKGROUP_SIZE];      // first arc, distance
shared uvec2 list[2 * LIST];                  // nodes to work on in this round and in the next
shared uint list_length[2];
shared uint flush_base;

uint threshold, far_half, near_half;
uint far_nearest = UNREACHABLE;

void push_near(uvec2 entry, bool has_entry) {
    uint place;
    TAKE_PLACES(state.near_next, has_entry, place)
    if (!has_entry) return;
    if (place < near_capacity) near[near_half * near_capacity + place] = entry;
    else atomicOr(state.queue_overflow, NEAR_OVERFLOW);
}

// Improve the node at the end of an arc and put it where it belongs. All invocations must come here.
void relax(bool has_arc, uint distance, uint arc, uint out_list) {
    uvec2 entry = uvec2(0, UNREACHABLE);
    bool is_near = false, is_far = false;
    if (has_arc) {
        uvec2 head_weight = arcs[arc];
        uint through = extend(distance, head_weight.y);
        if (COUNTING > 0) ++relaxed;
        if (through == UNREACHABLE) {
            sum_overflow = true;
        } else if ((READ_FIRST == 0 || through < dist[head_weight.x]) &&
                   through < atomicMin(dist[head_weight.x], through)) {
            if (COUNTING > 0) ++improved_count;
            entry = uvec2(head_weight.x, through);
            is_near = through < threshold;
            is_far = !is_near;
        }
    }
    if (is_near) {
        uint place = atomicAdd(list_length[out_list], 1);
        if (place < LIST) {
            list[out_list * LIST + place] = entry;
            is_near = false;
        }
    }
    push_near(entry, is_near);
    uint place;
    TAKE_PLACES(state.far_length, is_far, place)
    if (is_far) {
        far_nearest = min(far_nearest, entry.y);
        if (place < far_capacity) far[far_half * far_capacity + place] = entry;
        else atomicOr(state.queue_overflow, FAR_OVERFLOW);
    }
}

// Relax all arcs of the workgroup's entries, one or none for each invocation. All must come here.
void expand(bool has_entry, uvec2 entry, uint out_list) {
    uint first = 0, degree = 0;
    if (COUNTING > 0 && has_entry) ++visited;
    if (has_entry && dist[entry.x] == entry.y) {
        first = first_out[entry.x];
        degree = first_out[entry.x + 1] - first;
        if (COUNTING > 0) ++worked;
    }
    uint slot, before, total = workgroup_scan(degree, slot, before);
    arcs_before[slot + 1] = before + degree;
    if (gl_LocalInvocationIndex == 0) arcs_before[0] = 0;
    slot_entry[slot] = uvec2(first, entry.y);
    barrier();
    for (uint start = 0; start < total; start += WORKGROUP_SIZE) {
        uint at = start + gl_LocalInvocationIndex, low = 0, high = WORKGROUP_SIZE;
        while (high - low > 1) {  // the slot that this arc belongs to
            uint middle = (low + high) / 2;
            if (arcs_before[middle] <= at) low = middle;
            else high = middle;
        }
        relax(at < total, slot_entry[low].y, slot_entry[low].x + at - arcs_before[low], out_list);
    }
    barrier();
}

void work_near(uint length) {
    uint lid = gl_LocalInvocationIndex, groups = gl_NumWorkGroups.x;
    // Few entries are spread over all workgroups, some to each so that not all of them have the cost of a list.
    uint each = clamp((length + groups - 1) / groups, min(8, WORKGROUP_SIZE), WORKGROUP_SIZE);
    uint in_half = state.near_parity;
    near_half = 1 - in_half;
    if (lid == 0) list_length[0] = list_length[1] = 0;
    barrier();
    uint out_list = 0;
    for (uint start = gl_WorkGroupID.x * each; start < length; start += groups * each) {
        bool has_entry = lid < each && start + lid < length;
        uvec2 entry = uvec2(0, UNREACHABLE);
        if (has_entry) entry = near[in_half * near_capacity + start + lid];
        expand(has_entry, entry, out_list);
    }
    uint rounds = length < groups * WORKGROUP_SIZE ? ROUNDS : 1;
    uint found = min(list_length[0], LIST);
    for (uint round_number = 1; round_number < rounds && found != 0; ++round_number) {
        uint in_list = out_list;
        out_list = 1 - in_list;
        barrier();
        if (lid == 0) list_length[out_list] = 0;
        barrier();
        for (uint start = 0; start < found; start += WORKGROUP_SIZE) {
            bool has_entry = start + lid < found;
            uvec2 entry = uvec2(0, UNREACHABLE);
            if (has_entry) entry = list[in_list * LIST + start + lid];
            expand(has_entry, entry, out_list);
        }
        found = min(list_length[out_list], LIST);
    }
    if (found == 0) return;
    if (lid == 0) flush_base = atomicAdd(state.near_next, found);
    barrier();
    for (uint i = lid; i < found; i += WORKGROUP_SIZE) {
        uint place = flush_base + i;
        if (place < near_capacity) near[near_half * near_capacity + place] = list[out_list * LIST + i];
        else atomicOr(state.queue_overflow, NEAR_OVERFLOW);
    }
}

void split_far(uint length) {
    near_half = 1 - state.near_parity;
    uint step = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint start = gl_WorkGroupID.x * WORKGROUP_SIZE; start < length; start += step) {
        uint at = start + gl_LocalInvocationIndex;
        uvec2 entry = uvec2(0, UNREACHABLE);
        bool is_current = false;
        if (at < length) {
            if (COUNTING > 0) ++visited;
            entry = far[far_half * far_capacity + at];
            is_current = dist[entry.x] == entry.y;
        }
        push_near(entry, is_current && entry.y < threshold);
        bool stays = is_current && entry.y >= threshold;
        uint place;
        TAKE_PLACES(state.far_next, stays, place)
        if (stays) {  // never more than there were
            far_nearest = min(far_nearest, entry.y);
            far[(1 - far_half) * far_capacity + place] = entry;
        }
    }
}

// Decide what the next dispatch does.
void advance() {
    uint last = state.phase == NEAR ? state.near_length : state.far_length;
    finish_iteration(state.phase, state.low, state.threshold, 0, last == 0 ? 0 : last - 1);
    if (state.queue_overflow != 0) {
        loop.done = 1;
        return;
    }
    if (state.phase == SPLIT) {
        state.far_parity = 1 - state.far_parity;
        state.far_length = state.far_next;
        state.far_next = 0;
    }
    state.near_parity = 1 - state.near_parity;
    state.near_length = state.near_next;
    state.near_next = 0;
    if (state.near_length != 0) {
        state.phase = NEAR;
        return;
    }
    // Every distance below the threshold is final, and no other lies below the far pile's nearest.
    if (update_best() < state.threshold || state.far_length == 0) {
        loop.done = 1;
        return;
    }
    state.phase = SPLIT;
    state.buckets += 1;
    state.low = state.far_nearest;
    state.threshold = extend(state.far_nearest, state.delta);
    state.far_nearest = UNREACHABLE;
}

void main() {
    if (loop.done != 0) return;
    threshold = state.threshold;
    far_half = state.far_parity;
    if (state.phase == NEAR) work_near(state.near_length);
    else split_far(state.far_length);
    far_nearest = workgroup_min(far_nearest);
    if (gl_LocalInvocationIndex == 0 && far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
