// Sums of the distances of four searches at a time and the weight of an arc, saturated: a sum that does not fit counts as
// unreachable. It matters only where no other path is found, so that it is looked for once for each node, not for each
// arc. Needs distance.glsl, and OVERFLOWS_BINDING.

layout(std430, binding = OVERFLOWS_BINDING) coherent buffer Overflows { uint overflow[]; };  // of each search

const uint AT_ONCE = 4;  // arcs whose reads overlap

// Return the lesser of some distances and those over an arc. No sum exceeds UNREACHABLE, and that of UNREACHABLE is just
// that.
uvec4 lesser(uvec4 least, uvec4 from, uint arc_weight) {
    return min(least, min(from, uvec4(~arc_weight)) + arc_weight);
}

// Report the searches, the first of which is given, that do not reach a node though its ancestors are not all
// UNREACHABLE. `all_from` has the bits that the distances of all ancestors have in common. Arcs have finite weights.
void report_overflow(uvec4 least, uvec4 all_from, uint search) {
    bvec4 is_lost = equal(least, uvec4(UNREACHABLE));
    if (!any(is_lost)) return;
    for (uint i = 0; i < 4; ++i) {
        if (is_lost[i] && all_from[i] != UNREACHABLE) atomicMax(overflow[search + i], 1);
    }
}
