// End of an iteration of every algorithm, and the state that it leaves to the next. The host's twins are LOOP and ROW
// in vkssp/engine/device_algorithm.py and vkssp/algorithm.py. Needs `State`, the algorithm's own part; declares
// bindings 0 and 1.
//
// A dispatch ends with last_workgroup(): the last workgroup that calls it sees all that the others did and decides what
// the next dispatch does. No workgroup waits for another.

#include "loop_state.glsl"

layout(constant_id = 1) const uint COUNTING = 0;  // 1: totals, 2: also a row of the trace for every iteration
const uint TRACE_ROWS = 1024;  // a ring, copied out before it is full

struct Row {
    uint iteration, phase;
    DISTANCE low, high;
    uint first_node, last_node, visited, worked, relaxed, improved;
};

layout(std430, binding = 0) coherent buffer StateBuffer {
    Loop loop;
    State state;
};
layout(std430, binding = 1) writeonly restrict buffer Trace { Row rows[]; };

// This invocation's share of the work.
uint visited = 0, worked = 0, relaxed = 0, improved_count = 0;
bool sum_overflow = false;

shared DISTANCE step[STEP_WORDS];  // copy of the state's for this dispatch
shared uint counted[4];
shared bool is_last;

// Return whether the search has ended, the same for all invocations of a workgroup, which must all call this first. It
// fills `step`. Invocations next to each other read a word each, which is one request: the words are in one place of a
// device's memory, where the requests of all workgroups wait for each other.
bool search_is_over() {
    for (uint i = gl_LocalInvocationIndex; i < STEP_WORDS; i += WORKGROUP_SIZE) step[i] = loop.step[i];
    barrier();
    return step[DONE] != 0;
}

// Detect loops that the device ended early. Some software devices (llvmpipe) silently end the loops of an invocation
// after 65,535 rounds in all of them together; from then on each loop runs one round. A loop that has to run two rounds
// therefore detects this. The compiler must not know its bound; every dispatch has one row of workgroups.
void check_loops() {
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) atomicMax(loop.cut_short, 1);
}

// Add what this workgroup's invocations counted to the iteration's work. All of them must call this.
void fold_work() {
    uint lid = gl_LocalInvocationIndex;
    check_loops();
    if (sum_overflow) atomicMax(loop.overflow, 1);
    if (COUNTING == 0) return;
    if (lid == 0) counted[0] = counted[1] = counted[2] = counted[3] = 0;
    barrier();
    // Not by subgroups, whose arithmetic not all devices have: only searches that are watched count.
    uvec4 own = uvec4(visited, worked, relaxed, improved_count);
    for (uint i = 0; i < 4; ++i) {
        if (own[i] != 0) atomicAdd(counted[i], own[i]);
    }
    barrier();
    if (lid != 0) return;
    for (uint i = 0; i < 4; ++i) {
        if (counted[i] != 0) atomicAdd(loop.work[i], counted[i]);
    }
}

// Barrier of the workgroup. Afterwards each invocation also sees what the others wrote to buffers.
void buffer_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
}

// Return whether this workgroup is the last of the dispatch to finish. One invocation calls this after a barrier, and
// makes the workgroup's writes available to the device: those that it has seen through the barrier along with its own.
// (A memory barrier of all invocations costs a GPU 20 us per dispatch.)
bool takes_last_ticket() {
    memoryBarrierBuffer();
    bool is_last_one = atomicAdd(loop.ticket, 1) == gl_NumWorkGroups.x - 1;
    memoryBarrierBuffer();
    return is_last_one;
}

// Return whether this workgroup is the last of the dispatch to finish, the same for all of its invocations, which must
// all call this.
bool last_workgroup() {
    fold_work();
    buffer_barrier();
    if (gl_LocalInvocationIndex == 0) is_last = takes_last_ticket();
    buffer_barrier();
    return is_last;
}

// Complete the counts and the trace of an iteration. One invocation of the last workgroup calls this.
void finish_iteration(uint phase, DISTANCE low, DISTANCE high, uint first_node, uint last_node) {
    if (COUNTING > 1) {
        uint number = uint(step[ITERATIONS]);
        rows[number % TRACE_ROWS] = Row(number, phase, low, high, first_node, last_node, loop.work[0], loop.work[1],
                                        loop.work[2], loop.work[3]);
    }
    if (COUNTING > 0) {
        for (uint i = 0; i < 4; ++i) {
            uint carry;
            loop.totals[2 * i] = uaddCarry(loop.totals[2 * i], loop.work[i], carry);
            loop.totals[2 * i + 1] += carry;
            loop.work[i] = 0;
        }
    }
    loop.step[ITERATIONS] = step[ITERATIONS] + 1;
    loop.ticket = 0;
    if (loop.cut_short != 0) loop.step[DONE] = 1;  // the results are invalid
}
