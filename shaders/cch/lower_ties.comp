// Choice among several paths, equally short, that an arc of the hierarchy stands for: that which phast_path.comp finds from
// the distances of all nodes. A walk back along these takes the first incoming arc that fits, so of several paths with the
// same ends it is the one that has the first incoming arc where they differ, seen from their end.
//
// Alternatives are compared arc by arc from their ends, which stops where an arc on the way is not resolved yet. So
// dispatches of rounds follow each other: those arcs are resolved first that have no others below. What is still open after
// the last one keeps HAS_SEVERAL.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "distance.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP_SIZE = 64;
layout(std430, binding = 0) coherent buffer Lower { uvec2 lower[]; };
#define TIES_BINDING 1
#include "lower_arcs.glsl"

layout(push_constant) uniform Push {
    uint stage;
    uint room;  // for ties
};
const uint LINK = 0, CHOOSE = 1, WRITE = 2;  // the twins in vkssp/cch/lower_arcs.py
const uint DEPTH = 64;                       // arcs of an alternative that wait to be compared, at most
const uint OF_GRAPH = 0x80000000u;           // beside the place of an arc of the graph
const uint MOST_STEPS = 32768;               // of an invocation in a dispatch, as systems end long dispatches
uint waiting[2 * DEPTH], heights[2], steps = 0;

// Replace the last arc that waits on a side, unless it is one of the graph; return false if that is not possible.
bool replace_last(uint side) {
    uint last = side * DEPTH + heights[side] - 1, word = waiting[last];
    if ((word & OF_GRAPH) != 0) return true;
    uvec2 both = lower[word];
    if (both.y == IS_ARC) {
        waiting[last] = both.x | OF_GRAPH;
        return true;
    }
    if (both.y == HAS_SEVERAL || both.y == HAS_NONE || heights[side] == DEPTH) return false;
    waiting[last] = both.x;
    waiting[last + 1] = both.y;
    ++heights[side];
    return true;
}

void begin_side(uint side, uint tie) {
    bool is_arc = ties[tie].other == IS_ARC;
    waiting[side * DEPTH] = is_arc ? ties[tie].one | OF_GRAPH : ties[tie].one;
    waiting[side * DEPTH + 1] = ties[tie].other;
    heights[side] = is_arc ? 1 : 2;
}

// Return the better one of two ties, NO_INDEX if that is not known yet.
uint better(uint tie, uint other) {
    begin_side(0, tie);
    begin_side(1, other);
    while (heights[0] > 0 && heights[1] > 0 && ++steps <= MOST_STEPS) {
        uint here = waiting[heights[0] - 1], there = waiting[DEPTH + heights[1] - 1];
        if (here == there) {
            --heights[0];
            --heights[1];
        } else if ((here & there & OF_GRAPH) != 0) {
            return here < there ? tie : other;
        } else if (!replace_last(0) || !replace_last(1)) {
            return NO_INDEX;
        }
    }
    return NO_INDEX;
}

void main() {
    uint count = num_ties;
    if (count > room) return;
    for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * WORKGROUP_SIZE) {
        if (stage == LINK) {
            uvec2 both = lower[ties[i].word];
            if (both.y == HAS_SEVERAL && both.x != i) atomicExchange(ties[i].next, atomicExchange(ties[both.x].next, i));
        } else if (stage == WRITE) {  // only first ties have one, and are alone in writing and not reading their words
            uint chosen = ties[i].chosen;
            if (chosen == NO_INDEX) continue;
            lower[ties[i].word] = uvec2(ties[chosen].one, ties[chosen].other);
            ties[i].chosen = NO_INDEX;
        } else if (lower[ties[i].word] == uvec2(i, HAS_SEVERAL)) {  // the first one of an arc that is not resolved
            uint best = i;
            for (uint j = ties[i].next; j != NO_INDEX && best != NO_INDEX; j = ties[j].next) best = better(best, j);
            // If the device ended loops early, see check_loops in loop.glsl, not all have been compared.
            uint rounds = 0;
            for (uint k = 0; k < 2 * gl_NumWorkGroups.y; ++k) ++rounds;
            ties[i].chosen = rounds < 2 ? NO_INDEX : best;
        }
    }
}
