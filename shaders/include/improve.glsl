// Distances through arcs, and the improvement of the distances at their heads. A few arcs are processed at once, so
// that the waits of independent reads overlap. Needs `dist`, loop.glsl and RELAX_READS_FIRST defined. If
// RELAX_READS_FIRST is not 0, a distance is read before the atomic minimum on it. This is one more round trip to
// memory, which pays if few relaxations improve anything. RELAX_READ(node) may replace the read through `dist`.
// RELAX_IMPROVED(node, before) is carried out after each improvement.

#ifndef ARCS_AT_ONCE
#define ARCS_AT_ONCE 4
#endif
#ifndef RELAX_READ
#define RELAX_READ(node) SHARED_DISTANCE(dist[node])
#endif
#ifndef RELAX_IMPROVED
#define RELAX_IMPROVED(node, before)
#endif

// Return the distance of an arc's head through its tail; UNREACHABLE if the sum does not fit.
DISTANCE through_arc(DISTANCE distance, uint weight) {
    if (COUNTING > 0) ++relaxed;
    DISTANCE through = extend(distance, weight);
    if (through == UNREACHABLE) sum_overflow = true;
    return through;
}

// Improve some heads to the distances `through`. An element of `through` that improves nothing becomes UNREACHABLE;
// elements that are UNREACHABLE already are passed over.
void improve(uint head[ARCS_AT_ONCE], inout DISTANCE through[ARCS_AT_ONCE]) {
    DISTANCE before[ARCS_AT_ONCE];
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
