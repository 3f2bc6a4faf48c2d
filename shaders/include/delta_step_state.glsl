// State that one sweep of delta_step leaves to the next; the host's twin is STATE in vkssp/algorithms/delta_step.py.

// Phases of a bucket.
const uint FIRST = 0;   // nodes that wait for the bucket, found by their distance
const uint REPEAT = 1;  // nodes that the last sweep changed, found by their bit
const uint HEAVY = 2;   // with light_heavy: the heavy arcs of every node that worked in the bucket

#include "loop_state.glsl"

// Own words of `step`.
const uint PHASE = OWN_STEP;
const uint PARITY = OWN_STEP + 1;  // which bitvector this sweep reads; it sets bits in the other
const uint LOW = OWN_STEP + 2;     // the bucket: low <= distance < high
const uint HIGH = OWN_STEP + 3;
const uint FIRST_NODE = OWN_STEP + 4;  // range of ids to sweep
const uint LAST_NODE = OWN_STEP + 5;
const uint DELTA = OWN_STEP + 6;
const uint LIGHT_HEAVY = OWN_STEP + 7;
const uint BUCKETS = OWN_STEP + 8;

struct State {
    // Reduced over the sweep: ids that changed within the bucket; ids that wait for a later bucket, and the least
    // distance among them; ids that relaxed arcs in the bucket (for the heavy sweep); the largest distance seen.
    uint changed_min, changed_max;
    uint waiting_min, waiting_max, waiting_distance;
    uint worked_min, worked_max;
    uint largest;
};
