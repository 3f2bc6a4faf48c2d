// Walk back along a shortest path: where it is, and what it has collected. Needs distance.glsl, and the distances `dist`.

layout(std430, binding = 3) coherent buffer Path {
    uint started, done;
    uint node;    // present node of the walk
    uint target;  // index of the target that it started from
    uint seed;    // index of the seed that it reached
    uint length;  // arcs so far
    uint path[];  // places in arcs_in, the last arc first
};
#define TERMINALS_BINDING 4
#include "terminals.glsl"

// Go to the first of the nearest targets. A single invocation calls this.
void start_walk(uint num_seeds, uint num_targets) {
    bool beyond;
    DISTANCE best = best_target(num_seeds, num_targets, beyond);
    for (uint i = num_targets; i-- > 0;) {
        NODE_DISTANCE place = terminals[num_seeds + i];
        if (extend(dist[uint(place.x)], place.y) == best) target = i;
    }
    node = uint(terminals[num_seeds + target].x);
    length = 0;
    started = 1;
}
