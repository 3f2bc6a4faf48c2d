// Where a search starts and ends: a place on an arc is its two ends, each with what it takes to get there.
// Needs `dist`, and TERMINALS_BINDING defined.

layout(std430, binding = TERMINALS_BINDING) readonly restrict buffer Terminals {
    uvec2 terminals[];  // (node, offset): first the seeds, then the targets
};

// Length of the best way to a target by the distances found so far; says whether that to some target does not fit.
uint best_target(uint num_seeds, uint num_targets, out bool overflow) {
    uint best = UNREACHABLE;
    overflow = false;
    for (uint i = 0; i < num_targets; ++i) {
        uvec2 target = terminals[num_seeds + i];
        uint distance = dist[target.x], through = extend(distance, target.y);
        if (through == UNREACHABLE && distance != UNREACHABLE) overflow = true;
        best = min(best, through);
    }
    return best;
}
