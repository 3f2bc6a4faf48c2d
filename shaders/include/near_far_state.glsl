// State that one dispatch of near_far leaves to the next; the host's twin is STATE in vkssp/algorithms/near_far.py.

// Phases of a dispatch.
const uint NEAR = 0;   // relaxes the arcs of the nodes in the near queue
const uint SPLIT = 1;  // moves entries below the next threshold from the far pile to the near queue

// Queues that were too small for their entries; the search is repeated with larger ones.
const uint NEAR_OVERFLOW = 1, FAR_OVERFLOW = 2;

struct State {
    uint phase;
    DISTANCE delta, widest;        // width of the bucket, and its upper limit
    DISTANCE low, threshold;       // distances of the near queue; all nodes below `low` are final
    uint near_parity, far_parity;  // which half of its buffer a queue is read from
    uint near_length;              // entries of the near queue
    uint buckets;
    uint queue_overflow;
    DISTANCE bound;  // upper bound of all distances that are not final; UNREACHABLE if not known
    // Words that many workgroups add to have their own cache lines, apart from the words that all read at their start.
    uint near_gap[32];
    uint near_next;  // entries of the next near queue
    uint far_gap[32];
    uint far_length, far_next;  // entries of the far pile, and, in a split, of the remaining pile
    uint nearest_gap[32];
    DISTANCE far_nearest;  // least distance in the far pile
    // Only where light arcs come first:
    DISTANCE far_farthest;  // largest distance in the far pile, at the last split
    uint reached;           // reached nodes that have an incoming arc
    uint end_gap[32];
};
