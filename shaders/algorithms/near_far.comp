// One dispatch of near-far (Davidson, Baxter, Garland, Owens, 2014): work queues of (node, distance) instead of sweeps
// over all nodes. Nodes below the threshold are near and relax their arcs at once. Other nodes wait in the far pile,
// which is split at the next threshold when the near queue is empty. Entries whose node has been improved since are
// dropped.
//
// The invocations of a workgroup relax the arcs of its entries side by side, whatever the degrees: a prefix sum
// distributes the arcs. Nodes that are improved to a distance below the threshold go into a list in shared memory. They
// are processed in the same dispatch, for some rounds, while the queue is too short to keep the device busy: on a road
// network, latency takes most of the time, and a round within a workgroup has less latency than a dispatch. Without
// rounds, each subgroup keeps its own lists, so that relaxing thousands of arcs needs no barrier.
//
// If nodes have many arcs, most arcs improve nothing, because their weight alone exceeds the distance of every node. On
// such graphs, rows of arcs begin with the light arcs. Once all nodes are reached, an arc that leads beyond the
// farthest distance in the far pile is not even read.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifndef NO_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "prelude.glsl"
#include "split.glsl"
#include "near_far_state.glsl"
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { DISTANCE dist[]; };
layout(std430, binding = 4) readonly restrict buffer Rows { uvec2 row_of[]; };  // first arc and end, see split_rows
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) coherent buffer Near { ENTRIES near[]; };         // two halves
layout(std430, binding = 7) coherent buffer Far { ENTRIES far[]; };           // two halves
// The same distances, for reads that may be out of date: without `coherent` a nearer cache serves them.
layout(std430, binding = 8) readonly buffer SameDistances { DISTANCE same_dist[]; };
#include "targets.glsl"
#include "queue.glsl"
#include "scan.glsl"
#include "reduce.glsl"

layout(constant_id = 2) const uint ROUNDS = 16;
layout(constant_id = 3) const uint READ_FIRST = 0;
layout(constant_id = 4) const uint LEAST_ENTRIES = 8;  // least entries of a workgroup, if the queue is short
layout(constant_id = 5) const uint LIGHT_FIRST = 0;    // whether the arcs of a row are sorted by their weights
#define RELAX_READS_FIRST READ_FIRST
#if DISTANCE_BITS == 32
#define RELAX_READ(node) same_dist[node]
#endif
#define RELAX_IMPROVED(node, before) if (LIGHT_FIRST != 0 && before == UNREACHABLE && node < num_nodes) ++reached
uint reached = 0;

layout(push_constant) uniform Push {
    uint near_capacity;
    uint far_capacity;
    uint num_nodes;  // without the pieces of large ones
    uint reachable;  // nodes among them with an incoming arc; only if light arcs come first
};
#include "improve.glsl"

shared uint arcs_before[WORKGROUP_SIZE + 1];      // of the entries in lower slots
shared NODE_DISTANCE slot_entry[WORKGROUP_SIZE];  // first arc, distance

shared uint all_reached;
DISTANCE threshold, bound;  // of `step`
DISTANCE far_farthest = 0;
#include "near_far_lists.glsl"

// Return the first arc of a row that leads from `distance` to the bound or beyond. From there on no arc improves
// anything.
uint useful_end(uvec2 row, DISTANCE distance) {
    if (LIGHT_FIRST == 0 || bound == UNREACHABLE) return row.y;
    if (distance >= bound) return row.x;
    DISTANCE too_heavy = bound - distance;
    uint first = row.x, end = row.y;
    while (first < end) {
        uint middle = first + (end - first) / 2;
        if (PAIR(arcs, middle).y < too_heavy) first = middle + 1;
        else end = middle;
    }
    return first;
}

// Relax the arcs of the workgroup's entries, one or none for each invocation. All invocations must call this.
void expand(bool has_entry, NODE_DISTANCE entry) {
    uint first = 0, degree = 0;
    if (COUNTING > 0 && has_entry) ++visited;
    // An entry is out of date if its node is nearer by now. An outdated entry that seems current does no harm.
    if (has_entry && SHARED_DISTANCE(dist[uint(entry.x)]) >= entry.y) {
        uvec2 row = PAIR(row_of, uint(entry.x));
        first = row.x;
        degree = useful_end(row, entry.y) - row.x;
        if (COUNTING > 0) ++worked;
    }
    uint slot, before, total = workgroup_scan(degree, slot, before);
    arcs_before[slot + 1] = before + degree;
    if (gl_LocalInvocationIndex == 0) arcs_before[0] = 0;
    slot_entry[slot] = NODE_DISTANCE(first, entry.y);
    barrier();
    for (uint start = 0; start < total; start += ARCS_AT_ONCE * WORKGROUP_SIZE) {
        uint head[ARCS_AT_ONCE], place[ARCS_AT_ONCE];
        DISTANCE through[ARCS_AT_ONCE];
        uvec2 arc[ARCS_AT_ONCE];
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            uint at = start + i * WORKGROUP_SIZE + gl_LocalInvocationIndex, low = 0, high = WORKGROUP_SIZE;
            while (high - low > 1) {  // the slot that this arc belongs to
                uint middle = (low + high) / 2;
                if (arcs_before[middle] <= at) low = middle;
                else high = middle;
            }
            place[i] = at < total ? uint(slot_entry[low].x) + at - arcs_before[low] : NO_INDEX;
            through[i] = slot_entry[low].y;
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            arc[i] = place[i] != NO_INDEX ? PAIR(arcs, place[i]) : uvec2(0, NO_INDEX);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            head[i] = arc[i].x;
            through[i] = place[i] != NO_INDEX ? through_arc(through[i], arc[i].y) : UNREACHABLE;
        }
        improve(head, through);
        for (uint i = 0; i < ARCS_AT_ONCE && start + i * WORKGROUP_SIZE < total; ++i) {
            bool is_near = through[i] < threshold, is_far = !is_near && through[i] != UNREACHABLE;
            put(NODE_DISTANCE(head[i], through[i]), is_near, is_far);
            make_room();
        }
    }
}

void work_near(uint length, uint in_half) {
    uint lid = gl_LocalInvocationIndex, groups = gl_NumWorkGroups.x;
    uint each = clamp((length + groups - 1) / groups, min(LEAST_ENTRIES, WORKGROUP_SIZE), WORKGROUP_SIZE);
    for (uint start = gl_WorkGroupID.x * each; start < length; start += groups * each) {
        bool has_entry = lid < each && start + lid < length;
        NODE_DISTANCE entry = NODE_DISTANCE(0, UNREACHABLE);
        if (has_entry) entry = ENTRY(near, in_half * near_capacity + start + lid);
        expand(has_entry, entry);
    }
    // A longer queue keeps the device busy without rounds, and follows the order of the distances more closely.
    if (ROUNDS == 1 || length >= groups * WORKGROUP_SIZE) return;
    for (uint round_number = 1; round_number < ROUNDS; ++round_number) {
        uint count = near_count[out_list], in_list = out_list;
        if (count == 0) return;
        out_list = 1 - in_list;
        barrier();
        if (lid == 0) near_count[in_list] = 0;
        for (uint start = 0; start < count; start += WORKGROUP_SIZE) {
            bool has_entry = start + lid < count;
            NODE_DISTANCE entry = NODE_DISTANCE(0, UNREACHABLE);
            if (has_entry) entry = near_list[in_list * LIST + start + lid];
            expand(has_entry, entry);
        }
    }
}

void split_far(uint length, uint in_half) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint start = gl_WorkGroupID.x * WORKGROUP_SIZE; start < length; start += stride) {
        uint at = start + gl_LocalInvocationIndex;
        NODE_DISTANCE entry = NODE_DISTANCE(0, UNREACHABLE);
        bool is_current = false;
        if (at < length) {
            if (COUNTING > 0) ++visited;
            entry = ENTRY(far, in_half * far_capacity + at);
            is_current = SHARED_DISTANCE(dist[uint(entry.x)]) >= entry.y;
            if (is_current) far_farthest = max(far_farthest, entry.y);
        }
        put(entry, is_current && entry.y < threshold, is_current && entry.y >= threshold);
        make_room();
    }
}

// Add this workgroup's results to the state from which the bound follows. All invocations must call this.
void fold_bound() {
    DISTANCE farthest = UNREACHABLE - workgroup_min(UNREACHABLE - far_farthest);
    if (reached != 0) atomicAdd(all_reached, reached);
    barrier();
    if (gl_LocalInvocationIndex != 0) return;
    if (farthest != 0) atomicMax(state.far_farthest, farthest);
    if (all_reached != 0) atomicAdd(state.reached, all_reached);
}

// Decide what the next dispatch does. It is the last thing of all, so it reads everything at once, before it writes.
void advance() {
    bool splits = step[PHASE] == SPLIT;
    uint near_next = state.near_next, far_length = state.far_length, far_next = state.far_next;
    uint overflown = state.queue_overflow;
    DISTANCE nearest = state.far_nearest;
    DISTANCE farthest = LIGHT_FIRST != 0 ? state.far_farthest : 0;
    uint reached_by_now = LIGHT_FIRST != 0 ? state.reached : 0;
    uint entries = uint(splits ? step[SPLIT_LENGTH] : step[NEAR_LENGTH]);
    finish_iteration(uint(step[PHASE]), step[LOW], step[THRESHOLD], 0, max(entries, 1) - 1);
    if (overflown != 0) {
        loop.step[DONE] = 1;
        return;
    }
    if (splits) {
        far_length = far_next;
        state.far_length = far_length;
        state.far_next = 0;
        loop.step[FAR_PARITY] = 1 - step[FAR_PARITY];
    }
    // The near queue is empty when the pile is split, so all nodes that are not final wait in the pile.
    if (LIGHT_FIRST != 0) {
        if (splits && reached_by_now == reachable) loop.step[BOUND] = farthest;
        state.far_farthest = 0;
    }
    state.near_next = 0;
    loop.step[NEAR_PARITY] = 1 - step[NEAR_PARITY];
    loop.step[NEAR_LENGTH] = near_next;
    if (near_next != 0) {
        loop.step[PHASE] = NEAR;
        return;
    }
    // Every distance below the threshold is final, and every other distance is at least the far pile's nearest.
    if (update_best() < step[THRESHOLD] || far_length == 0) {
        loop.step[DONE] = 1;
        return;
    }
    DISTANCE delta = widened(step[DELTA], step[WIDEST]);
    state.far_nearest = UNREACHABLE;
    loop.step[PHASE] = SPLIT;
    loop.step[LOW] = nearest;
    loop.step[THRESHOLD] = extend(nearest, delta);
    loop.step[DELTA] = delta;
    loop.step[SPLIT_LENGTH] = far_length;
    loop.step[BUCKETS] = step[BUCKETS] + 1;
}

void main() {
    if (gl_LocalInvocationIndex == 0) {
        near_count[0] = near_count[1] = far_count = 0;
        all_reached = 0;
    }
    if (search_is_over()) return;
    threshold = step[THRESHOLD];
    bound = step[BOUND];
    uint near_in = uint(step[NEAR_PARITY]), far_in = uint(step[FAR_PARITY]);
    near_half = 1 - near_in;
    if (step[PHASE] == SPLIT) {
        far_half = 1 - far_in;
        split_far(uint(step[SPLIT_LENGTH]), far_in);
    } else {
        far_half = far_in;
        work_near(uint(step[NEAR_LENGTH]), near_in);
    }
    flush_lists();
    far_nearest = workgroup_min(far_nearest);
    if (gl_LocalInvocationIndex == 0 && far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (LIGHT_FIRST != 0) fold_bound();
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
