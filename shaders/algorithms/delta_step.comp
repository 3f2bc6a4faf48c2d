// One sweep of delta_step (Niklaus, "Optimizing Delta-Step on the GPU", 2026). In a range of ids, the nodes whose
// distance lies in the current bucket and that changed in the last sweep relax their arcs.
//
// A workgroup takes a few chunks of 32 nodes per invocation at once. It first collects the nodes with work in shared
// memory, from the bitvector, one word per invocation and chunk. Wide ranges with few changed nodes thus cost one round
// trip to memory, and no invocation idles while another has many nodes. Then each invocation relaxes the arcs of one
// node. Waiting nodes have no bit: the first sweep of a bucket finds them by distance, in the range of the ids that
// were improved to a distance beyond an earlier bucket. The last workgroup to finish prepares the next sweep.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "prelude.glsl"
#include "split.glsl"
#include "delta_step_state.glsl"
#include "loop.glsl"

const uint CHUNK = 32 * WORKGROUP_SIZE;
const uint CHUNKS_AT_ONCE = 8;
const uint LIST = 8 * WORKGROUP_SIZE;  // nodes in the list; in a fuller range all invocations have work without it

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) coherent buffer Bits { uint bits[]; };  // two bitvectors, one after the other
#include "targets.glsl"
#define RELAX_READS_FIRST 0
#include "relax.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

shared uint list[LIST];
shared uint list_length;
shared uint changed_min, changed_max, waiting_min, waiting_max, waiting_distance, worked_min, worked_max, largest;

// What `step` says of this sweep.
struct Sweep {
    uint phase, low, high;
    uint first_node, last_node;
    uint bits, next_bits;  // starts of the bitvectors that the sweep reads and sets
    uint delta;            // least weight of a heavy arc, or 0
} sweep;

// This invocation's part of the sweep's reductions.
struct Fold {
    uvec2 changed, waiting, worked;  // least and largest id
    uint waiting_distance, largest;
} fold = Fold(uvec2(UNREACHABLE, 0), uvec2(UNREACHABLE, 0), uvec2(UNREACHABLE, 0), UNREACHABLE, 0);

void extend_range(inout uvec2 range, uint node) {
    range = uvec2(min(range.x, node), max(range.y, node));
}

void improved(uint node, uint distance) {
    fold.largest = max(fold.largest, distance);
    if (distance < sweep.high) {
        atomicOr(bits[sweep.next_bits + node / 32], 1u << (node & 31));
        extend_range(fold.changed, node);
    } else {
        extend_range(fold.waiting, node);
        fold.waiting_distance = min(fold.waiting_distance, distance);
    }
}

void work(uint node) {
    uint distance = dist[node], first = first_out[node], end = first_out[node + 1];
    if (distance < sweep.low || distance >= sweep.high) return;
    extend_range(fold.worked, node);
    if (COUNTING > 0) ++worked;
    relax_row(distance, first, end, 1);
}

// Find the nodes that have to work in a few chunks, the first of them `chunk`, and put them into the list.
void collect(uint chunk, uint end_chunk) {
    uint lid = gl_LocalInvocationIndex;
    if (sweep.phase == REPEAT) {
        uint words[CHUNKS_AT_ONCE];  // read together, because the reads are independent
        uint count = 0;
        for (uint i = 0; i < CHUNKS_AT_ONCE; ++i) {
            uint at = (chunk + i * gl_NumWorkGroups.x) * WORKGROUP_SIZE + lid;
            bool inside = at >= sweep.first_node / 32 && at <= sweep.last_node / 32;
            words[i] = inside ? bits[sweep.bits + at] : 0;
            count += bitCount(words[i]);
            if (COUNTING > 0 && inside) visited += 32;
        }
        if (count == 0) return;
        uint place = atomicAdd(list_length, count);
        for (uint i = 0; i < CHUNKS_AT_ONCE; ++i) {
            uint at = (chunk + i * gl_NumWorkGroups.x) * WORKGROUP_SIZE + lid;
            if (words[i] != 0) bits[sweep.bits + at] = 0;
            for (uint set = words[i]; set != 0; set &= set - 1, ++place) {
                uint node = 32 * at + findLSB(set);
                if (place < LIST) list[place] = node;
                else work(node);
            }
        }
        return;
    }
    for (uint i = 0; i < CHUNKS_AT_ONCE && chunk < end_chunk; ++i, chunk += gl_NumWorkGroups.x) {
        uint end = min(sweep.last_node + 1, (chunk + 1) * CHUNK);
        for (uint node = max(sweep.first_node, chunk * CHUNK) + lid; node < end; node += WORKGROUP_SIZE) {
            uint distance = dist[node];
            if (COUNTING > 0) ++visited;
            if (distance >= sweep.low && distance < sweep.high) {
                uint place = atomicAdd(list_length, 1);
                if (place < LIST) list[place] = node;
                else work(node);
            } else if (sweep.phase == FIRST && distance >= sweep.high && distance != UNREACHABLE) {
                extend_range(fold.waiting, node);
                fold.waiting_distance = min(fold.waiting_distance, distance);
            }
        }
    }
}

// Decide what the next sweep does. It is the last thing of all, so it reads everything at once, before it writes.
void advance() {
    uvec2 changed = uvec2(state.changed_min, state.changed_max), waiting = uvec2(state.waiting_min, state.waiting_max);
    uvec2 worked = uvec2(state.worked_min, state.worked_max);
    uint nearest = state.waiting_distance, largest = state.largest;
    finish_iteration(sweep.phase, sweep.low, sweep.high, sweep.first_node, sweep.last_node);
    if (changed.x <= changed.y) {  // the bucket is not stable yet
        loop.step[PHASE] = REPEAT;
        loop.step[PARITY] = 1 - step[PARITY];
        loop.step[FIRST_NODE] = changed.x;
        loop.step[LAST_NODE] = changed.y;
    } else if (step[LIGHT_HEAVY] != 0 && sweep.phase != HEAVY && worked.x <= worked.y) {
        loop.step[PHASE] = HEAVY;
        loop.step[FIRST_NODE] = worked.x;
        loop.step[LAST_NODE] = worked.y;
    } else {  // every distance below the bucket's end is final
        if (update_best() < sweep.high || largest < sweep.high || nearest == UNREACHABLE) {
            loop.step[DONE] = 1;
            return;
        }
        // The nearest waiting node may have been improved since. Its bucket may then be empty, but no bucket is missed.
        uint low = nearest - nearest % step[DELTA];
        loop.step[PHASE] = FIRST;
        loop.step[LOW] = low;
        loop.step[HIGH] = extend(low, step[DELTA]);
        loop.step[BUCKETS] = step[BUCKETS] + 1;
        loop.step[FIRST_NODE] = waiting.x;
        loop.step[LAST_NODE] = waiting.y;
        state.waiting_min = state.worked_min = UNREACHABLE;
        state.waiting_max = state.worked_max = 0;
        state.waiting_distance = UNREACHABLE;
    }
    state.changed_min = UNREACHABLE;
    state.changed_max = 0;
}

void main() {
    uint lid = gl_LocalInvocationIndex;
    if (lid == 0) {
        changed_min = waiting_min = worked_min = waiting_distance = UNREACHABLE;
        changed_max = waiting_max = worked_max = largest = 0;
    }
    if (search_is_over()) return;
    uint words = (num_nodes + 31) / 32;
    sweep = Sweep(step[PHASE], step[LOW], step[HIGH], step[FIRST_NODE], step[LAST_NODE], step[PARITY] * words,
                  (1 - step[PARITY]) * words, step[LIGHT_HEAVY] != 0 ? step[DELTA] : 0);
    if (sweep.delta != 0) {
        if (sweep.phase == HEAVY) lightest = sweep.delta;
        else heaviest = sweep.delta - 1;
    }

    uint end_chunk = sweep.last_node / CHUNK + 1, stride = CHUNKS_AT_ONCE * gl_NumWorkGroups.x;
    for (uint chunk = sweep.first_node / CHUNK + gl_WorkGroupID.x; chunk < end_chunk; chunk += stride) {
        if (lid == 0) list_length = 0;
        barrier();
        collect(chunk, end_chunk);
        barrier();
        uint length = min(list_length, LIST);
        for (uint i = lid; i < length; i += WORKGROUP_SIZE) work(list[i]);
        barrier();
    }

    barrier();
    if (fold.changed.x <= fold.changed.y) {
        atomicMin(changed_min, fold.changed.x);
        atomicMax(changed_max, fold.changed.y);
    }
    if (fold.waiting.x <= fold.waiting.y) {
        atomicMin(waiting_min, fold.waiting.x);
        atomicMax(waiting_max, fold.waiting.y);
        atomicMin(waiting_distance, fold.waiting_distance);
    }
    if (fold.worked.x <= fold.worked.y) {
        atomicMin(worked_min, fold.worked.x);
        atomicMax(worked_max, fold.worked.y);
        atomicMax(largest, fold.largest);
    }
    barrier();
    if (lid == 0) {
        if (changed_min <= changed_max) {
            atomicMin(state.changed_min, changed_min);
            atomicMax(state.changed_max, changed_max);
        }
        if (waiting_min <= waiting_max) {
            atomicMin(state.waiting_min, waiting_min);
            atomicMax(state.waiting_max, waiting_max);
            atomicMin(state.waiting_distance, waiting_distance);
        }
        if (worked_min <= worked_max) {
            atomicMin(state.worked_min, worked_min);
            atomicMax(state.worked_max, worked_max);
            atomicMax(state.largest, largest);
        }
    }
    if (last_workgroup() && lid == 0) advance();
}
