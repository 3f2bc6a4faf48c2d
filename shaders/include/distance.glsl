// Saturating arithmetic of distances, which are uint32. A sum that does not fit counts as unreachable and is reported.

const uint UNREACHABLE = 0xFFFFFFFFu;

// Return the sum of a distance and a weight; UNREACHABLE if it does not fit into 32 bits below UNREACHABLE.
uint extend(uint distance, uint weight) {
    uint sum = distance + weight;
    return sum < distance ? UNREACHABLE : sum;
}

// Return the width of the next bucket: twice the width of the last one, up to the widest. A search for a target begins
// with narrow buckets, so that a near target need not wait for all of a wide bucket.
uint widened(uint delta, uint widest) {
    return delta < widest / 2 ? 2 * delta : widest;
}
