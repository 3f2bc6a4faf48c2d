// One sweep of delta_step (Niklaus, "Optimizing Delta-Step on the GPU", 2026): the nodes of an id range whose distance
// lies in the current bucket and that changed in the last sweep relax their arcs.
//
// A workgroup takes tiles of 32 nodes per invocation. It first collects the nodes that work in shared memory, from the
// bitvector a word per invocation, so that wide ranges with few changed nodes cost little and no invocation of the
// second half idles; then an invocation relaxes a node's arcs. Waiting nodes have no bit: the first sweep of a bucket
// finds them by distance, in the range of ids that were improved to beyond an earlier bucket. The last workgroup to
// finish prepares the next sweep. It waits for nobody.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"
#include "delta_step_state.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 128;
const uint TILE = 32 * WORKGROUP_SIZE;

layout(std430, binding = 0) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 1) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 2) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 3) coherent buffer Bits { uint bits[]; };  // two bitvectors, one after the other
layout(std430, binding = 4) coherent buffer StateBuffer { State state; };
#define TERMINALS_BINDING 5
#include "terminals.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
};

shared uint tile_nodes[TILE];
shared uint tile_count;
shared uint changed_min, changed_max, waiting_min, waiting_max, waiting_distance, worked_min, worked_max, largest;
shared uint overflow;

// What the sweep reads of the state, once.
struct Sweep {
    uint phase, low, high;
    uint lightest, heaviest;  // weights of the arcs that it relaxes
    uint bits, next_bits;     // where the bitvectors start that it reads and sets
};

// This invocation's share of what the sweep folds.
struct Fold {
    uvec2 changed, waiting, worked;  // least and largest id
    uint waiting_distance, largest;
    bool overflow;
};

void extend_range(inout uvec2 range, uint node) {
    range = uvec2(min(range.x, node), max(range.y, node));
}

void relax(uint node, Sweep sweep, inout Fold fold) {
    uint distance = dist[node];
    if (distance < sweep.low || distance >= sweep.high) return;
    extend_range(fold.worked, node);
    for (uint arc = first_out[node], end = first_out[node + 1]; arc < end; ++arc) {
        uint head = arcs[arc].x, weight = arcs[arc].y;
        if (weight < sweep.lightest || weight > sweep.heaviest) continue;
        uint through = extend(distance, weight);
        if (through == UNREACHABLE) {
            fold.overflow = true;
            continue;
        }
        if (through >= atomicMin(dist[head], through)) continue;
        fold.largest = max(fold.largest, through);
        if (through < sweep.high) {
            uint bit = 1u << (head & 31);
            if ((atomicOr(bits[sweep.next_bits + head / 32], bit) & bit) == 0) extend_range(fold.changed, head);
        } else {
            extend_range(fold.waiting, head);
            fold.waiting_distance = min(fold.waiting_distance, through);
        }
    }
}

// Put the nodes of a tile that may have to work into shared memory.
void collect(uint tile, Sweep sweep, inout Fold fold) {
    uint lid = gl_LocalInvocationIndex;
    if (sweep.phase == REPEAT) {
        uint word = tile * WORKGROUP_SIZE + lid;
        if (word >= (num_nodes + 31) / 32) return;
        uint set = bits[sweep.bits + word];
        if (set == 0) return;
        bits[sweep.bits + word] = 0;
        uint place = atomicAdd(tile_count, bitCount(set));
        for (; set != 0; set &= set - 1) tile_nodes[place++] = 32 * word + findLSB(set);
        return;
    }
    uint last = min(num_nodes, (tile + 1) * TILE);
    for (uint node = tile * TILE + lid; node < last; node += WORKGROUP_SIZE) {
        uint distance = dist[node];
        if (distance >= sweep.low && distance < sweep.high) {
            tile_nodes[atomicAdd(tile_count, 1)] = node;
        } else if (sweep.phase == FIRST && distance >= sweep.high && distance != UNREACHABLE) {
            extend_range(fold.waiting, node);
            fold.waiting_distance = min(fold.waiting_distance, distance);
        }
    }
}

// Decide what the next sweep does. Runs in one invocation, when all others of the sweep have finished.
void advance() {
    state.sweeps += 1;
    bool light_heavy = state.light_heavy != 0;
    if (state.changed_min <= state.changed_max) {  // the bucket is not stable yet
        state.phase = REPEAT;
        state.parity = 1 - state.parity;
        state.first_node = state.changed_min;
        state.last_node = state.changed_max;
    } else if (light_heavy && state.phase != HEAVY) {
        state.phase = HEAVY;
        state.first_node = state.worked_min;
        state.last_node = state.worked_max;
    } else {  // every distance below the bucket's end is final
        uint best = best_target(state.num_seeds, state.num_targets);
        uint nearest = state.waiting_distance;
        state.best = best;
        if (best < state.high || state.largest < state.high || nearest == UNREACHABLE) {
            state.done = 1;
            return;
        }
        // The nearest waiting node may have been improved since, so its bucket may turn out empty, but none is missed.
        state.phase = FIRST;
        state.low = nearest - nearest % state.delta;
        state.high = extend(state.low, state.delta);
        state.buckets += 1;
        state.first_node = state.waiting_min;
        state.last_node = state.waiting_max;
        state.waiting_min = state.worked_min = UNREACHABLE;
        state.waiting_max = state.worked_max = 0;
        state.waiting_distance = UNREACHABLE;
    }
    state.changed_min = UNREACHABLE;
    state.changed_max = 0;
    state.ticket = 0;
}

void main() {
    if (state.done != 0) return;
    uint lid = gl_LocalInvocationIndex;
    uint words = (num_nodes + 31) / 32;
    Sweep sweep = Sweep(state.phase, state.low, state.high, 0, UNREACHABLE, state.parity * words,
                        (1 - state.parity) * words);
    if (state.light_heavy != 0) {
        if (sweep.phase == HEAVY) sweep.lightest = state.delta;
        else sweep.heaviest = state.delta - 1;
    }
    if (lid == 0) {
        changed_min = waiting_min = worked_min = waiting_distance = UNREACHABLE;
        changed_max = waiting_max = worked_max = largest = overflow = 0;
    }
    Fold fold = Fold(uvec2(UNREACHABLE, 0), uvec2(UNREACHABLE, 0), uvec2(UNREACHABLE, 0), UNREACHABLE, 0, false);

    uint last_tile = state.last_node / TILE;
    for (uint tile = state.first_node / TILE + gl_WorkGroupID.x; tile <= last_tile; tile += gl_NumWorkGroups.x) {
        if (lid == 0) tile_count = 0;
        barrier();
        collect(tile, sweep, fold);
        barrier();
        for (uint i = lid; i < tile_count; i += WORKGROUP_SIZE) relax(tile_nodes[i], sweep, fold);
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
        if (fold.overflow) overflow = 1;
    }
    memoryBarrierBuffer();
    barrier();
    if (lid != 0) return;
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
        if (overflow != 0) atomicMax(state.overflow, 1);
    }
    memoryBarrierBuffer();
    if (atomicAdd(state.ticket, 1) == gl_NumWorkGroups.x - 1) {
        memoryBarrierBuffer();
        advance();
    }
}
