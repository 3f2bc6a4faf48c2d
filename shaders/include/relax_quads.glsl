// Sums of the distances of four searches at a time and the weight of an arc; saturated, see distance.glsl.

const uint AT_ONCE = 4;  // arcs whose reads overlap
bvec4 sum_overflow;      // whether a sum of a search did not fit

uvec4 lesser(uvec4 least, uvec4 from, uint arc_weight) {
    uvec4 sum = from + arc_weight;
    sum = mix(sum, uvec4(UNREACHABLE), lessThan(sum, from));
    bvec4 is_lost = equal(sum, uvec4(UNREACHABLE)), is_there = notEqual(from, uvec4(UNREACHABLE));
    for (uint i = 0; i < 4; ++i) sum_overflow[i] = sum_overflow[i] || (is_lost[i] && is_there[i]);
    return min(least, sum);
}
