// Distances are uint32 and saturate: what does not fit is as good as unreachable, and is reported.

const uint UNREACHABLE = 0xFFFFFFFFu;

// Sum of a distance and a weight; UNREACHABLE when it does not fit into 32 bits below UNREACHABLE.
uint extend(uint distance, uint weight) {
    uint sum = distance + weight;
    return sum < distance ? UNREACHABLE : sum;
}

// Width of the bucket after one of some width: twice as much, up to the widest. A search for a target begins with narrow
// ones, so that a near one need not wait for all of a wide one.
uint widened(uint delta, uint widest) {
    return delta < widest / 2 ? 2 * delta : widest;
}
