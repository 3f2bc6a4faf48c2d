// One dispatch of block-resident relaxation: near-far (Davidson, Baxter, Garland, Owens, 2014) over blocks of nodes
// with consecutive ids. On a road network the time is latency, and most arcs join nodes whose ids are close on the
// Z-order curve; so a workgroup takes a whole block, keeps the distances in shared memory and the first arcs in
// registers, and relaxes round by round without touching memory outside, until nothing below the threshold changes or
// it has been enough: one slow block should not hold up a dispatch. Then it writes back what improved, relaxes the
// arcs that leave the block, and wakes the blocks that they improve: near ones for the next dispatch, far ones for a
// later threshold.
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

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
layout(std430, binding = 4) readonly restrict buffer FirstOut { uint first_out[]; };
layout(std430, binding = 5) readonly restrict buffer Arcs { uvec2 arcs[]; };  // head, weight
layout(std430, binding = 6) restrict buffer RelaxedWith { uint relaxed_with[]; };  // distance, by node
layout(std430, binding = 7) coherent buffer Blocks { Block blocks[]; };
layout(std430, binding = 8) coherent buffer Lists { uint lists[]; };  // two halves of each: near, far
#include "targets.glsl"
#include "reduce.glsl"

layout(constant_id = 2) const uint BLOCK = 1024;
layout(constant_id = 3) const uint ROUNDS = 32;
layout(constant_id = 4) const uint READ_FIRST = 3;  // see relax_inside (1) and improve (2)
layout(constant_id = 5) const uint LONG_ROWS = 1;   // whether any node has more than LONG arcs
layout(constant_id = 6) const uint ROUNDS_AT_ONCE = 1;  // without a barrier between them
#define RELAX_READS_FIRST (READ_FIRST & 2)
#include "improve.glsl"

const uint FEW = ARCS_AT_ONCE;  // arcs of a node in registers
const uint LONG = 32;           // the whole workgroup walks the arcs of a node that has more
const uint NODES_EACH = (BLOCK + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE;
const uvec2 NO_ARC = uvec2(UNREACHABLE);  // no arc weighs so much

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_blocks;
    uint heaviest;  // weight of an arc
};

shared uint block_dist[BLOCK];
shared uint long_rows[LONG_ROWS != 0 ? BLOCK : 1];
shared uint num_long;
shared uint changed[3];  // by round: one that is set, one that is read, one that is cleared
shared uint next_entry;  // of the near list, that this workgroup takes
shared uint pending;     // least distance in the block that its node's arcs were not relaxed with

// What the dispatch reads of the state.
struct Step {
    uint iteration, phase, low, threshold, near_parity, far_parity, near_length, far_length;
} step;
shared Step step_read;

uint near_out, far_out;  // where the lists start that are appended to
uint base, count;        // first node of the block, and their number
bool changes = false;    // something below the threshold, in this round
uint far_nearest = UNREACHABLE;

// Others lower it meanwhile; the next round sees what this one does not.
uint read_inside(uint place) {
    return atomicLoad(block_dist[place], gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

void set_changed(uint flag) {
    atomicStore(changed[flag], 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

// Arcs of a node that stay in the block. In the place of others stand some that improve nothing: loops of the node.
struct Inside {
    uint place[FEW], weight[FEW];
};

Inside inside_arcs(uvec2 arc[FEW], uint self) {
    Inside inside;
    for (uint i = 0; i < FEW; ++i) {
        bool stays = arc[i].x - base < count && arc[i].y != UNREACHABLE;
        inside.place[i] = stays ? arc[i].x - base : self;
        inside.weight[i] = stays ? arc[i].y : UNREACHABLE;
    }
    return inside;
}

// Relax such arcs. All heads are read before the first is improved, for a read that follows an atomic operation waits
// for it, and there is no branch but around that operation: a search spends most of its time here.
void relax_inside(Inside inside, uint distance) {
    uint through[FEW], before[FEW];
    for (uint i = 0; i < FEW; ++i) {
        through[i] = extend(distance, inside.weight[i]);
        before[i] = (READ_FIRST & 1) != 0 ? read_inside(inside.place[i]) : UNREACHABLE;
        if (COUNTING > 0 && inside.weight[i] != UNREACHABLE) ++relaxed;
    }
    for (uint i = 0; i < FEW; ++i) {
        bool improves = through[i] < before[i];
        changes = changes || (improves && through[i] < step.threshold);
        if (COUNTING > 0) {
            if (improves && atomicMin(block_dist[inside.place[i]], through[i]) > through[i]) ++improved_count;
        } else if (improves) {
            atomicMin(block_dist[inside.place[i]], through[i]);
        }
    }
}

// Find out whether some sum does not fit.
void check_sums(Inside inside, uint distance) {
    for (uint i = 0; i < FEW; ++i) {
        if (inside.weight[i] != UNREACHABLE && extend(distance, inside.weight[i]) == UNREACHABLE) sum_overflow = true;
    }
}

// List a block that has a node with work at some distance; `was_listed` is what mark() said.
void list(uint block, uint distance, bool was_listed) {
    if (was_listed) return;
    if (distance < step.threshold) lists[near_out + atomicAdd(state.near_next, 1)] = block;
    else lists[far_out + atomicAdd(state.far_length, 1)] = block;
}

// Mark such a block as listed; returns whether it was before.
bool mark(uint block, uint distance) {
    uint next = step.iteration + 1;
    if (distance < step.threshold) return atomicExchange(blocks[block].woken_for, next) == next;
    far_nearest = min(far_nearest, distance);
    return atomicMin(blocks[block].waiting, distance) != UNREACHABLE;
}

// Relax those of some arcs that leave the block, and wake the blocks that they improve.
void relax_leaving(uvec2 arc[FEW], uint distance) {
    uint head[FEW], through[FEW];
    bool was_listed[FEW];  // all are asked before the first answer is needed
    for (uint i = 0; i < FEW; ++i) {
        bool leaves = arc[i].x - base >= count && arc[i].y != UNREACHABLE;
        head[i] = arc[i].x;
        through[i] = leaves ? through_arc(distance, arc[i].y) : UNREACHABLE;
    }
    improve(head, through);
    for (uint i = 0; i < FEW; ++i) {
        was_listed[i] = true;
        if (through[i] != UNREACHABLE) was_listed[i] = mark(head[i] / BLOCK, through[i]);
    }
    for (uint i = 0; i < FEW; ++i) list(head[i] / BLOCK, through[i], was_listed[i]);
}

// Relax those of a node's arcs first, first + stride, ... before end that stay in the block, or that leave it.
void relax_row(bool inside, uint self, uint first, uint end, uint stride) {
    uint distance = read_inside(self);
    for (; first < end; first += FEW * stride) {
        uvec2 arc[FEW];
        for (uint i = 0; i < FEW; ++i) arc[i] = first + i * stride < end ? arcs[first + i * stride] : NO_ARC;
        if (inside) {
            Inside some = inside_arcs(arc, self);
            relax_inside(some, distance);
            check_sums(some, distance);
        } else {
            relax_leaving(arc, distance);
        }
    }
}

// First arc of a row that is not in registers; those that leave the block are read again.
uint after_registers(bool inside, uint first) {
    return inside ? first + FEW : first;
}

// Relax the arcs of those of this invocation's nodes whose bit is set that stay in the block and are not in registers,
// or those that leave it. Long rows are put into a list for the whole workgroup to walk.
void relax_rows(bool inside, uint nodes) {
    for (; nodes != 0; nodes &= nodes - 1) {
        uint place = gl_LocalInvocationIndex + findLSB(nodes) * WORKGROUP_SIZE;
        uint first = first_out[base + place], end = first_out[base + place + 1];
        if (LONG_ROWS != 0 && end - first > LONG) long_rows[atomicAdd(num_long, 1)] = place;
        else relax_row(inside, place, after_registers(inside, first), end, 1);
    }
    if (LONG_ROWS == 0) return;
    barrier();
    uint rows = num_long;
    if (rows == 0) return;
    for (uint i = 0; i < rows; ++i) {
        uint place = long_rows[i], first = first_out[base + place], end = first_out[base + place + 1];
        uint at = after_registers(inside, first) + gl_LocalInvocationIndex;
        relax_row(inside, place, at, end, WORKGROUP_SIZE);
    }
    barrier();
    if (gl_LocalInvocationIndex == 0) num_long = 0;
}

// Whether some workgroups take more than one block. Then whoever has finished one claims the next, for visits take now 3
// rounds and now 30.
bool claims() {
    return step.near_length > gl_NumWorkGroups.x;
}

void visit(uint block) {
    uint lid = gl_LocalInvocationIndex;
    base = block * BLOCK;
    count = min(BLOCK, num_nodes - base);
    // Of this invocation's nodes: their arcs; the distance that was found, and the one that their arcs were relaxed with.
    // And, a bit for each: which have more arcs than these, which have some that leave, and which have worked.
    Inside inside[NODES_EACH];  // in registers as long as the loops over them are unrolled
    uint found[NODES_EACH], last[NODES_EACH], more = 0, leaving = 0, working = 0;
    [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
        uint place = lid + k * WORKGROUP_SIZE, first = 0, end = 0;
        found[k] = last[k] = 0;  // a place without a node never works
        if (place < count) {
            first = first_out[base + place];
            end = first_out[base + place + 1];
            found[k] = dist[base + place];
            last[k] = relaxed_with[base + place];
            block_dist[place] = found[k];
        }
        uvec2 arc[FEW];
        for (uint i = 0; i < FEW; ++i) {
            arc[i] = first + i < end ? arcs[first + i] : NO_ARC;
            if (arc[i] != NO_ARC && arc[i].x - base >= count) leaving |= 1u << k;
        }
        inside[k] = inside_arcs(arc, place);
        if (end - first > FEW) more |= 1u << k;
    }
    if (lid == 0) changed[0] = changed[1] = changed[2] = num_long = 0, pending = UNREACHABLE;
    barrier();

    uint flag = 0, next_flag = 1;
    for (uint round_number = 0;;) {
        uint nodes = 0;
        changes = false;
        // Others may see what is improved here only after the barrier, or at once, which saves a round: a barrier costs as
        // much as relaxing does.
        for (uint times = 0; times < ROUNDS_AT_ONCE; ++times) {
            [[unroll]] for (uint k = 0; k < NODES_EACH; ++k) {
                uint place = lid + k * WORKGROUP_SIZE;
                if (BLOCK % WORKGROUP_SIZE != 0 && place >= BLOCK) continue;
                if (COUNTING > 0 && place < count) ++visited;
                uint distance = read_inside(place);
                if (distance >= last[k] || distance >= step.threshold) continue;
                if (COUNTING > 0) ++worked;
                last[k] = distance;
                nodes |= 1u << k;
                relax_inside(inside[k], distance);
            }
        }
        working |= nodes;
        relax_rows(true, nodes & more);
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
        if (distance < found[k]) atomicMin(dist[base + place], distance);
        if (distance < last[k]) atomicMin(pending, distance);
        // What improved after its last turn relaxes no arcs that leave: it has a turn in the next visit.
        if (distance != last[k]) working &= ~(1u << k);
        if ((working >> k & 1) == 0) continue;
        relaxed_with[base + place] = distance;
        if (distance >= UNREACHABLE - heaviest) check_sums(inside[k], distance);
    }
    relax_rows(false, working & (leaving | more));
    barrier();  // all have added to what is pending, and the next visit uses the same shared memory
    if (lid == 0 && pending != UNREACHABLE) list(block, pending, mark(block, pending));
}

void split_far(uint length, uint in_far) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_WorkGroupID.x * WORKGROUP_SIZE + gl_LocalInvocationIndex; i < length; i += stride) {
        if (COUNTING > 0) ++visited;
        uint block = lists[in_far + i], waiting = blocks[block].waiting;
        if (waiting < step.threshold) {
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
    finish_iteration(step.phase, step.low, step.threshold, 0, entries - 1);
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
    if (gl_LocalInvocationIndex == 0) {
        step_read = Step(loop.iterations, state.phase, state.low, state.threshold, state.near_parity, state.far_parity,
                         state.near_length, state.far_length);
    }
    if (search_is_over()) return;
    step = step_read;
    uint near_in = step.near_parity * num_blocks, far_in = (2 + step.far_parity) * num_blocks;
    near_out = num_blocks - near_in;
    if (step.phase == SPLIT) {
        far_out = 5 * num_blocks - far_in;
        split_far(step.far_length, far_in);
    } else {
        far_out = far_in;
        for (uint i = gl_WorkGroupID.x; i < step.near_length; i = next_entry) visit(lists[near_in + i]);
    }
    far_nearest = workgroup_min(far_nearest);
    if (gl_LocalInvocationIndex == 0 && far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
