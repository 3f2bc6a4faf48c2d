// The targets of a search, for the kernels that decide when it ends. Needs `dist` and loop.glsl; declares binding 2.

#define TERMINALS_BINDING 2
#include "terminals.glsl"

// Write down how far the best target is by now, and return it. For one invocation.
uint update_best() {
    bool beyond;
    loop.best = best_target(loop.num_seeds, loop.num_targets, beyond);
    if (beyond) loop.overflow = 1;
    return loop.best;
}
