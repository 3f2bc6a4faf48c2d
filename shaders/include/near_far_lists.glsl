// Lists in shared memory of the entries that near_far has found and not yet appended to its queues, so that one
// addition to a queue's length serves many entries. Needs the queues and ROUNDS of near_far.comp.
//
// With rounds, the lists belong to the workgroup, because the next round distributes the near list again. Without
// rounds, each subgroup has its own part of the lists and needs no barrier. If subgroups are not full, which Vulkan
// allows, or with NO_SUBGROUPS, the lists belong to the workgroup again.

const uint LIST = 2 * WORKGROUP_SIZE;
// With rounds, near_list has two halves: one for the next round and one for this round.
shared NODE_DISTANCE near_list[ROUNDS > 1 ? 2 * LIST : LIST];
shared NODE_DISTANCE far_list[LIST];
shared uint near_count[2], far_count, near_base, far_base;

uint near_half, far_half;  // halves of the queues to append to
uint out_list = 0;         // half of near_list to append to
DISTANCE far_nearest = UNREACHABLE;
uint own_near = 0, own_far = 0;  // entries in the subgroup's own part

#ifdef NO_SUBGROUPS
bool has_own_lists() { return false; }
#else
bool has_own_lists() { return ROUNDS == 1 && gl_NumSubgroups * gl_SubgroupSize == WORKGROUP_SIZE; }
#endif

// Take places in the near queue or in the far pile; in a split, in the remaining far pile.
uint take_near(uint count) { return atomicAdd(state.near_next, count); }
uint take_far(uint count) {
    return step[PHASE] == SPLIT ? atomicAdd(state.far_next, count) : atomicAdd(state.far_length, count);
}

void append_near(uint place, NODE_DISTANCE entry) {
    if (place < near_capacity) ENTRY(near, near_half * near_capacity + place) = entry;
    else atomicOr(state.queue_overflow, NEAR_OVERFLOW);
}

void append_far(uint place, NODE_DISTANCE entry) {
    if (place < far_capacity) ENTRY(far, far_half * far_capacity + place) = entry;
    else atomicOr(state.queue_overflow, FAR_OVERFLOW);
}

// Append the workgroup's near list, or its far list, to the queue. All invocations must call this.
void flush_near() {
    uint count = near_count[out_list];
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        near_base = take_near(count);
        near_count[out_list] = 0;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < count; i += WORKGROUP_SIZE) {
        append_near(near_base + i, near_list[out_list * LIST + i]);
    }
    barrier();
}

void flush_far() {
    uint count = far_count;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        far_base = take_far(count);
        far_count = 0;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < count; i += WORKGROUP_SIZE) append_far(far_base + i, far_list[i]);
    barrier();
}

#ifndef NO_SUBGROUPS
// Append the subgroup's own lists to the queues, from the places on that were taken for them. All invocations of the
// subgroup must call this.
void append_own_near(uint base) {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    uint own = 2 * gl_SubgroupSize * gl_SubgroupID;
    for (uint i = gl_SubgroupInvocationID; i < own_near; i += gl_SubgroupSize) append_near(base + i, near_list[own + i]);
    own_near = 0;
    subgroupBarrier();
}

void append_own_far(uint base) {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    uint own = 2 * gl_SubgroupSize * gl_SubgroupID;
    for (uint i = gl_SubgroupInvocationID; i < own_far; i += gl_SubgroupSize) append_far(base + i, far_list[own + i]);
    own_far = 0;
    subgroupBarrier();
}

// Put the entries of a subgroup into its own lists. A list without room is appended to its queue first.
void put_own(NODE_DISTANCE entry, bool is_near, bool is_far) {
    uint own = 2 * gl_SubgroupSize * gl_SubgroupID, base = 0;
    uvec4 ballot = subgroupBallot(is_near);
    uint count = subgroupBallotBitCount(ballot);
    if (count != 0) {
        if (own_near + count > 2 * gl_SubgroupSize) {
            if (subgroupElect()) base = take_near(own_near);
            append_own_near(subgroupBroadcastFirst(base));
        }
        if (is_near) near_list[own + own_near + subgroupBallotExclusiveBitCount(ballot)] = entry;
        own_near += count;
    }
    ballot = subgroupBallot(is_far);
    count = subgroupBallotBitCount(ballot);
    if (count != 0) {
        if (own_far + count > 2 * gl_SubgroupSize) {
            if (subgroupElect()) base = take_far(own_far);
            append_own_far(subgroupBroadcastFirst(base));
        }
        if (is_far) far_list[own + own_far + subgroupBallotExclusiveBitCount(ballot)] = entry;
        own_far += count;
    }
}

#endif
// Put an entry of each invocation, or none, into the lists. All invocations must call this.
void put(NODE_DISTANCE entry, bool is_near, bool is_far) {
    if (is_far) far_nearest = min(far_nearest, entry.y);
#ifndef NO_SUBGROUPS
    if (has_own_lists()) {
        put_own(entry, is_near, is_far);
        return;
    }
#endif
    uint place;
    TAKE_PLACES(near_count[out_list], is_near, place)
    if (is_near) near_list[out_list * LIST + place] = entry;
    TAKE_PLACES(far_count, is_far, place)
    if (is_far) far_list[place] = entry;
}

// Make room for one more entry of every invocation. All invocations must call this.
void make_room() {
    if (has_own_lists()) return;
    barrier();
    bool near_is_full = near_count[out_list] > LIST - WORKGROUP_SIZE, far_is_full = far_count > LIST - WORKGROUP_SIZE;
    barrier();
    if (near_is_full) flush_near();
    if (far_is_full) flush_far();
}

// Append the rest of the lists to the queues. All invocations must call this.
void flush_lists() {
#ifndef NO_SUBGROUPS
    uint near_before = 0, far_before = 0;
    if (has_own_lists()) {
        if (subgroupElect()) {
            near_before = atomicAdd(near_count[0], own_near);
            far_before = atomicAdd(far_count, own_far);
        }
        near_before = subgroupBroadcastFirst(near_before);
        far_before = subgroupBroadcastFirst(far_before);
    }
#endif
    barrier();
    if (!has_own_lists()) {
        if (near_count[out_list] != 0) flush_near();
        if (far_count != 0) flush_far();
        return;
    }
#ifndef NO_SUBGROUPS
    if (gl_LocalInvocationIndex == 0) {
        if (near_count[0] != 0) near_base = take_near(near_count[0]);
        if (far_count != 0) far_base = take_far(far_count);
    }
    barrier();
    append_own_near(near_base + near_before);
    append_own_far(far_base + far_before);
#endif
}
