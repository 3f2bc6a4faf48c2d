// One dispatch of block-resident relaxation: near-far (Davidson, Baxter, Garland, Owens, 2014) over blocks of nodes
// with consecutive ids. On a road network, latency takes most of the time, and most arcs join nodes whose ids are close
// on the Z-order curve. Most steps therefore cost a round within a workgroup instead of a dispatch, see
// include/block_visit.glsl. Near blocks are visited in the next dispatch; far blocks wait for a later threshold.
//
// The lower bound of a waiting block grows only in splits, when no workgroup wakes a block.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "prelude.glsl"
#include "block_resident_state.glsl"
#include "loop.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_blocks;
    uint heaviest;  // weight of an arc
};

#define BLOCKS_BINDING 3
#include "block_visit.glsl"
#include "targets.glsl"

shared uint far_nearest;     // least distance that this workgroup finds waiting
shared uint first_block[2];  // in both halves of the near list, read before the half is known

// Registers limit how many workgroups a device has room for, so only this word of `step` is kept in registers.
uint threshold;

uint reach() {
    return threshold;
}

// Return the starts of the lists that this dispatch appends to.
uint near_out() {
    return (1 - step[NEAR_PARITY]) * num_blocks;
}

uint far_out() {
    return (2 + (step[PHASE] == SPLIT ? 1 - step[FAR_PARITY] : step[FAR_PARITY])) * num_blocks;
}

// Mark the block as listed, and list it if it was not.
void wake(uint block, uint distance) {
    uint next = step[ITERATIONS] + 1;
    if (distance < threshold) {
        if (atomicExchange(blocks[block].woken_for, next) == next) return;
        lists[near_out() + atomicAdd(state.near_next, 1)] = block;
    } else {
        atomicMin(far_nearest, distance);
        if (atomicMin(blocks[block].waiting, distance) != UNREACHABLE) return;
        lists[far_out() + atomicAdd(state.far_length, 1)] = block;
    }
}

void split_far(uint length, uint in_far) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_WorkGroupID.x * WORKGROUP_SIZE + gl_LocalInvocationIndex; i < length; i += stride) {
        if (COUNTING > 0) ++visited;
        uint block = lists[in_far + i], waiting = blocks[block].waiting;
        if (waiting < threshold) {
            blocks[block].waiting = UNREACHABLE;
            lists[near_out() + atomicAdd(state.near_next, 1)] = block;
        } else {
            atomicMin(far_nearest, waiting);
            lists[far_out() + atomicAdd(state.far_next, 1)] = block;
        }
    }
}

// Decide what the next dispatch does. It is the last thing of all, so it reads everything at once, before it writes.
void advance() {
    bool splits = step[PHASE] == SPLIT;
    uint near_next = state.near_next, far_length = state.far_length, far_next = state.far_next;
    uint nearest = state.far_nearest;
    uint entries = splits ? step[SPLIT_LENGTH] : step[NEAR_LENGTH];  // no list that is read is empty
    finish_iteration(step[PHASE], step[LOW], threshold, 0, entries - 1);
    if (splits) {
        far_length = far_next;
        state.far_length = far_length;
        state.far_next = 0;
        loop.step[FAR_PARITY] = 1 - step[FAR_PARITY];
    } else {
        state.claimed = 0;
        loop.step[BLOCKS] = step[BLOCKS] + entries;
    }
    state.near_next = 0;
    loop.step[NEAR_PARITY] = 1 - step[NEAR_PARITY];
    loop.step[NEAR_LENGTH] = near_next;
    if (near_next != 0) {
        loop.step[PHASE] = RELAX;
        return;
    }
    // Every distance below the far list's nearest is final.
    if (update_best() < nearest || far_length == 0) {
        loop.step[DONE] = 1;
        return;
    }
    uint delta = widened(step[DELTA], step[WIDEST]);
    state.far_nearest = UNREACHABLE;
    loop.step[PHASE] = SPLIT;
    loop.step[LOW] = nearest;
    loop.step[THRESHOLD] = extend(nearest, delta);
    loop.step[DELTA] = delta;
    loop.step[SPLIT_LENGTH] = far_length;
    loop.step[BUCKETS] = step[BUCKETS] + 1;
}

void main() {
    if (gl_LocalInvocationIndex == WORKGROUP_SIZE - 1) {  // meanwhile the first subgroup reads the state
        first_block[0] = lists[gl_WorkGroupID.x];
        first_block[1] = lists[num_blocks + gl_WorkGroupID.x];
    }
    if (gl_LocalInvocationIndex == 0) far_nearest = UNREACHABLE;
    if (search_is_over()) return;
    threshold = step[THRESHOLD];
    uint near_in = step[NEAR_PARITY] * num_blocks, far_in = (2 + step[FAR_PARITY]) * num_blocks;
    if (step[PHASE] == SPLIT) {
        split_far(step[SPLIT_LENGTH], far_in);
    } else if (gl_WorkGroupID.x < step[NEAR_LENGTH]) {
        uint block = first_block[step[NEAR_PARITY]];
        while (true) {  // with a single visit in the code, which is large
            visit(block, 0);
            if (next_entry >= step[NEAR_LENGTH]) break;
            block = lists[near_in + next_entry];
        }
    }
    fold_work();
    buffer_barrier();
    if (gl_LocalInvocationIndex != 0) return;
    if (far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (takes_last_ticket()) advance();
}
