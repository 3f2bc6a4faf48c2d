// Distances through arcs, and the improvement of those at their heads, a few at once: what does not depend on one another
// is waited for together. Needs `dist` and loop.glsl, and RELAX_READS_FIRST defined: where it is not 0, a distance is read
// before the atomic minimum on it, one more round trip to memory that pays where few relaxations improve anything. With
// RELAX_READ(node) it may be read in another way than through `dist`, and RELAX_IMPROVED(node, before) is carried out
// where a distance was improved.

#ifndef ARCS_AT_ONCE
#define ARCS_AT_ONCE 4
#endif
#ifndef RELAX_READ
#define RELAX_READ(node) dist[node]
#endif
#ifndef RELAX_IMPROVED
#define RELAX_IMPROVED(node, before)
#endif

// Distance of an arc's head by way of its tail; UNREACHABLE where the sum does not fit.
uint through_arc(uint distance, uint weight) {
    if (COUNTING > 0) ++relaxed;
    uint through = extend(distance, weight);
    if (through == UNREACHABLE) sum_overflow = true;
    return through;
}

// Improve some heads to the distances `through`, which become UNREACHABLE where nothing is improved, or they are already.
void improve(uint head[ARCS_AT_ONCE], inout uint through[ARCS_AT_ONCE]) {
    uint before[ARCS_AT_ONCE];
    if (RELAX_READS_FIRST != 0) {
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] != UNREACHABLE) before[i] = RELAX_READ(head[i]);
        }
        for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
            if (through[i] != UNREACHABLE && through[i] >= before[i]) through[i] = UNREACHABLE;
        }
    }
    for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
        if (through[i] != UNREACHABLE) before[i] = atomicMin(dist[head[i]], through[i]);
    }
    for (uint i = 0; i < ARCS_AT_ONCE; ++i) {
        if (through[i] == UNREACHABLE) continue;
        if (through[i] >= before[i]) {
            through[i] = UNREACHABLE;
            continue;
        }
        RELAX_IMPROVED(head[i], before[i]);
        if (COUNTING > 0) ++improved_count;
    }
}
