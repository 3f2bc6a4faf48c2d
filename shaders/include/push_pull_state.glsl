// State that one dispatch of push_pull leaves to the next; the host's twin is STATE in vkssp/algorithms/push_pull.py.

// Phases of a dispatch.
const uint PUSH = 0;  // nodes that the last dispatch changed relax the arcs that leave them
const uint PULL = 1;  // all nodes look at the arcs that enter them, as far as these are light enough
const uint SEED = 2;  // the seeds are marked as changed

#include "loop_state.glsl"

// Own words of `step`.
const uint PHASE = OWN_STEP;
const uint NEAREST = OWN_STEP + 1;  // least distance of a node that the last dispatch changed; nodes up to it are final
const uint PULLS = OWN_STEP + 2;

struct State {
    // Words that many workgroups add to have their own cache lines, apart from the words that all read at their start.
    uint nearest_gap[32];
    uint next_nearest;
    uint degree_gap[32];
    uint next_degree;  // arcs that leave the nodes that this dispatch changes
    uint end_gap[32];
};
