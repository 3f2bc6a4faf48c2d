// Relaxing the arcs of a node. Needs `dist`, `arcs` and loop.glsl, RELAX_READS_FIRST defined, and a function
// `improved(head, distance)` for what an algorithm does with a node that it improved.
//
// A few arcs at once: all are read, then all heads improved, so that a node costs two round trips to memory and not two
// for each of its arcs. With RELAX_READS_FIRST 1 the head's distance is read before the atomic minimum, one more round
// trip that pays where few relaxations improve anything.

const uint ARCS_AT_ONCE = 4;

// Weights of the arcs that count; no arc weighs UNREACHABLE.
uint lightest = 0, heaviest = UNREACHABLE - 1;

void improved(uint head, uint distance);

// Relax the arcs first, first + stride, ... before end, of a node at `distance`.
void relax_row(uint distance, uint first, uint end, uint stride) {
    for (; first < end; first += ARCS_AT_ONCE * stride) {
        uvec2 arc[ARCS_AT_ONCE];
        uint through[ARCS_AT_ONCE], before[ARCS_AT_ONCE];
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            uint at = first + i * stride;
            // The second test is for sums of indices that pass 2**32.
            arc[i] = at < end && at >= first ? arcs[at] : uvec2(0, UNREACHABLE);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            through[i] = UNREACHABLE;
            if (arc[i].y < lightest || arc[i].y > heaviest) continue;
            if (COUNTING > 0) ++relaxed;
            through[i] = extend(distance, arc[i].y);
            if (through[i] == UNREACHABLE) sum_overflow = true;
        }
        if (RELAX_READS_FIRST != 0) {
            for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
                if (through[i] != UNREACHABLE) before[i] = dist[arc[i].x];
            }
            for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
                if (through[i] != UNREACHABLE && through[i] >= before[i]) through[i] = UNREACHABLE;
            }
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] != UNREACHABLE) before[i] = atomicMin(dist[arc[i].x], through[i]);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] == UNREACHABLE || through[i] >= before[i]) continue;
            if (COUNTING > 0) ++improved_count;
            improved(arc[i].x, through[i]);
        }
        if (end - first <= ARCS_AT_ONCE * stride) break;
    }
}
