// State that a round leaves to the next, for the algorithms that settle every node below a threshold in each round. The
// host's twin is STATE in vkssp/algorithms/threshold.py. The entry of a node in `settled` is the round in which it was
// settled, 0 for not yet; the nodes of the present round are the frontier.

struct State {
    uint rounds;
    uint nearest;    // least distance of an unsettled node, computed by the minimum kernel
    uint bound;      // least distance + lightest outgoing arc of an unsettled node, computed by the minimum kernel
    uint low;        // least distance of the present frontier
    uint threshold;  // unsettled nodes up to here are settled
};
