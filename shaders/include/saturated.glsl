// Sums of weights that saturate, without branches, which take longer in loops over shared memory. Needs distance.glsl.

// Whether a sum of this invocation did not fit.
bool did_not_fit = false;

// Return the least of a weight and the sum of two others, if both are known.
uint lighter(uint least, uint one, uint other) {
    uint sum = one + other;
    bool fits = sum >= one && sum != UNREACHABLE;
    did_not_fit = did_not_fit || (!fits && max(one, other) != UNREACHABLE);
    return fits ? min(least, sum) : least;
}
