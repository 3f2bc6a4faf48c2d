// State that a round leaves to the next, for the algorithms that settle every node below a threshold in each round. The
// host's twin is STATE in vkssp/algorithms/threshold.py. The entry of a node in `settled` is the round in which it was
// settled, 0 for not yet; the nodes of the present round are the frontier.

#include "loop_state.glsl"

// Own words of `step`.
const uint ROUNDS = OWN_STEP;
const uint LOW = OWN_STEP + 1;        // least distance of the present frontier
const uint THRESHOLD = OWN_STEP + 2;  // unsettled nodes up to here are settled

struct State {
    uint nearest;  // least distance of an unsettled node, computed by the minimum kernel
    uint bound;    // least distance + lightest outgoing arc of an unsettled node, computed by the minimum kernel
};
