// Pairs of ancestors of supernodes: group g of a dispatch takes the g-th supernode of a list, each lane of the group
// every LANES-th pair. The arc between the two is looked for once for all nodes of the supernode, or for some of them if
// there would be too few invocations otherwise.
#include "supernode_pairs.glsl"
#include "arc_between.glsl"

layout(push_constant) uniform Push {
    uint begin;  // in the list
#ifdef LISTED
    uint level;
#else
    uint end;
#endif
    uint lanes;  // a power of two
    uint splits;  // invocations that share the nodes of a supernode for a pair
#ifdef LISTED
    uint fewest_lanes;  // if many supernodes are listed; a power of two
#endif
};

// Number of ancestors that are paired.
#ifndef PAIRED
#define PAIRED(s) s.num_ancestors
#endif

// Process the triangles of every SPLITS-th node of a supernode, from the place `first` on, over a pair of ancestors: the
// i-th and the higher j-th. The word is that of the upward arc between the two.
void process_pair(Supernode s, uint first, uint i, uint j, uint between);

void enumerate_pairs() {
    uint count = gl_NumWorkGroups.x * WORKGROUP_SIZE, each = lanes;
#ifdef LISTED
    // The invocations are as many as the largest supernode of all takes. Those that are listed are mostly smaller, and to
    // begin with one of them after the other takes longer than their pairs.
    while (each > fewest_lanes && 2 * (count / each) < END - begin) each /= 2;
#endif
    uint stride = max(1, count / each);
    for (uint g = begin + gl_GlobalInvocationID.x / each; g < END; g += stride) {
        Supernode s = SUPERNODE(ORDER(g));
        uint pairs = pairs_of(PAIRED(s));
        for (uint t = gl_GlobalInvocationID.x % each; t < pairs * splits; t += each) {
            uint first = splits == 1 ? 0 : t / pairs;
            if (first >= s.size) break;
            uvec2 pair = pair_at(t - first * pairs);
            uint low = WORD(ancestors, s.first_ancestor + pair.x), high = WORD(ancestors, s.first_ancestor + pair.y);
            process_pair(s, first, pair.x, pair.y, 2 * arc_between(low, high, pair.y));
        }
    }
    check_loops();
}
