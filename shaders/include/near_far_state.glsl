// What one dispatch of near_far leaves to the next; the host's twin is STATE in vkssp/algorithms/near_far.py.

// What a dispatch does.
const uint NEAR = 0;   // relaxes the arcs of the nodes in the near queue
const uint SPLIT = 1;  // moves what is below the next threshold from the far pile to the near queue

// Queues that were too small for their entries; the search is repeated with larger ones.
const uint NEAR_OVERFLOW = 1, FAR_OVERFLOW = 2;

struct State {
    uint phase;
    uint delta, widest;            // width of the bucket, and what it grows to
    uint low, threshold;           // distances of the near queue; all nodes below `low` are final
    uint near_parity, far_parity;  // which half of its buffer a queue is read from
    uint near_length;              // entries of the near queue
    uint buckets;
    uint queue_overflow;
    uint bound;  // no distance that is not final is larger; UNREACHABLE if that is not known
    // What many workgroups add to lies on cache lines of its own, away from what all read at their start.
    uint near_gap[32];
    uint near_next;  // entries of the next near queue
    uint far_gap[32];
    uint far_length, far_next;  // entries of the far pile, and, in a split, of the one that is left
    uint nearest_gap[32];
    uint far_nearest;  // least distance in the far pile
    // Only where light arcs come first:
    uint far_farthest;  // largest distance in the far pile, at the last split
    uint reached;       // nodes that some arc leads to, and a path
    uint end_gap[32];
};
