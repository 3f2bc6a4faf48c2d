// State that one dispatch of push_pull leaves to the next; the host's twin is STATE in vkssp/algorithms/push_pull.py.

// Phases of a dispatch.
const uint PUSH = 0;  // nodes that the last dispatch changed relax the arcs that leave them
const uint PULL = 1;  // all nodes look at the arcs that enter them, as far as these are light enough
const uint SEED = 2;  // the seeds are marked as changed

struct State {
    uint phase;
    uint nearest;  // least distance of a node that the last dispatch changed; all nodes up to it are final
    uint pulls;
    // Words that many workgroups add to have their own cache lines, apart from the words that all read at their start.
    uint nearest_gap[32];
    uint next_nearest;
    uint degree_gap[32];
    uint next_degree;  // arcs that leave the nodes that this dispatch changes
    uint end_gap[32];
};
