// What the rounds of the algorithms leave to the next that settle, in each round, every node below a threshold; the
// host's twin is STATE in vkssp/algorithms/threshold.py. A node's place in `settled` says in which round it was settled, 0 for
// not yet; those of the present round are the frontier.

struct State {
    uint rounds;
    uint nearest;    // least distance of an unsettled node, folded by the minimum kernel
    uint bound;      // least distance + lightest outgoing arc of an unsettled node, folded by the minimum kernel
    uint low;        // least distance of the present frontier
    uint threshold;  // unsettled nodes up to here are settled
};
