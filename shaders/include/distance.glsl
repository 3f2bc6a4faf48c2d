// Distances are uint32 and saturate: what does not fit is as good as unreachable, and is reported.

const uint UNREACHABLE = 0xFFFFFFFFu;

// Sum of a distance and a weight; UNREACHABLE when it does not fit into 32 bits below UNREACHABLE.
uint extend(uint distance, uint weight) {
    uint sum = distance + weight;
    return sum < distance ? UNREACHABLE : sum;
}
