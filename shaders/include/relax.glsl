// Relaxing the arcs of a node. Needs `arcs`, what improve.glsl needs, and a function `improved(head, distance)` for what an
// algorithm does with a node that it improved.

#include "improve.glsl"

// Weights of the arcs that count; no arc weighs UNREACHABLE.
uint lightest = 0, heaviest = UNREACHABLE - 1;

void improved(uint head, uint distance);

// Relax the arcs first, first + stride, ... before end, of a node at `distance`. A few at once, so that a node costs two
// round trips to memory and not two for each of its arcs.
void relax_row(uint distance, uint first, uint end, uint stride) {
    for (; first < end; first += ARCS_AT_ONCE * stride) {
        uint head[ARCS_AT_ONCE], through[ARCS_AT_ONCE];
        uvec2 arc[ARCS_AT_ONCE];
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            uint at = first + i * stride;
            // The second test is for sums of indices that pass 2**32.
            arc[i] = at < end && at >= first ? arcs[at] : uvec2(0, UNREACHABLE);
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
