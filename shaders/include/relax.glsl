// Relaxation of the arcs of a node. Needs `arcs`, split.glsl, what improve.glsl needs, and a function `improved(head, distance)`,
// which does what the algorithm does with an improved node.

#include "improve.glsl"

// Range of the weights of the arcs to relax; no arc has the weight UNREACHABLE.
uint lightest = 0, heaviest = UNREACHABLE - 1;

void improved(uint head, uint distance);

// Relax the arcs first, first + stride, ... before end, of a node at `distance`. A few arcs are
// relaxed at once, so that they cost two round trips to memory together and not two each.
void relax_row(uint distance, uint first, uint end, uint stride) {
    for (; first < end; first += ARCS_AT_ONCE * stride) {
        uint head[ARCS_AT_ONCE], through[ARCS_AT_ONCE];
        uvec2 arc[ARCS_AT_ONCE];
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            uint at = first + i * stride;
            // The second test catches sums of indices that exceed 2**32.
            arc[i] = at < end && at >= first ? PAIR(arcs, at) : uvec2(0, UNREACHABLE);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            bool counts = arc[i].y >= lightest && arc[i].y <= heaviest;
            head[i] = arc[i].x;
            through[i] = counts ? through_arc(distance, arc[i].y) : UNREACHABLE;
        }
        improve(head, through);
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] != UNREACHABLE) improved(head[i], through[i]);
        }
        if (end - first <= ARCS_AT_ONCE * stride) break;
    }
}
