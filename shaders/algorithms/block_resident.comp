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

// Copy of the state for this dispatch, and the starts of the lists that it appends to. Registers limit how many
// workgroups a device has room for, so only one word of the copy is kept in registers.
struct Step {
    uint iteration, phase, low, threshold, near_parity, far_parity, near_length, far_length;
};
shared Step step;
shared uint near_out, far_out;

#define BLOCKS_BINDING 3
#include "block_visit.glsl"
#include "targets.glsl"
#include "reduce.glsl"

shared uint first_block[2];  // in both halves of the near list, read before the half is known

uint threshold;
uint far_nearest = UNREACHABLE;

uint reach() {
    return threshold;
}

// Mark the block as listed, and list it if it was not.
void wake(uint block, uint distance) {
    uint next = step.iteration + 1;
    if (distance < threshold) {
        if (atomicExchange(blocks[block].woken_for, next) == next) return;
        lists[near_out + atomicAdd(state.near_next, 1)] = block;
    } else {
        far_nearest = min(far_nearest, distance);
        if (atomicMin(blocks[block].waiting, distance) != UNREACHABLE) return;
        lists[far_out + atomicAdd(state.far_length, 1)] = block;
    }
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
    if (gl_LocalInvocationIndex == 0) {
        step = Step(loop.iterations, state.phase, state.low, state.threshold, state.near_parity, state.far_parity,
                    state.near_length, state.far_length);
        first_block[0] = lists[gl_WorkGroupID.x];
        first_block[1] = lists[num_blocks + gl_WorkGroupID.x];
        near_out = (1 - step.near_parity) * num_blocks;
        far_out = (2 + (step.phase == SPLIT ? 1 - step.far_parity : step.far_parity)) * num_blocks;
    }
    if (search_is_over()) return;
    threshold = step.threshold;
    uint near_in = step.near_parity * num_blocks, far_in = (2 + step.far_parity) * num_blocks;
    if (step.phase == SPLIT) {
        split_far(step.far_length, far_in);
    } else if (gl_WorkGroupID.x < step.near_length) {
        visit(first_block[step.near_parity], 0);
        while (next_entry < step.near_length) visit(lists[near_in + next_entry], 0);
    }
    far_nearest = workgroup_min(far_nearest);
    if (gl_LocalInvocationIndex == 0 && far_nearest != UNREACHABLE) atomicMin(state.far_nearest, far_nearest);
    if (last_workgroup() && gl_LocalInvocationIndex == 0) advance();
}
