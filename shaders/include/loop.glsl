// The end of an iteration of every algorithm, and what it leaves to the next. The host's twins are LOOP and ROW in
// vkssp/engine/device_algorithm.py and vkssp/algorithm.py. Needs `State`, the algorithm's own part; declares bindings 0 and 1.
//
// A dispatch ends with last_workgroup(): one workgroup, the last to come there, sees all that the others did and decides
// what the next dispatch does. It waits for nobody.

#include "loop_state.glsl"

layout(constant_id = 1) const uint COUNTING = 0;  // 1: totals, 2: and a row of the trace for every iteration
const uint TRACE_ROWS = 1024;  // a ring, copied out more often than it comes round

struct Row {
    uint iteration, phase, low, high, first_node, last_node, visited, worked, relaxed, improved;
};

layout(std430, binding = 0) coherent buffer StateBuffer {
    Loop loop;
    State state;
};
layout(std430, binding = 1) writeonly restrict buffer Trace { Row rows[]; };

// This invocation's share of the work.
uint visited = 0, worked = 0, relaxed = 0, improved_count = 0;
bool sum_overflow = false;

shared uint counted[4];
shared bool is_over, is_last;

// Whether the search has ended; the same answer for all invocations of a workgroup, which must all come here first. What
// steers a dispatch one invocation reads for its workgroup: if thousands ask for the same word, they wait for each other.
bool search_is_over() {
    if (gl_LocalInvocationIndex == 0) is_over = loop.done != 0;
    barrier();
    return is_over;
}

// Some software devices (llvmpipe) end the loops of an invocation, without a word, when it has gone round 65 535 times in
// all of them; from then on each loop goes round once. So a loop that has to go round twice tells whether that happened.
// Its bound must be nothing that a compiler knows, and every dispatch has one row of workgroups.
void check_loops() {
    uint rounds = 0;
    for (uint i = 0; i < 2 * gl_NumWorkGroups.y; ++i) ++rounds;
    if (rounds < 2) atomicMax(loop.cut_short, 1);
}

// Add what this workgroup's invocations counted to the iteration's work. All of them must come here.
void fold_work() {
    uint lid = gl_LocalInvocationIndex;
    check_loops();
    if (sum_overflow) atomicMax(loop.overflow, 1);
    if (COUNTING == 0) return;
    if (lid == 0) counted[0] = counted[1] = counted[2] = counted[3] = 0;
    barrier();
    uvec4 sum = subgroupAdd(uvec4(visited, worked, relaxed, improved_count));
    if (subgroupElect()) {
        for (uint i = 0; i < 4; ++i) {
            if (sum[i] != 0) atomicAdd(counted[i], sum[i]);
        }
    }
    barrier();
    if (lid != 0) return;
    for (uint i = 0; i < 4; ++i) {
        if (counted[i] != 0) atomicAdd(loop.work[i], counted[i]);
    }
}

// A barrier of the workgroup after which each invocation sees what the others wrote to buffers, too.
void buffer_barrier() {
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
}

// Whether this workgroup is the last of the dispatch to finish; the same answer for all of its invocations, which must
// all come here. One invocation speaks for its workgroup to the device: what it has seen through the barrier is made
// available along with what it wrote itself. (A memory barrier of all invocations costs a GPU 20 us a dispatch.)
bool last_workgroup() {
    fold_work();
    buffer_barrier();
    if (gl_LocalInvocationIndex == 0) {
        memoryBarrierBuffer();
        is_last = atomicAdd(loop.ticket, 1) == gl_NumWorkGroups.x - 1;
        memoryBarrierBuffer();
    }
    buffer_barrier();
    return is_last;
}

// Close the books of an iteration. For one invocation of the last workgroup.
void finish_iteration(uint phase, uint low, uint high, uint first_node, uint last_node) {
    if (COUNTING > 1) {
        rows[loop.iterations % TRACE_ROWS] = Row(loop.iterations, phase, low, high, first_node, last_node, loop.work[0],
                                                 loop.work[1], loop.work[2], loop.work[3]);
    }
    if (COUNTING > 0) {
        for (uint i = 0; i < 4; ++i) {
            uint carry;
            loop.totals[2 * i] = uaddCarry(loop.totals[2 * i], loop.work[i], carry);
            loop.totals[2 * i + 1] += carry;
            loop.work[i] = 0;
        }
    }
    loop.iterations += 1;
    loop.ticket = 0;
    if (loop.cut_short != 0) loop.done = 1;  // what was found is worth nothing
}
