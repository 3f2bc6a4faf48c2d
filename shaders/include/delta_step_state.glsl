// State that one sweep of delta_step leaves to the next; the host's twin is STATE in vkssp/algorithms/delta_step.py.

// Phases of a bucket.
const uint FIRST = 0;   // nodes that wait for the bucket, found by their distance
const uint REPEAT = 1;  // nodes that the last sweep changed, found by their bit
const uint HEAVY = 2;   // with light_heavy: the heavy arcs of every node that worked in the bucket

struct State {
    uint phase;
    uint parity;     // which bitvector this sweep reads; it sets bits in the other
    uint low, high;  // the bucket: low <= distance < high
    uint first_node, last_node;  // range of ids to sweep
    uint delta, light_heavy;
    uint buckets;
    // Reduced over the sweep: ids that changed within the bucket; ids that wait for a later bucket, and the least
    // distance among them; ids that relaxed arcs in the bucket (for the heavy sweep); the largest distance seen.
    uint changed_min, changed_max;
    uint waiting_min, waiting_max, waiting_distance;
    uint worked_min, worked_max;
    uint largest;
};
