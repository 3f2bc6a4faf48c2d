// State that one dispatch of near_far leaves to the next; the host's twin is STATE in vkssp/algorithms/near_far.py.

// Phases of a dispatch.
const uint NEAR = 0;   // relaxes the arcs of the nodes in the near queue
const uint SPLIT = 1;  // moves entries below the next threshold from the far pile to the near queue

// Queues that were too small for their entries; the search is repeated with larger ones.
const uint NEAR_OVERFLOW = 1, FAR_OVERFLOW = 2;

#include "loop_state.glsl"

// Own words of `step`.
const uint PHASE = OWN_STEP;
const uint LOW = OWN_STEP + 1;  // distances of the near queue; all nodes below `low` are final
const uint THRESHOLD = OWN_STEP + 2;
const uint BOUND = OWN_STEP + 3;  // upper bound of all distances that are not final; UNREACHABLE if not known
const uint NEAR_PARITY = OWN_STEP + 4;  // which half of its buffer a queue is read from
const uint FAR_PARITY = OWN_STEP + 5;
const uint NEAR_LENGTH = OWN_STEP + 6;   // entries of the near queue
const uint SPLIT_LENGTH = OWN_STEP + 7;  // entries of the far pile that a split reads
const uint DELTA = OWN_STEP + 8;         // width of the bucket, and its upper limit
const uint WIDEST = OWN_STEP + 9;
const uint BUCKETS = OWN_STEP + 10;

struct State {
    uint queue_overflow;
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
