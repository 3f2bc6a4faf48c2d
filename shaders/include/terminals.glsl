// Where a search starts and ends: a place on an arc is its two ends, each with what it takes to get there.
// Needs `dist`, and TERMINALS_BINDING defined.

layout(std430, binding = TERMINALS_BINDING) readonly restrict buffer Terminals {
    uvec2 terminals[];  // (node, offset): first the seeds, then the targets
};

// Length of the best way to a target by the distances found so far.
uint best_target(uint num_seeds, uint num_targets) {
    uint best = UNREACHABLE;
    for (uint i = 0; i < num_targets; ++i) {
        uvec2 target = terminals[num_seeds + i];
        best = min(best, extend(dist[target.x], target.y));
    }
    return best;
}
