// Part of Bellman-Ford that does not depend on how arcs are distributed. Every reached node relaxes all of its arcs in
// every iteration, until an iteration changes nothing. The host's twin of State is STATE in
// vkssp/algorithms/bellman_ford.py.

struct State {
    uint modified;  // the last iteration that changed anything, counted from 1
};
#include "loop.glsl"

layout(std430, binding = 3) coherent buffer Distances { uint dist[]; };
#include "targets.glsl"

shared bool any_improved;

// End an iteration. All invocations of a workgroup must call this, each with whether it improved anything.
void end_of_bellman_ford(bool has_improved, uint items) {
    if (gl_LocalInvocationIndex == 0) any_improved = false;
    barrier();
    if (has_improved) any_improved = true;
    barrier();
    if (gl_LocalInvocationIndex == 0 && any_improved) atomicMax(state.modified, step[ITERATIONS] + 1);
    if (!last_workgroup() || gl_LocalInvocationIndex != 0) return;
    finish_iteration(0, 0, UNREACHABLE, 0, max(items, 1) - 1);
    if (state.modified < step[ITERATIONS] + 1) {
        update_best();
        loop.step[DONE] = 1;
    }
}
