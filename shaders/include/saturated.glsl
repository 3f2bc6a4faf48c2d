// Sums of weights in shared memory, in two ways. Where all weights are small, sums need no checks: what is `FAR` or more
// counts as unreachable. Otherwise sums that do not fit are noticed. Checks take longer than the sums in loops over shared
// memory. Needs distance.glsl.

const uint FAR = 0x7FFFFFFF;

shared uint heaviest;  // finite weight of the workgroup

// Whether sums need no checks, and whether a checked sum of this invocation did not fit.
bool are_small = false, did_not_fit = false;

// Return a weight, and raise a number to it if it is finite.
uint noted(uint weight, inout uint most) {
    if (weight != UNREACHABLE) most = max(most, weight);
    return weight;
}

// Return the least of a weight and the sum of two others, if both are known.
uint lighter(uint least, uint one, uint other) {
    if (are_small) return min(least, min(one, FAR) + min(other, FAR));
    uint sum = one + other;
    bool fits = sum >= one && sum != UNREACHABLE;
    did_not_fit = did_not_fit || (!fits && max(one, other) != UNREACHABLE);
    return fits ? min(least, sum) : least;
}

// Return a weight as it is outside of shared memory.
uint known(uint weight) {
    return are_small && weight >= FAR ? UNREACHABLE : weight;
}
