// Targets of a search, for the kernels that decide when it ends. Needs `dist` and loop.glsl; declares binding 2.

#define TERMINALS_BINDING 2
#include "terminals.glsl"

// Store the present distance of the best target and return it. One invocation calls this.
DISTANCE update_best() {
    bool beyond;
    loop.best = best_target(uint(step[NUM_SEEDS]), uint(step[NUM_TARGETS]), beyond);
    if (beyond) loop.overflow = 1;
    return loop.best;
}
