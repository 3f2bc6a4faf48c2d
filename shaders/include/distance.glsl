// Saturating arithmetic of distances. A sum that does not fit counts as unreachable and is reported.

#include "distance_type.glsl"

#if DISTANCE_BITS == 64
const DISTANCE UNREACHABLE = 0xFFFFFFFFFFFFFFFFul;
#else
const DISTANCE UNREACHABLE = 0xFFFFFFFFu;
#endif
// Index that stands for none.
const uint NO_INDEX = 0xFFFFFFFFu;

// Return the sum of a distance and a weight; UNREACHABLE if it does not fit below UNREACHABLE.
DISTANCE extend(DISTANCE distance, DISTANCE weight) {
    DISTANCE sum = distance + weight;
    return sum < distance ? UNREACHABLE : sum;
}

// Return the width of the next bucket: twice the width of the last one, up to the widest. A search for a target begins
// with narrow buckets, so that a near target need not wait for all of a wide bucket.
DISTANCE widened(DISTANCE delta, DISTANCE widest) {
    return delta < widest / 2 ? 2 * delta : widest;
}
