// One dispatch of many searches at once: block-resident relaxation as in block_resident.comp, with lists that hold
// blocks of all searches. One search on a road network leaves most of a GPU idle; many searches fill it. Each search
// has its own threshold, so that no search waits for another. A dispatch visits the near blocks of all searches. It
// goes through the far list if some search has reached a new threshold or is over.
//
// A visit relaxes everything in the block, whatever the threshold; the threshold only decides when a block is visited.
// A single search gains by waiting for better distances. Many searches gain by fewer visits, because the GPU is busy.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "prelude.glsl"
#include "block_resident_batch_state.glsl"
#include "loop.glsl"

layout(push_constant) uniform Push {
    uint num_nodes;
    uint num_blocks;  // of the graph; the blocks of search k are numbered from k * num_blocks on
    uint heaviest;    // weight of an arc
    uint num_searches;
    uint num_targets;  // wanted nodes, if a search is over as soon as they are settled; else 0
};

shared uint first_block[2];  // in both halves of the near list, read before the half is known

#define BLOCKS_BINDING 4
#include "block_visit.glsl"

#include "block_resident_batch_rows.glsl"

layout(std430, binding = 2) coherent buffer SearchesBuffer { Search searches[]; };
layout(std430, binding = 3) readonly restrict buffer WantedBuffer { Wanted wanted[]; };
layout(std430, binding = 11) writeonly restrict buffer Turnover { uint turnover[]; };  // slots: leaving, then entering

// Of the search whose block is visited.
shared bool is_running;
shared uint threshold;
shared uint far_nearest;
shared uint woke_near;

shared uint some_split, num_begun, num_leaving, num_entering;

uint reach() {
    return UNREACHABLE;
}

// Return the starts of the lists that this dispatch appends to.
uint near_out() {
    return (1 - step[NEAR_PARITY]) * num_searches * num_blocks;
}

uint far_out() {
    return (2 + (step[SPLITS] != 0 ? 1 - step[FAR_PARITY] : step[FAR_PARITY])) * num_searches * num_blocks;
}

void list_near(uint block) {
    uint next = step[ITERATIONS] + 1;
    if (atomicExchange(blocks[block].woken_for, next) == next) return;
    lists[near_out() + atomicAdd(state.near_next, 1)] = block;
}

void list_far(uint block) {
    uint place = step[SPLITS] != 0 ? atomicAdd(state.far_next, 1) : atomicAdd(state.far_length, 1);
    lists[far_out() + place] = block;
}

void wake(uint block, uint distance) {
    if (!is_running) return;
    if (distance < threshold) {
        atomicStore(woke_near, 1u, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
        list_near(block);
    } else {
        atomicMin(far_nearest, distance);
        if (atomicMin(blocks[block].waiting, distance) == UNREACHABLE) list_far(block);
    }
}

// Visit a block of some search.
void visit_one(uint block) {
    uint number = block / num_blocks, first_of_search = number * num_blocks;
    if (gl_LocalInvocationIndex == 0) {
        is_running = searches[number].status != FINISHED;
        threshold = searches[number].threshold;
        far_nearest = UNREACHABLE;
        woke_near = 0;
    }
    slot = number * num_nodes;
    visit(block - first_of_search, first_of_search);
    if (sum_overflow) {
        atomicMax(searches[number].overflow, 1);
        sum_overflow = false;
    }
    if (gl_LocalInvocationIndex != 0) return;
    // Many workgroups may write these words.
    if (woke_near != 0) atomicMax(searches[number].woken_for, step[ITERATIONS] + 1);
    if (far_nearest != UNREACHABLE) atomicMin(searches[number].far_nearest, far_nearest);
}

// Go through the far list: blocks that are now below the threshold of their search are visited in the next dispatch,
// and blocks of finished searches leave. Other workgroups may lower bounds meanwhile. A block that moves at the same
// time may be in both lists; it is visited in any case.
void split_far(uint in_far) {
    uint stride = gl_NumWorkGroups.x * WORKGROUP_SIZE;
    for (uint i = gl_WorkGroupID.x * WORKGROUP_SIZE + gl_LocalInvocationIndex; i < step[SPLIT_LENGTH]; i += stride) {
        uint block = lists[in_far + i], number = block / num_blocks;
        if (searches[number].status == FINISHED) continue;
        uint waiting = blocks[block].waiting;
        if (waiting < searches[number].threshold) {
            atomicExchange(blocks[block].waiting, UNREACHABLE);
            atomicMax(searches[number].woken_for, step[ITERATIONS] + 1);
            list_near(block);
        } else {
            atomicMin(searches[number].far_nearest, waiting);
            list_far(block);
        }
    }
}

// Check whether the targets are settled in the searches that have reached a new threshold.
void look_at_targets() {
    for (uint number = gl_WorkGroupID.x; number < num_searches; number += gl_NumWorkGroups.x) {
        if (searches[number].checked_for != step[ITERATIONS]) continue;
        uint low = searches[number].low;
        for (uint i = gl_LocalInvocationIndex; i < num_targets; i += WORKGROUP_SIZE) {
            bool overflow;
            if (wanted_distance(wanted[i], number * num_nodes, overflow) <= low) continue;
            atomicMax(searches[number].unsettled_for, step[ITERATIONS]);
            break;
        }
    }
}

// Decide what a slot does next.
void advance_search(uint number, bool turned, uint bound) {
    uint next = step[ITERATIONS] + 1;
    bool was_checked = num_targets != 0 && searches[number].checked_for == step[ITERATIONS];
    // Most searches have blocks to visit and need no change.
    if (searches[number].status == RUNNING && searches[number].woken_for == next && !was_checked) return;
    Search search = searches[number];
    if (search.status == FINISHED) {
        search.status = EMPTY;
        turnover[atomicAdd(num_leaving, 1)] = number;
    } else if (search.status == EMPTY && turned) {
        search.row = search.next_row;
        search.next_row = NO_ROW;
        if (search.row != NO_ROW) search.status = RUNNING;
    }
    if (search.status == RUNNING) {
        bool settled = was_checked && search.unsettled_for != step[ITERATIONS];
        bool is_dry = search.woken_for != next;
        uint nearest = search.far_nearest;
        if (settled || is_dry && (nearest == UNREACHABLE || nearest > state.limit)) {
            search.status = FINISHED;
            some_split = 1;
        } else if (is_dry) {
            // Every distance below that of the far list's nearest block is final.
            search.low = nearest;
            search.threshold = extend(nearest, state.delta);
            search.far_nearest = UNREACHABLE;
            search.checked_for = next;
            atomicAdd(state.buckets, 1);
            some_split = 1;
        }
    }
    if (search.status == EMPTY && search.next_row == NO_ROW) {
        uint row = state.next_row + atomicAdd(num_begun, 1);
        if (row < bound) {
            search.next_row = row;
            turnover[num_searches + atomicAdd(num_entering, 1)] = number;
        }
    }
    searches[number] = search;
}

// Decide what the next dispatch does. All invocations of the last workgroup call this.
void advance() {
    bool is_first = gl_LocalInvocationIndex == 0;
    bool turned = state.turned == step[ITERATIONS];
    if (is_first) {
        some_split = num_begun = 0;
        num_leaving = turned ? 0 : state.num_leaving;
        num_entering = turned ? 0 : state.num_entering;
    }
    barrier();
    uint bound = min(state.num_rows, state.room);
    for (uint i = gl_LocalInvocationIndex; i < num_searches; i += WORKGROUP_SIZE) advance_search(i, turned, bound);
    barrier();
    if (!is_first) return;
    finish_iteration(0, 0, 0, 0, 0);
    state.next_row += min(num_begun, bound - state.next_row);
    state.num_leaving = num_leaving;
    state.num_entering = num_entering;
    if (step[SPLITS] != 0) {
        state.far_length = state.far_next;
        state.far_next = 0;
        loop.step[FAR_PARITY] = 1 - step[FAR_PARITY];
    }
    state.blocks += step[NEAR_LENGTH];
    state.claimed = 0;
    loop.step[SPLITS] = some_split;
    loop.step[SPLIT_LENGTH] = state.far_length;
    loop.step[NEAR_PARITY] = 1 - step[NEAR_PARITY];
    loop.step[NEAR_LENGTH] = state.near_next;
    state.near_next = 0;
}

void main() {
    uint all_blocks = num_searches * num_blocks;
    if (gl_LocalInvocationIndex == WORKGROUP_SIZE - 1) {  // meanwhile the first subgroup reads the state
        first_block[0] = lists[gl_WorkGroupID.x];
        first_block[1] = lists[all_blocks + gl_WorkGroupID.x];
    }
    if (search_is_over()) return;
    if (gl_WorkGroupID.x < step[NEAR_LENGTH]) {
        visit_one(first_block[step[NEAR_PARITY]]);
        while (next_entry < step[NEAR_LENGTH]) visit_one(lists[step[NEAR_PARITY] * all_blocks + next_entry]);
    }
    if (step[SPLITS] != 0) {
        split_far((2 + step[FAR_PARITY]) * all_blocks);
        if (num_targets != 0) look_at_targets();
    }
    if (last_workgroup()) advance();
}
