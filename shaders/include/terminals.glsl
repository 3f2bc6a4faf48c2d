// Seeds and targets of a search: a place on an arc is represented by the two ends of the arc, each with the offset to
// the place. Needs `dist`, and TERMINALS_BINDING defined.

layout(std430, binding = TERMINALS_BINDING) readonly restrict buffer Terminals {
    NODE_DISTANCE terminals[];  // (node, offset): first the seeds, then the targets
};

// Return the least distance of a target by the distances found so far; set `overflow` if a target's sum does not fit.
DISTANCE best_target(uint num_seeds, uint num_targets, out bool overflow) {
    DISTANCE best = UNREACHABLE;
    overflow = false;
    for (uint i = 0; i < num_targets; ++i) {
        NODE_DISTANCE target = terminals[num_seeds + i];
        DISTANCE distance = dist[uint(target.x)], through = extend(distance, target.y);
        if (through == UNREACHABLE && distance != UNREACHABLE) overflow = true;
        best = min(best, through);
    }
    return best;
}
