// One dispatch of block-resident relaxation: near-far (Davidson, Baxter, Garland, Owens, 2014) over blocks of nodes
// with consecutive ids. On a road network the time is latency, and most arcs join nodes whose ids are close on the
// Z-order curve; so a workgroup takes a whole block, keeps the distances in shared memory and a few arcs of each node in
// registers, and relaxes round by round without touching memory outside, until nothing below the threshold changes or
// it has been enough: one slow block should not hold up a dispatch. Then it writes back what improved, relaxes the
// arcs that leave the block, and wakes the blocks that they improve: near ones for the next dispatch, far ones for a
// later threshold. vkssp/solvers/blocks.py puts the arcs in order for this.
//
// No wake-up is lost. A node has work while its distance is below the one that its arcs were last relaxed with.
// Whoever improves a node of another block lists that block afterwards, for the next dispatch, even if it is being
// visited in this one: that visit may or may not have seen the improvement, the next one does, for a barrier lies
// between dispatches. So nothing depends on the order of two accesses within a dispatch, and no flag has to be
// cleared before distances are read; the price is a visit now and then that finds nothing to do. What waits for a
// later threshold is kept as a lower bound for each block, which grows only in splits, when nobody wakes a block.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "prelude.glsl"
#include "block_resident_state.glsl"
#include "loop.glsl"

struct Block {
    uint woken_for;  // iteration for whose near list it was last woken
    uint waiting;    // no node with work at or beyond the threshold is nearer; UNREACHABLE if it is not in the far list
};

// An arc that no record holds.
struct Other {
    uint tail;  // its place in the block
    uint head, weight;
};

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer Records { uvec4 records[]; };  // of each node, see Record
layout(std430, binding = 5) readonly restrict buffer Others { Other others[]; };
layout(std430, binding = 6) readonly restrict buffer Ranges { uvec4 ranges[]; };  // others of a block: leaving, staying
layout(std430, binding = 7) restrict buffer RelaxedWith { uint relaxed_with[]; };  // distance, by node
layout(std430, binding = 8) coherent buffer Blocks { Block blocks[]; };
layout(std430, binding = 9) coherent buffer Lists { uint lists[]; };  // two halves of each: near, far
#include "targets.glsl"
#include "reduce.glsl"

layout(constant_id = 2) const uint BLOCK = 1024;
layout(constant_id = 3) const uint ROUNDS = 32;
layout(constant_id = 4) const uint PLACE_BITS = 10;
layout(constant_id = 5) const uint ROUNDS_AT_ONCE = 1;  // without a barrier between them
layout(constant_id = 6) const uint SEARCHES = 1;        // at once, each with its own distances; lists hold blocks of all
#define RELAX_READS_FIRST 0
#define ARCS_AT_ONCE 1
#include "improve.glsl"

const uint NODES_EACH = (BLOCK + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uint NO_ARC = UNREACHABLE >> PLACE_BITS;  // the weight in the free parts of a record

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_blocks;  // of the graph; a search's block has its number plus so many for each search before
    uint heaviest;  // weight of an arc
};

shared uint block_dist[BLOCK];
shared uint block_found[BLOCK];  // what the visit began with
shared uvec4 others_of_block;
shared uint changed[3];  // by round: one that is set, one that is read, one that is cleared
shared uint first_block[2];  // in the near list, whichever half that is, asked for before this is known
shared uint next_entry;      // of the near list, that this workgroup takes
shared uint pending;     // least distance in the block that its node's arcs were not relaxed with

// What the dispatch reads of the state, and where the lists start that are appended to. Registers are what decides how
// many workgroups a device has room for, so only one word of it is kept there.
struct Step {
    uint iteration, phase, low, threshold, near_parity, far_parity, near_length, far_length;
};
shared Step step;
shared uint near_out, far_out;

uint threshold;
uint base, count;      // first node of the block, and their number
uint slot;             // where the distances of the search begin
bool changes = false;  // something in the block, in this round
uint far_nearest = UNREACHABLE;

// Others lower it meanwhile; the next round sees what this one does not.
uint read_inside(uint place) {
    return atomicLoad(block_dist[place], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

void set_changed(uint flag) {
    atomicStore(changed[flag], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

// Some arcs of a node, which stay in its block: the places of the heads, and the weights. Where there is none, it leads
// back to the node.
struct Record {
    uvec4 place, weight;
};

// In each word the weight and, in the low bits, the place.
Record unpack(uvec4 words) {
    return Record(words & ((1u << PLACE_BITS) - 1), words >> PLACE_BITS);
}

// Relax the arcs of a record. There is no branch, and nothing is read before: the answers of four atomic operations come as
// soon as that of one, and a search spends most of its time here.
void relax_record(Record record, uint distance) {
    uvec4 through, before;
    uint room = UNREACHABLE - distance;  // a sum that does not fit becomes UNREACHABLE
    for (uint i = 0; i < 4; ++i) through[i] = distance + min(record.weight[i], room);
    for (uint i = 0; i < 4; ++i) before[i] = atomicMin(block_dist[record.place[i]], through[i]);
    for (uint i = 0; i < 4; ++i) {
        changes = changes || through[i] < before[i];
        if (COUNTING > 0 && record.weight[i] != NO_ARC) {
            ++relaxed;
            if (through[i] < before[i]) ++improved_count;
        }
    }
}

// Find out whether some sum does not fit.
void check_sums(Record record, uint distance) {
    for (uint i = 0; i < 4; ++i) {
        if (record.weight[i] != NO_ARC && extend(distance, record.weight[i]) == UNREACHABLE) sum_overflow = true;
    }
}

// Relax the arcs of the block that stay in it and are in no record, also those whose tail has not improved: there are
// few. Whether the last improvements of tails were seen nobody knows, so relax_others() does it once more at the end.
void relax_staying() {
    for (uint i = others_of_block.z + gl_LocalInvocationIndex; i < others_of_block.w; i += WORKGROUP_SIZE) {
        Other arc = others[i];
        uint distance = read_inside(arc.tail), place = arc.head - base, through = extend(distance, arc.weight);
        if (distance >= threshold) continue;
        if (COUNTING > 0) ++relaxed;
        if (through >= read_inside(place) || through >= atomicMin(block_dist[place], through)) continue;
        if (COUNTING > 0) ++improved_count;
        changes = true;
    }
}

// List a block that has a node with work at some distance; `was_listed` is what mark() said.
void list(uint block, uint distance, bool was_listed) {
    if (was_listed) return;
    if (distance < threshold) lists[near_out + atomicAdd(state.near_next, 1)] = block;
    else lists[far_out + atomicAdd(state.far_length, 1)] = block;
}

// Mark such a block as listed; returns whether it was before.
bool mark(uint block, uint distance) {
    uint next = step.iteration + 1;
    if (distance < threshold) return atomicExchange(blocks[block].woken_for, next) == next;
    far_nearest = min(far_nearest, distance);
    return atomicMin(blocks[block].waiting, distance) != UNREACHABLE;
}

// Relax some of the arcs that no record holds, of the nodes that have worked, and wake the blocks that they improve.
void relax_others(uint first, uint end, uint first_of_search) {
    for (uint i = first + gl_LocalInvocationIndex; i < end; i += WORKGROUP_SIZE) {
        Other arc = others[i];
        uint distance = block_dist[arc.tail];
        if (distance == UNREACHABLE) continue;
        uint head[1] = {slot + arc.head}, through[1] = {through_arc(distance, arc.weight)};
        improve(head, through);
        if (through[0] == UNREACHABLE) continue;
        uint block = first_of_search + arc.head / BLOCK;
        list(block, through[0], mark(block, through[0]));
    }
}

// Whether some workgroups take more than one block. Then whoever has finished one claims the next, for visits take now 3
// rounds and now 30.
bool claims() {
    return step.near_length > gl_NumWorkGroups.x;
}

void visit(uint block) {
    uint lid = gl_LocalInvocationIndex, search = SEARCHES > 1 ? block / num_blocks : 0;
    slot = search * num_nodes;
    base = (block - search * num_blocks) * BLOCK;
    count = min(BLOCK, num_nodes - base);
    // Of this invocation's nodes: their records, the distances that their arcs were relaxed with, those below which they
    // have work, and, a bit for each, which have worked. All are in registers as long as the loops over them are unrolled.
    Record record[NODES_EACH];
    uint last[NODES_EACH], limit[NODES_EACH], working = 0;
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        last[k] = limit[k] = 0;  // a place without a node never works
        if (place >= count) continue;
        record[k] = unpack(records[base + place]);
        last[k] = relaxed_with[slot + base + place];
        limit[k] = min(last[k], threshold);
        block_dist[place] = block_found[place] = dist[slot + base + place];
    }
    if (lid == 0) {
        changed[0] = changed[1] = changed[2] = 0;
        pending = UNREACHABLE;
        others_of_block = ranges[block - search * num_blocks];
    }
    barrier();

    uint flag = 0, next_flag = 1;
    for (uint round_number = 0;;) {
        changes = false;
        // Others may see what is improved here only after the barrier, or at once, which saves a round: a barrier costs as
        // much as relaxing does.
        for (uint times = 0; times < ROUNDS_AT_ONCE; ++times) {
            [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
                uint place = lid + k * WORKGROUP_SIZE;
                if (BLOCK % WORKGROUP_SIZE != 0 && place >= BLOCK) continue;
                if (COUNTING > 0 && place < count) ++visited;
                uint distance = read_inside(place);
                if (distance >= limit[k]) continue;
                if (COUNTING > 0) ++worked;
                last[k] = limit[k] = distance;
                working |= 1u << k;
                relax_record(record[k], distance);
            }
        }
        relax_staying();
        if (changes) set_changed(flag);
        barrier();
        bool goes_on = changed[flag] != 0;
        uint free_flag = 3 - flag - next_flag;
        if (lid == 0) changed[free_flag] = 0;
        round_number += ROUNDS_AT_ONCE;
        if (!goes_on || round_number >= ROUNDS) break;
        flag = next_flag;
        next_flag = free_flag;
    }

    if (lid == 0) next_entry = claims() ? gl_NumWorkGroups.x + atomicAdd(state.claimed, 1) : UNREACHABLE;
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE;
        if (place >= count) continue;
        uint distance = block_dist[place];
        if (distance < block_found[place]) atomicMin(dist[slot + base + place], distance);
        if (distance < last[k]) atomicMin(pending, distance);
        // What improved after its last turn relaxes no other arcs: it has a turn in the next visit.
        if ((working >> k & 1) == 0 || distance != last[k]) {
            block_dist[place] = UNREACHABLE;
            continue;
        }
        relaxed_with[slot + base + place] = distance;
        if (distance >= UNREACHABLE - heaviest) check_sums(unpack(records[base + place]), distance);
    }
    buffer_barrier();  // or what is improved in the block might seem to be new to those that stay
    relax_others(others_of_block.x, others_of_block.y, search * num_blocks);
    relax_others(others_of_block.z, others_of_block.w, search * num_blocks);
    if (lid == 0 && pending != UNREACHABLE) list(block, pending, mark(block, pending));
    barrier();  // the next visit uses the same shared memory
}

void split_far(uint length, uint in_far) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_WorkGroupID.x * WORKGROUP_SIZE + gl_LocalInvocationIndex; i < length; i += stride) {
        if (COUNTING > 0) ++visited;
        uint block = lists[in_far + i], waiting = blocks[block].waiting;
        if (waiting < threshold) {
            blocks[block].waiting = UNREACHABLE;
            lists[near_out + atomicAdd(state.near_next, 1)] = block;
        } else {
            far_nearest = min(far_nearest, waiting);
            lists[far_out + atomicAdd(state.far_next, 1)] = block;
        }
    }
}

// Decide what the next dispatch does.
void advance() {
    bool splits = step.phase == SPLIT;
    uint near_next = state.near_next, far_next = splits ? state.far_next : state.far_length;
    uint nearest = state.far_nearest;
    uint entries = splits ? step.far_length : step.near_length;  // no list that is read is empty
    finish_iteration(step.phase, step.low, threshold, 0, entries - 1);
    if (splits) {
        state.far_parity = 1 - step.far_parity;
        state.far_length = far_next;
        state.far_next = 0;
    } else {
        state.blocks += entries;
        state.claimed = 0;
    }
    state.near_parity = 1 - step.near_parity;
    state.near_length = near_next;
    state.near_next = 0;
    if (near_next != 0) {
        state.phase = RELAX;
        return;
    }
    // Every distance below the far list's nearest is final.
    if (update_best() < nearest || far_next == 0) {
        loop.done = 1;
        return;
    }
    state.phase = SPLIT;
    state.buckets += 1;
    state.low = nearest;
    state.delta = widened(state.delta, state.widest);
    state.threshold = extend(nearest, state.delta);
    state.far_nearest = UNREACHABLE;
}

void main() {
    uint all_blocks = SEARCHES * num_blocks;
    if (gl_LocalInvocationIndex == 0) {
        step = Step(loop.iterations, state.phase, state.low, state.threshold, state.near_parity, state.far_parity,
                    state.near_length, state.far_length);
        first_block[0] = lists[gl_WorkGroupID.x];
        first_block[1] = lists[all_blocks + gl_WorkGroupID.x];
        near_out = (1 - step.near_parity) * all_blocks;
        far_out = (2 + (step.phase == SPLIT ? 1 - step.far_parity : step.far_parity)) * all_blocks;
    }
    if (search_is_over()) return;
    threshold = step.threshold;
    uint near_in = step.near_parity * all_blocks, far_in = (2 + step.far_parity) * all_blocks;
    if (step.phase == SPLIT) {
        split_far(step.far_length, far_in);
    } else if (gl_WorkGroupID.x < step.near_length) {
        visit(first_block[step.near_parity]);
        while (next_entry < step.near_length) visit(lists[near_in + next_entry]);
    }
    far_nearest = workgroup_min(far_nearest);
    if (gl_LocalInvocationIndex == 0 && far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
