// Pairs of ancestors of supernodes: group g of a dispatch takes the g-th supernode of a list, each lane of the group
// every LANES-th pair. Of listed supernodes, a workgroup takes some pairs of one after the other. The arc between the two
// is looked for once for all nodes of the supernode, or for some of them if there would be too few invocations otherwise.
#include "supernode_pairs.glsl"
#include "arc_between.glsl"

layout(push_constant) uniform Push {
    uint begin;  // in the list
#ifdef LISTED
    uint level;
#else
    uint end;
    uint lanes;  // a power of two
#endif
    uint splits;  // invocations that share the nodes of a supernode for a pair
};

// Number of ancestors that are paired.
#ifndef PAIRED
#define PAIRED(s) s.num_ancestors
#endif

// Process the triangles of every SPLITS-th node of a supernode, from the place `first` on, over a pair of ancestors: the
// i-th and the higher j-th. The word is that of the upward arc between the two.
void process_pair(Supernode s, uint first, uint i, uint j, uint between);

void process_entry(Supernode s, uint pairs, uint t) {
    uint first = splits == 1 ? 0 : t / pairs;
    if (first >= s.size) return;
    uvec2 pair = pair_at(t - first * pairs);
    uint low = WORD(ancestors, s.first_ancestor + pair.x), high = WORD(ancestors, s.first_ancestor + pair.y);
    process_pair(s, first, pair.x, pair.y, 2 * arc_between(low, high, pair.y));
}

#ifdef LISTED
shared uint items_before[WORKGROUP_SIZE];
#define ITEMS(s) (pairs_of(PAIRED(s)) * splits + WORKGROUP_SIZE - 1) / WORKGROUP_SIZE
#define ITEMS_BEFORE items_before
#define AT_ONCE WORKGROUP_SIZE
#include "listed_items.glsl"

void enumerate_pairs() {
    uint end = END;
    for (uint item = gl_WorkGroupID.x;; item += gl_NumWorkGroups.x) {
        uint number = item, g;
        if (find_item(begin, end, number, g) <= item) break;
        Supernode s = SUPERNODE(listed[g].x);
        uint pairs = pairs_of(PAIRED(s)), t = number * WORKGROUP_SIZE + gl_LocalInvocationIndex;
        if (t < pairs * splits) process_entry(s, pairs, t);
    }
    check_loops();
}
#else
void enumerate_pairs() {
    uint stride = max(1, gl_NumWorkGroups.x * WORKGROUP_SIZE / lanes);
    for (uint g = begin + gl_GlobalInvocationID.x / lanes; g < end; g += stride) {
        Supernode s = SUPERNODE(order[g]);
        uint pairs = pairs_of(PAIRED(s));
        for (uint t = gl_GlobalInvocationID.x % lanes; t < pairs * splits; t += lanes) process_entry(s, pairs, t);
    }
    check_loops();
}
#endif
