// Return the reciprocal of a distance above 0 as a multiple of 2**-bits; the twin of reciprocal in the CPU's kernel.
uvec2 reciprocal(uint distance, uint bits) {
    int zeros = 31 - findMSB(distance);
    uint scaled = distance << zeros, first = (0xFFFFFFFFu / (scaled >> 16)) << 15, high, low;
    umulExtended(first, scaled, high, low);
    umulExtended(first, 0u - high, high, low);
    uint found = (high << 1) | (low >> 31);  // about 2**63 / scaled
    int shift = 63 - zeros - int(bits);
    if (shift >= 32) return uvec2(0);
    if (shift >= 0) return uvec2(found >> shift, 0);
    return uvec2(found << -shift, found >> (32 + shift));
}
